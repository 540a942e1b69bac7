"""The routes of the web dashboard, and its open tabs.

Rule: `_gate` runs before every route. Only the page, its files, `/login` and `/healthz` are open to all; the
rest asks for a cookie, `/metrics` for a token of its own.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from aiohttp import WSCloseCode, WSMsgType, web

from dashboard.clean import clean
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.place import NoPlace, Place
from dashboard.web.assets import PAGE, assets
from dashboard.web.gate import Forbidden, RequestGate
from dashboard.web.logins import Login, Logins
from dashboard.web.prometheus import Metrics
from dashboard.web.protocol import (
    Drawn,
    Focused,
    InvalidMessage,
    Message,
    Resized,
    ServerPing,
    Typed,
    clamp_size,
    message_of,
)
from dashboard.web.session import HANG_S, PAGE_CHARACTERS, STALL_S, Hung, Launch, Session
from dashboard.web.transfers import Downloads, NotStored, TooLarge, TooMany, Uploads, safe_name
from engine.core.errors import CoreError
from store import StoreError

HEARTBEAT_S, CLOSE_S = 15.0, 2.0
"""Interval of the pings to a browser, and the time that it has to confirm the end of a socket."""
SILENT_S = 10.0
SHUTDOWN_S = 5.0
LEAVE_S = 5.0
"""How long a new tab waits for one that is ending if the limit is reached, in seconds."""
LARGEST_FRAME_BYTES = 1 << 20
LARGEST_LOGIN_BYTES = 1_000
LONGEST_REASON_BYTES = 123
"""Room for the reason in a close frame."""
FULL, HUNG, GONE, ENDED, UNKNOWN = 4001, 4002, 4003, 4004, 4005
"""Why a socket was closed, for the page."""
SERVER_ENDED = WSCloseCode.GOING_AWAY, "the server was ended; the team keeps running"


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of a server."""

    db: Path
    gate: RequestGate
    role: str = "viewer"
    sessions: int = 16
    """Largest number of open tabs."""
    idle_s: float = 8 * 3600.0
    hang_s: float = HANG_S
    stall_s: float = STALL_S
    silent_s: float = SILENT_S
    """A connection that sends no complete request for so long, in seconds, is closed; sockets of tabs are exempt."""
    title: str = "Quarterdeck"


