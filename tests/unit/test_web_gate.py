"""Who may talk to the web server, by the headers of a request; who has signed in, by token, cookie and time."""

import pytest

from dashboard.web.gate import Forbidden, RequestGate, is_loopback
from dashboard.web.logins import Logins

LOCAL = RequestGate("127.0.0.1")
NAMED = RequestGate("10.0.0.5", ("Deck.example",), tls=True)


@pytest.mark.parametrize("host", ["127.0.0.1:8642", "localhost:9000", "LOCALHOST", "[::1]:8642", "localhost.:1"])
def test_a_server_on_loopback_answers_to_the_names_of_loopback_on_any_port(host: str) -> None:
    LOCAL.check({"Host": host}, needs_origin=False)


@pytest.mark.parametrize("bind", ["127.0.0.2", "::1", "localhost"])
def test_a_server_answers_to_the_address_of_loopback_that_it_was_given(bind: str) -> None:
    host = f"[{bind}]:8642" if ":" in bind else f"{bind}:8642"
    RequestGate(bind).check({"Host": host, "Origin": f"http://{host}"}, needs_origin=True)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "user@127.0.0.1",
        "127.0.0.1:x",
        "127.0.0.1?x",
        "[::1",
    ],
)
def test_a_foreign_name_is_refused(host: str) -> None:
    with pytest.raises(Forbidden, match="does not answer to"):
        LOCAL.check({"Host": host}, needs_origin=False)


@pytest.mark.parametrize("host", ["deck.example", "deck.example:8642", "10.0.0.5:8642"])
def test_a_server_elsewhere_answers_to_its_address_and_the_names_it_was_given(host: str) -> None:
    NAMED.check({"Host": host, "Origin": f"https://{host}"}, needs_origin=True)
    with pytest.raises(Forbidden):
        NAMED.check({"Host": "localhost"}, needs_origin=False)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost:8642",
        "http://127.0.0.1:8643",
        "http://127.0.0.1:8642/",
        "null",
        "",
        "file://127.0.0.1:8642",
        "http://[",
        "http://[abc]",
    ],
)
def test_an_origin_that_is_not_the_host_of_the_request_is_refused(origin: str) -> None:
    with pytest.raises(Forbidden, match="origin"):
        LOCAL.check({"Host": "127.0.0.1:8642", "Origin": origin}, needs_origin=True)


def test_what_changes_something_needs_an_origin_and_a_page_of_ours_needs_none() -> None:
    LOCAL.check({"Host": "127.0.0.1:8642"}, needs_origin=False)
    with pytest.raises(Forbidden, match="does not come from the page"):
        LOCAL.check({"Host": "127.0.0.1:8642"}, needs_origin=True)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_link_to_the_page_and_do_nothing_else(site: str) -> None:
    click = {"Host": "localhost", "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    LOCAL.check(click, needs_origin=False, opens_page=True)
    for headers, is_page in (
        (click, False),
        ({**click, "Sec-Fetch-Dest": "iframe"}, True),
        ({**click, "Sec-Fetch-Mode": "no-cors"}, True),
        ({**click, "Origin": "http://evil.example"}, True),
    ):
        with pytest.raises(Forbidden):
            LOCAL.check(headers, needs_origin=False, opens_page=is_page)


def test_with_a_certificate_only_an_encrypted_page_counts() -> None:
    with pytest.raises(Forbidden):
        NAMED.check({"Host": "deck.example", "Origin": "http://deck.example"}, needs_origin=True)


def test_no_script_may_be_inline_and_nothing_may_come_from_elsewhere() -> None:
    policy = LOCAL.headers("127.0.0.1:8642")["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    assert rules["script-src"] == "'self'"
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'self' ws://127.0.0.1:8642 wss://127.0.0.1:8642"
    assert "http" not in policy


def test_an_address_that_a_policy_cannot_name_is_left_to_self() -> None:
    assert "connect-src 'self';" in RequestGate("::1").headers("[::1]:8642")["Content-Security-Policy"]


def test_a_foreign_name_does_not_get_into_the_policy() -> None:
    assert "evil" not in LOCAL.headers("evil.example; script-src *")["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("host", "only_here"),
    [("127.0.0.1", True), ("::1", True), ("127.9.9.9", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_what_can_be_reached_from_elsewhere_is_known(host: str, only_here: bool) -> None:
    assert is_loopback(host) is only_here


class Watch:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_token_becomes_one_cookie_and_no_other_word_does() -> None:
    logins = Logins(idle_s=60, clock=Watch())
    assert logins.exchange("") is None
    token = logins.new_token()

    assert logins.exchange(token + "x") is None
    cookie = logins.exchange(token)
    assert cookie is not None
    assert cookie != token
    assert logins.login_of(cookie) is not None
    assert logins.exchange(token) is None
    assert logins.exchange("") is None


def test_a_browser_that_signs_in_again_keeps_its_login_under_another_cookie() -> None:
    logins = Logins(idle_s=60, clock=Watch())
    first = logins.exchange(logins.new_token())
    login = logins.login_of(first)
    second = logins.exchange(logins.new_token(), first)

    assert logins.login_of(second) is login
    assert logins.login_of(first) is None
    other = logins.exchange(logins.new_token(), "never given")
    assert logins.login_of(other) not in (None, login)


@pytest.mark.parametrize("cookie", [None, "", "x", "ü\ud800"])
def test_a_cookie_that_was_never_given_is_nobody(cookie: str | None) -> None:
    logins = Logins(idle_s=60, clock=Watch())
    logins.exchange(logins.new_token())

    assert logins.login_of(cookie) is None


def test_a_login_ends_an_idle_time_after_its_last_tab_and_not_while_one_is_open() -> None:
    watch = Watch()
    logins = Logins(idle_s=60, clock=watch)
    cookie = logins.exchange(logins.new_token())
    login = logins.login_of(cookie)
    assert login is not None
    logins.add_tab(login)
    watch.now_s += 600
    assert logins.login_of(cookie) is login

    logins.remove_tab(login)
    watch.now_s += 59
    assert logins.login_of(cookie) is login
    watch.now_s += 60
    assert logins.login_of(cookie) is None
