// The page around textual.js: signs in, opens the screen where it was, comes back, and carries files.
"use strict";

const at = (id) => document.getElementById(id);
const STAYS_CLOSED = { 4001: "full", 4003: "gone", 4004: "ended", 4005: "unknown" };
const NativeSocket = window.WebSocket;
const LARGEST_FRAME = 1 << 20; // bytes; the server closes a tab that sends more
const WHEEL_PX = 36; // two lines, which is what one turn of the wheel scrolls
let tab = "";
let place = "";
let drawn = false;
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

// Another screen is a step that "back" of the browser takes; another row or filter is not.
const screenOf = (place) => place.split(/[\/?@]/, 1)[0];

function arrived(said) {
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

const signIn = (token) => fetch("/login", { method: "POST", body: token });

class PlacedSocket extends NativeSocket {
  constructor(url) {
    super(url + (place ? "&open=" + encodeURIComponent(place) : ""));
    this.addEventListener("message", (event) => { if (typeof event.data === "string") hear(...JSON.parse(event.data)); });
    this.addEventListener("close", (event) => closed(event.code, event.reason));
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
  if (!file) return;
  notice("Sending " + file.name, "");
  try {
    const address = "/upload?tab=" + encodeURIComponent(tab) + "&name=" + encodeURIComponent(file.name);
    const answer = await fetch(address, { method: "POST", body: file });
    if (!answer.ok) return notice("Not sent", await answer.text(), "leave");
  } catch (error) {
    return notice("Not sent", String(error), "leave");
  }
  toScreen();
}

function closed(code, reason) {
  if (code in STAYS_CLOSED) return notice(reason || "Closed", "", "again");
  notice("Coming back", reason || "the server does not answer; the team keeps running", "again");
  comeBack(250);
}

// The process behind a tab ends with its socket: a new one opens at the same place.
async function comeBack(wait_ms) {
  await new Promise((done) => setTimeout(done, wait_ms));
  try {
    const answer = await signIn("");
    if (answer.ok) return location.reload();
    return notice("Signed out", "open the link that the server printed last; if another window did, open this one again",
      "again");
  } catch (error) {
    return comeBack(Math.min(wait_ms * 2, 5000));
  }
}

async function begin() {
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
    notice("Coming back", "the server does not answer");
    return comeBack(250);
  }
  if (!answer.ok) return notice("Signed out", hint, "again");
  // xterm.js measures the font once, when it starts.
  await Promise.all(["400 15px 'Roboto Mono'", "700 15px 'Roboto Mono'"].map((font) => document.fonts.load(font)));
  window.WebSocket = PlacedSocket;
  at("terminal").dataset.sessionWebsocketUrl = location.origin.replace(/^http/, "ws") + "/ws";
  const script = document.createElement("script");
  script.src = "/static/textual.js";
  script.onload = () => window.onload(new Event("load"));
  document.head.append(script);
}

// xterm.js takes every key with ctrl or alt, and the function keys: these few stay with the browser, which pastes,
// loads the page again, fills the screen, and goes back.
function isOfBrowser(event) {
  if (event.metaKey || event.shiftKey) return false;
  if (event.ctrlKey) return !event.altKey && event.code === "KeyV";
  if (event.altKey) return event.key === "ArrowLeft" || event.key === "ArrowRight";
  return event.key === "F5" || event.key === "F11" || event.key === "F12";
}
for (const kind of ["keydown", "keyup"]) {
  window.addEventListener(kind, (event) => { if (isOfBrowser(event)) event.stopImmediatePropagation(); }, true);
}

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

at("again").onclick = () => location.reload();
at("choose").onclick = () => at("file").click();
at("leave").onclick = toScreen;
at("file").onchange = (event) => { upload(event.target.files[0]); event.target.value = ""; };
window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => { event.preventDefault(); upload(event.dataTransfer.files[0]); });
for (const kind of ["keydown", "pointerdown"]) window.addEventListener(kind, () => { used = true; }, true);
// A step back, a link, or a place that is typed into the address of an open page.
window.addEventListener("hashchange", () => location.reload());
if (document.readyState === "complete") begin(); else window.addEventListener("load", begin);
