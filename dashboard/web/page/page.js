// The page around textual.js: signs in, opens the screen where it was, comes back, and carries files.
"use strict";

const at = (id) => document.getElementById(id);
const STAYS_CLOSED = { 4001: "full", 4003: "gone", 4004: "ended", 4005: "unknown" };
const NativeSocket = window.WebSocket;
const LARGEST_FRAME = 1 << 20; // bytes; the server closes a tab that sends more
const LARGEST_UPLOAD = 256 << 20; // bytes; the server takes no more
const LONGEST_KEPT = 2000; // characters; the server takes no more
const LONGEST_ADDRESS = 8000; // characters; the server takes hardly more, nor do proxies
const ASKED_MS = 5000; // between two questions whether the server is there
const UNANSWERED = 5; // as many questions, and nothing heard: the connection is lost
const C = 67, V = 86; // letters as keyCode
const WHEEL_PX = 36; // two lines, which is what one turn of the wheel scrolls
let tab = ""; // its id, while it is open
let place = "";
let drawn = false;
let signedOut = false;
let turns = 0; // of coming back: a later one replaces those before
let sending = new AbortController();
let isLeft = false; // for another place of this page: what the screen tells is about the one before
let used = false; // until a key or a click, places are stations on the way to the one that was asked for

function notice(says, hint, ...buttons) {
  at("says").textContent = says;
  at("hint").textContent = hint;
  for (const id of ["again", "choose", "leave"]) at(id).hidden = !buttons.includes(id);
  document.body.classList.remove("-open");
  const first = buttons[0] && at(buttons[0]);
  if (first) first.focus();
}

function toScreen() {
  document.body.classList.add("-open");
  const typed = document.querySelector(".xterm-helper-textarea");
  if (typed) typed.focus();
}

// A place may be typed by hand, with a % that begins no code.
function decoded(text) {
  try { return decodeURIComponent(text); } catch (error) { return text; }
}

