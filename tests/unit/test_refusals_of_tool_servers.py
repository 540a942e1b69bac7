"""What a status means with which a tool server refuses a call: refused, in doubt, or a session to begin anew."""

import pytest

from engine.runtimes.toolbox.mcp_answers import error_response
from engine.runtimes.toolbox.mcp_http import _refusal
from engine.runtimes.toolbox.mcp_records import Fault

pytestmark = pytest.mark.anyio

OWN = b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "Session"}}'
FORGETS = (b"Unknown SESSION", b"Server not initialized", OWN)
"""Words with which a status of 400 refuses a session."""


@pytest.mark.parametrize("status", [400, 401, 404, 410, 429, 500, 502, 503, 504])
async def test_a_status_means_the_same_to_every_call(status: int) -> None:
    import httpx2
    from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError

    for headers in ({}, {"Mcp-Session-Id": "s"}):
        response = httpx2.Response(status, request=httpx2.Request("POST", "http://tools", headers=headers))
        reason = f"the server answered with status {status} {response.reason_phrase}"
        for body in (b"", b"x", b"Unknown SESSION", b"Server not initialized", b" " * 1_000 + b"session", OWN):
            if headers and (status in (404, 410) or (status == 400 and body in FORGETS)):
                words = f"the server does not know its session any more (status {status})"
                expected = error_response(7, Fault.NOT_REACHED, words)
            elif body == OWN:
                expected = JSONRPCError(jsonrpc="2.0", id=7, error=ErrorData(code=1, message="Session"))
            elif status in (502, 504):
                expected = error_response(7, Fault.LOST, reason)
            else:
                expected = JSONRPCError(jsonrpc="2.0", id=7, error=ErrorData(code=INTERNAL_ERROR, message=reason))
            assert await _refusal(response, body, 7) == expected