class WebServer:
    """Serve the dashboard of one database."""

    def __init__(
        self,
        options: ServerOptions,
        *,
        metrics: Metrics | None = None,
        on_sign_in: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare a server.

        Args:
            metrics: What `/metrics` answers; without it the page does not exist.
            on_sign_in: Called with the address of a browser that has used the token.
            clock: A monotonic clock, in seconds.
        """
        self.download_manager = Downloads()
        self._uploads = Uploads()
        self._options = options
        self._metrics = metrics
        self._on_sign_in = on_sign_in
        self.logins = Logins(idle_s=options.idle_s, clock=clock)
        self.sessions: dict[str, tuple[Session, Login]] = {}
        """Open tabs by their ids."""
        self._tab_ended = asyncio.Event()
        self._assets = assets()
        self._ending = False
        self.cookie_name = "quarterdeck"

    def set_port(self, port: int) -> None:
        """Name the cookie after the port: browsers send cookies to every port of a host."""
        self.cookie_name = f"{'__Host-' if self._options.gate.tls else ''}quarterdeck-{port}"

    def make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._gate], client_max_size=LARGEST_LOGIN_BYTES)
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/static/{name}", self._file),
                web.get("/favicon.ico", partial(self._serve_asset, "icon.svg")),
                web.post("/login", self._login),
                web.get("/ws", self.handle_websocket),
                web.post("/upload", self._upload),
                web.get("/download/{key}", self._download, allow_head=False),  # a key is good once
                web.get("/healthz", self._health),
                web.get("/metrics", self._metrics_page),
            ]
        )
        app.on_response_prepare.append(self._add_headers)
        app.on_shutdown.append(self.on_shutdown)
        app.on_cleanup.append(self.on_shutdown)  # again, for the tabs of handlers that were cancelled meanwhile
        return app

    async def make_runner(self) -> web.AppRunner:
        """Return the runner of this server, which also closes connections that stay silent before a first request.

        Requests are not decompressed (Content-Encoding), which our page never needs: a megabyte can hold a gigabyte,
        and decompressing it would block every tab for seconds, also without a login.
        """
        return web.AppRunner(
            self.make_app(),
            access_log=None,
            shutdown_timeout=SHUTDOWN_S,
            keepalive_timeout=self._options.silent_s,
            lingering_time=self._options.silent_s,
            auto_decompress=False,
        )

    @web.middleware
    async def _gate(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if self._ending:  # else a page whose tab was closed would reload from a server that ends
            return _text_response(503, "the server is ending")
        needs_origin = request.method not in ("GET", "HEAD") or request.path == "/ws"
        try:
            self._options.gate.check(request.headers, needs_origin=needs_origin, opens_page=request.path == "/")
        except Forbidden as error:
            return _text_response(403, str(error))
        try:
            answer = await handler(request)
            await self._send(request, answer)
            return answer
        except web.HTTPException as error:
            return _text_response(error.status, error.reason.lower())
        except ConnectionError:  # in the middle of a request; aiohttp would log a traceback
            return _text_response(400, "the connection was lost")

    async def _send(self, request: web.Request, answer: web.StreamResponse) -> None:
        """Send a complete answer; close the connection of a client that does not read it, signed in or not."""
        if answer.prepared:
            return
        try:
            async with asyncio.timeout(self._options.stall_s):
                await answer.prepare(request)
                await answer.write_eof()
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()

    async def _add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        cache_control = response.headers.get("Cache-Control")
        response.headers.update(self._options.gate.headers(request.headers.get("Host", "")))
        if cache_control is not None:
            response.headers["Cache-Control"] = cache_control

    def _login_of(self, request: web.Request) -> Login | None:
        return self.logins.login_of(request.cookies.get(self.cookie_name))

    async def _page(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(body=(PAGE / "index.html").read_bytes(), content_type="text/html", charset="utf-8")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        return await self._serve_asset(request.match_info["name"], request)

    async def _serve_asset(self, name: str, request: web.Request) -> web.StreamResponse:
        if name not in self._assets:
            return _text_response(404, "there is no such file")
        return self._assets[name].answer(request)

    async def _login(self, request: web.Request) -> web.StreamResponse:
        """Exchange a token for a cookie; without a token, report whether the cookie is still valid."""
        try:
            async with asyncio.timeout(self._options.silent_s):
                token = (await request.read()).decode("ascii", errors="replace").strip()
        except TimeoutError:
            late = _text_response(408, "the token did not come in time")
            late.force_close()
            return late
        if not token:
            return (
                web.Response(status=204)
                if self._login_of(request)
                else _text_response(401, "this browser is not signed in")
            )
        cookie = self.logins.exchange(token, request.cookies.get(self.cookie_name))
        if cookie is None:
            return _text_response(403, "this link was used before, or is not of this server")
        answer = web.Response(status=204)
        # The gate has compared the origin with the host: behind a proxy that speaks TLS it is https too.
        secure = self._options.gate.tls or request.headers.get("Origin", "").startswith("https:")
        answer.set_cookie(self.cookie_name, cookie, path="/", httponly=True, samesite="Strict", secure=secure)
        self._on_sign_in(request.remote or "somewhere")
        return answer

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:
        """Run a tab while its socket is open."""
        login = self._login_of(request)
        if login is None:
            return _text_response(401, "this browser is not signed in; open the link that the server printed")
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, timeout=CLOSE_S, max_msg_size=LARGEST_FRAME_BYTES)
        await socket.prepare(request)
        if not await self._wait_for_room():
            limit = pluralize(self._options.sessions, "tab")
            reason = f"{limit} may be open on this server, and no more: close one, or start it with --sessions"
            await socket.close(code=FULL, message=_close_message(reason))
            return socket
        try:
            session = Session(
                Launch(
                    self._options.db, self._options.role, _place(request.query.get("open", "")), _habits_of(request)
                ),
                write_bytes=socket.send_bytes,
                write_str=socket.send_str,
                download_manager=self.download_manager,
                hang_s=self._options.hang_s,
                stall_s=self._options.stall_s,
            )
        except OSError as error:
            await socket.close(code=GONE, message=_close_message(_open_failure(error)))
            return socket
        key = session.app_service_id
        self.sessions[key] = session, login
        self.logins.add_tab(login)
        try:
            await socket.send_json(["tab", key])
            await socket.send_json(["title", self._options.title])
            size = clamp_size(_whole_number(request, "width", 80), _whole_number(request, "height", 24))
            assert size is not None
            await session.start(size.width, size.height)
            # The shutdown ends only tabs that are open by then; this one may still have waited for room.
            code, reason = SERVER_ENDED if self._ending else await self._run_tab(socket, session)
        except ConnectionError:  # the browser left before the tab was open
            return socket
        except OSError as error:
            code, reason = GONE, _open_failure(error)
        finally:
            self.logins.remove_tab(login)
            await session.stop()
            del self.sessions[key]
            self._tab_ended.set()
        with contextlib.suppress(ConnectionError, TimeoutError):
            # A server that ends reads nothing more, so it would wait in vain for the browser to confirm.
            async with asyncio.timeout(0 if self._ending else None):
                await socket.close(code=code, message=_close_message(reason))
        return socket

    async def _wait_for_room(self) -> bool:
        """Return whether another tab may open; wait first for one that ends, because a reloaded page connects early."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                while len(self.sessions) >= self._options.sessions:
                    self._tab_ended.clear()
                    await self._tab_ended.wait()
        return len(self.sessions) < self._options.sessions

    async def _run_tab(self, socket: web.WebSocketResponse, session: Session) -> tuple[int, str]:
        """Run a tab to its end; return the close code and the reason, one line."""
        output_task = asyncio.create_task(session.run())
        input_task = asyncio.create_task(self._receive_messages(socket, session))
        try:
            await asyncio.wait((output_task, input_task), return_when=asyncio.FIRST_COMPLETED)
            if input_task.done():
                return input_task.result()
            output_task.result()
        except Hung:
            return HUNG, "the screen did not answer and was ended"
        except (TimeoutError, ConnectionError):
            return WSCloseCode.GOING_AWAY, "the browser took nothing any more"
        finally:
            for task in (output_task, input_task):
                task.cancel()
            await asyncio.gather(output_task, input_task, return_exceptions=True)
        if self._ending:
            return SERVER_ENDED
        if session.ended_by_itself:
            return ENDED, "closed; the team keeps running"
        return GONE, session.complaint or "the screen ended"

    async def _receive_messages(self, socket: web.WebSocketResponse, session: Session) -> tuple[int, str]:
        """Pass messages of the browser to the tab; a message that our page never sends ends the tab."""
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                return WSCloseCode.UNSUPPORTED_DATA, "only text is understood"
            try:
                await _pass_on(socket, session, message_of(message.data))
            except InvalidMessage as error:
                return UNKNOWN, str(error)
        return socket.close_code or WSCloseCode.OK, ""

    def _own_session(self, request: web.Request, tab: str) -> Session | None:
        login = self._login_of(request)
        session, owner = self.sessions.get(tab, (None, None))
        return session if login is not None and owner is login else None

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        session = self._own_session(request, request.query.get("tab", ""))
        if session is None:
            return _text_response(401, "this tab is not signed in")
        if self._options.role != "operator":
            return _text_response(403, "a viewer cannot upload archives; start the server with --role operator")
        name = safe_name(request.query.get("name", ""))
        try:
            path = await self._uploads.receive(request.content.iter_chunked(1 << 16), session.folder, name)
        except TooLarge:
            return _text_response(413, f"{name} is larger than any archive that would be read")
        except TooMany:
            return _text_response(
                429, f"{name} was not taken: too many uploads are under way; send it again when they have ended"
            )
        except NotStored as error:
            return _text_response(507, f"{name} could not be stored: {str(error).lower()}")
        await session.announce_upload(path, name)
        return web.Response(status=204)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        key = request.match_info["key"]
        try:
            metadata = await self.download_manager.get_download_metadata(key)
        except KeyError:
            return _text_response(404, "there is no such download, or it was taken already")
        session = self._own_session(request, metadata.app_service.app_service_id)
        if session is None:
            return _text_response(401, "this tab is not signed in")
        if key not in session.downloads:
            return _text_response(404, "there is no such download, or it was taken already")
        session.downloads.remove(key)
        headers = {"Content-Disposition": f'attachment; filename="{safe_name(metadata.file_name)}"'}
        answer = web.StreamResponse(headers=headers)
        answer.content_type = "application/octet-stream"
        await answer.prepare(request)
        chunks = self.download_manager.download(key)
        try:
            async for chunk in chunks:
                await answer.write(chunk)
        except ConnectionError:
            async for _ in chunks:  # reading to the end frees the download, here and in the tab
                pass
            raise
        if key not in session.delivered:  # the tab was closed or hung: the partial file must not look complete
            assert request.transport is not None
            request.transport.abort()
            return answer
        await answer.write_eof()
        return answer

    async def _health(self, _request: web.Request) -> web.StreamResponse:
        return _text_response(200, "ok")

    async def _metrics_page(self, request: web.Request) -> web.StreamResponse:
        if self._metrics is None:
            return _text_response(404, "this server has no metrics; start it with --metrics-token-file")
        if not self._metrics.is_authorized(request.headers.get("Authorization")):
            return _text_response(401, "metrics need the token of --metrics-token-file as a Bearer")
        try:
            text = await anyio.to_thread.run_sync(self._metrics.text)
        except (StoreError, CoreError) as error:
            return _text_response(503, str(error))
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def on_shutdown(self, app: web.Application) -> None:
        """End every tab; their browsers reconnect, because another server may take over."""
        self._ending = True
        await asyncio.gather(*(session.stop() for session, _ in self.sessions.values()), return_exceptions=True)


async def _pass_on(socket: web.WebSocketResponse, session: Session, message: Message) -> None:
    """Pass a message of the page to its tab."""
    match message:
        case Typed(text):
            await session.type(text)
        case Resized(size):
            await session.set_terminal_size(size.width, size.height)
        case ServerPing(text):
            await socket.send_json(["pong", text])
        case Focused(gained):
            await (session.focus() if gained else session.blur())
        case Drawn(size):
            session.note_drawn(size)


def _open_failure(error: OSError) -> str:
    return f"a tab could not be opened: {(error.strerror or str(error)).lower()}"


def _close_message(reason: str) -> bytes:
    """Return the reason for a close frame, which holds few bytes; a long one loses its middle, in whole characters.

    With an unreadable reason the browser would think that the connection was lost, and reconnect again and again.
    """
    text = reason.encode()
    if len(text) <= LONGEST_REASON_BYTES:
        return text
    first_bytes, ellipsis = 30, "…".encode()
    last_bytes = LONGEST_REASON_BYTES - first_bytes - len(ellipsis)
    begin, end = (part.decode(errors="ignore").encode() for part in (text[:first_bytes], text[-last_bytes:]))
    return begin + ellipsis + end


def _place(text: str) -> str:
    """Return the place that a browser requests; an invalid one becomes the first screen."""
    try:
        return str(Place.parse(text)) if text else ""
    except NoPlace:
        return ""


def _habits_of(request: web.Request) -> str:
    """Return the habits that the page stored for an earlier tab."""
    return request.query.get("habits", "")[:PAGE_CHARACTERS]


def _whole_number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default


def _text_response(status: int, text: str) -> web.Response:
    """Return one line of text."""
    return web.Response(status=status, text=f"{clean(text)}\n")