// Only what would be read as another place is written as a code; "#tasks/t7?failed" stays readable.
const hashOf = (place) => "#" + place.replace(/[^\w.~!$&'()*+,;=:@\/?-]/gu, encodeURIComponent);

// What was set by hand, such as the size of a pane, is kept here, for all tabs; a browser may forbid it.
function kept(said) {
  try {
    if (said) localStorage.setItem("habits", said);
    const found = localStorage.getItem("habits") || "{}";
    return found.length < LONGEST_KEPT ? found : "{}";
  } catch (error) {
    return "";
  }
}

// Another screen is a step that "back" of the browser takes; another row or filter is not.
const screenOf = (place) => place.split(/[\/?@]/, 1)[0];

function arrived(said) {
  if (isLeft) return;
  const step = used && screenOf(said) !== screenOf(place);
  place = said;
  sessionStorage.setItem("place", said);
  history[step ? "pushState" : "replaceState"](null, "", hashOf(said));
}

// What stands behind # is a token of a login, or the place to open; the server never sees it in an address.
function fragment() {
  const text = decoded(location.hash.slice(1));
  if (text.startsWith("token=")) {
    history.replaceState(null, "", location.pathname);
    return { token: text.slice(6), place: sessionStorage.getItem("place") || "" };
  }
  return { token: "", place: text };
}

async function signIn(token, signal) {
  const answer = await fetch("/login", { method: "POST", body: token, signal });
  if (answer.status >= 500) throw new Error("a proxy is there, and no server behind it");
  return answer;
}

// Of a place that is too long for an address its screen alone is asked for: refused, the page would come back for ever.
function addressOf(url) {
  const coded = (key, text) => text && `&${key}=${encodeURIComponent(text)}`;
  const rest = coded("habits", kept());
  const addresses = [place, screenOf(place), ""].map((open) => url + coded("open", open) + rest);
  return addresses.find((address) => address.length < LONGEST_ADDRESS);
}

class PlacedSocket extends NativeSocket {
  constructor(url) {
    super(addressOf(url));
    this.asked = 0;
    this.asking = setInterval(() => this.ask(), ASKED_MS);
    this.addEventListener("message", (event) => {
      this.asked = 0;
      if (typeof event.data === "string") hear(...JSON.parse(event.data));
      else this.send(JSON.stringify(["drawn", event.data.byteLength]));
    });
    this.addEventListener("close", (event) => this.end(event.code, event.reason));
  }
  // A network that is gone closes nothing: the screen would stand still and look alive.
  ask() {
    if (this.asked++ < UNANSWERED) return this.send(JSON.stringify(["ping", String(Date.now())]));
    this.end(0, "");
    this.close();
  }
  end(code, reason) {
    if (!this.asking) return;
    clearInterval(this.asking);
    this.asking = 0;
    closed(code, reason);
  }
  send(data) {
    if (this.readyState !== NativeSocket.OPEN) return;
    if (data.length > LARGEST_FRAME / 3 && new Blob([data]).size > LARGEST_FRAME) {
      return notice("Too long to paste", "at most a megabyte at once", "leave");
    }
    super.send(data);
  }
}

function hear(kind, said) {
  if (kind === "tab") tab = said;
  if (kind === "title") document.title = said + " · Quarterdeck";
  if (kind === "habits") kept(said);
  if (kind === "colour") document.body.style.background = said; // what no whole cells fill
  if (kind === "place") {
    if (!drawn) toScreen(); // the terminal is black until then
    drawn = true;
    arrived(said);
  }
  if (kind === "ask_upload") askUpload();
  if (kind === "download") download(said);
}

function download(key) {
  const link = document.createElement("a");
  link.href = "/download/" + encodeURIComponent(key);
  link.download = "";
  link.click();
}

function askUpload() {
  notice("Which archive?", "a .zip that Quarterdeck exported; it is looked into before anything is changed",
    "choose", "leave");
}

async function upload(file) {
  if (!file || !tab) return; // no notice takes the place of that which says that the tab is closed
  if (file.size > LARGEST_UPLOAD) {
    return notice("Not sent", file.name + " is larger than any archive that would be read", "leave");
  }
  notice("Sending " + file.name, "", "leave");
  sending = new AbortController();
  const { signal } = sending;
  try {
    const address = "/upload?tab=" + encodeURIComponent(tab) + "&name=" + encodeURIComponent(file.name);
    const answer = await fetch(address, { method: "POST", body: file, signal });
    if (!answer.ok) return notice("Not sent", await answer.text(), "leave");
  } catch (error) {
    return signal.aborted ? undefined : notice("Not sent", String(error), "leave");
  }
  toScreen();
}

function closed(code, reason) {
  tab = "";
  sending.abort();
  if (code in STAYS_CLOSED) return notice(reason || "Closed", "", "again");
  lost(reason);
}

function lost(reason) {
  away(reason);
  comeBack(250);
}

function away(reason) {
  signedOut = false;
  notice("Coming back", reason || "the server does not answer; the team keeps running", "again");
}

function leaveOut(hint) {
  signedOut = true;
  notice("Signed out", hint, "again");
}

// The process behind a tab ends with its socket: a new one opens at the same place.
async function comeBack(wait_ms) {
  const turn = ++turns;
  await new Promise((done) => setTimeout(done, wait_ms));
  if (turn !== turns) return;
  try {
    const answer = await signIn("", AbortSignal.timeout(5000));
    if (answer.ok) return location.reload();
    if (!signedOut) leaveOut("open the link that the server printed last, in any window of this browser");
  } catch (error) {
    away("");
    return comeBack(Math.min(wait_ms * 2, 5000));
  }
}

async function begin() {
  // textual.js takes orders from there, after which it never starts: a link elsewhere could give them.
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  const said = fragment();
  place = said.place;
  let answer;
  let hint = "open the link that the server printed: it signs one browser in, once";
  try {
    answer = await signIn(said.token);
    if (!answer.ok && said.token) {
      hint = (await answer.text()).trim() + "; open the one that it printed last";
      answer = await signIn("");
    }
  } catch (error) {
    return lost("");
  }
  if (!answer.ok) return leaveOut(hint);
  // xterm.js measures the font once, when it starts.
  const fonts = ["400 15px 'Roboto Mono'", "700 15px 'Roboto Mono'"];
  await Promise.allSettled(fonts.map((font) => document.fonts.load(font)));
  window.WebSocket = PlacedSocket;
  at("terminal").dataset.sessionWebsocketUrl = location.origin.replace(/^http/, "ws") + "/ws";
  const script = document.createElement("script");
  script.src = "/static/textual.js";
  script.onload = () => window.onload(new Event("load"));
  script.onerror = () => lost("");
  document.head.append(script);
}

// Whether text was selected, with shift and the mouse: only then xterm.js answers a wish to copy.
function isSelected() {
  const wish = new ClipboardEvent("copy", { clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
  return !document.querySelector(".xterm-helper-textarea")?.dispatchEvent(wish);
}

// xterm.js takes every key with ctrl or alt, and the function keys: these few stay with the browser, which pastes,
// copies what is selected, loads the page again, fills the screen, and goes back. A letter is what the keyboard writes
// there (keyCode), wherever its key is: `code` names the place, `key` another alphabet's letter.
function isOfBrowser(event) {
  if (event.metaKey || event.shiftKey) return false;
  if (event.ctrlKey) return !event.altKey && (event.keyCode === V || (event.keyCode === C && isSelected()));
  if (event.altKey) return event.key === "ArrowLeft" || event.key === "ArrowRight";
  return event.key === "F5" || event.key === "F11" || event.key === "F12";
}
for (const kind of ["keydown", "keyup"]) {
  window.addEventListener(kind, (event) => { if (isOfBrowser(event)) event.stopImmediatePropagation(); }, true);
}

// The screen says "copied" once it has asked for it; the browser may forbid it, and without TLS has no clipboard at all.
const written = navigator.clipboard && navigator.clipboard.writeText.bind(navigator.clipboard);
async function copy(text) {
  try { await written(text); } catch (error) {
    notice("Not copied", "the browser forbids it; the mouse and shift select what ctrl+c copies", "leave");
  }
}
if (written) navigator.clipboard.writeText = copy;
else Object.defineProperty(navigator, "clipboard", { value: { writeText: copy } });

// xterm.js sends pasted text as it is: the code that ends a paste, hidden in what was copied from a page of somebody
// else, would make keys of the rest. No control character but tab and the ends of lines is text.
const CONTROL = /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f]/g;
window.addEventListener("paste", (event) => {
  const text = event.clipboardData ? event.clipboardData.getData("text/plain") : "";
  const plain = text.replace(CONTROL, "");
  if (plain === text) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  // No ClipboardEvent: in Firefox the data that a page puts into one cannot be read.
  const paste = new Event("paste", { bubbles: true, cancelable: true });
  event.target.dispatchEvent(Object.assign(paste, { clipboardData: { getData: () => plain } }));
}, true);

// A finger that is drawn over the screen turns the wheel; xterm.js would scroll a page that is never longer.
let finger = null;
window.addEventListener("touchstart", (event) => { finger = event.touches.length === 1 ? event.touches[0] : null; }, true);
window.addEventListener("touchmove", (event) => {
  const now = event.touches[0];
  if (!finger || event.touches.length > 1 || !document.body.classList.contains("-open")) return;
  event.preventDefault();
  event.stopPropagation();
  const deltaY = finger.clientY - now.clientY;
  if (Math.abs(deltaY) < WHEEL_PX) return;
  const { clientX, clientY } = now;
  finger = now;
  event.target.dispatchEvent(new WheelEvent("wheel", { deltaY, clientX, clientY, bubbles: true, cancelable: true }));
}, { capture: true, passive: false });

// Not by loading the page, which a server that is away cannot give.
at("again").onclick = () => comeBack(100);
at("choose").onclick = () => at("file").click();
at("leave").onclick = () => { sending.abort(); toScreen(); };
window.addEventListener("keydown", (event) => { // as on every dialog of the screen
  const leaves = !at("leave").hidden && !document.body.classList.contains("-open");
  if (leaves && event.key === "Escape") at("leave").click();
});
at("file").onchange = (event) => { upload(event.target.files[0]); event.target.value = ""; };
window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => { event.preventDefault(); upload(event.dataTransfer.files[0]); });
for (const kind of ["keydown", "pointerdown"]) window.addEventListener(kind, () => { used = true; }, true);
// Another window of this browser may have signed in meanwhile.
window.addEventListener("focus", () => { if (signedOut) comeBack(100); });
// A step back, a link, or a place that is typed into the address of an open page.
window.addEventListener("hashchange", (event) => {
  isLeft = true;
  history.replaceState(null, "", event.newURL); // the screen may have told its own place since then
  location.reload();
});
if (document.readyState === "complete") begin(); else window.addEventListener("load", begin);
