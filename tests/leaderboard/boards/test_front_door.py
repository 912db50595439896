"""Pages that are answered before Django sees the request: the same answers, faster."""

import asyncio
import gzip
from io import BytesIO

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse

from leaderboard.boards.web.front_door import FrontDoor
from leaderboard.boards.web.page_cache import forget_pages, serve_kept_pages, shareable

ADDRESS = "/boards/x/?sort=-overall"


class Site:
    """A site of one page, which counts what comes through to it; `answer` is what its middleware gives."""

    def __init__(self) -> None:
        self.made = 0

    def view(self, request: HttpRequest) -> HttpResponse:
        self.made += 1
        request.resolver_match = None
        body = f"page {self.made}"
        headers = {"ETag": '"tag"', "Content-Length": str(len(body)), "Content-Security-Policy": "default-src 'self'"}
        return shareable(HttpResponse(body, headers=headers))

    async def __call__(self, scope, receive, send) -> None:
        response = serve_kept_pages(self.view)(ASGIRequest(scope, BytesIO()))
        told = [(name.lower().encode(), value.encode()) for name, value in response.headers.items()]
        await send({"type": "http.response.start", "status": response.status_code, "headers": told})
        await send({"type": "http.response.body", "body": response.content})


@pytest.fixture(autouse=True)
def keeping(settings):
    settings.KEEP_PAGES_SECONDS = 1.0
    forget_pages()
    yield
    forget_pages()


@pytest.fixture
def site() -> Site:
    return Site()


def ask(application, *, address: str = ADDRESS, method: str = "GET", **headers: str):
    """Status, headers and body of one request."""
    path, _, query = address.partition("?")
    named = {"host": "testserver", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
        "scheme": "http", "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }  # fmt: skip
    sent = []

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        sent.append(message)

    asyncio.run(application(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


@pytest.fixture
def counted() -> list[str]:
    return []


@pytest.fixture
def door(site, counted) -> FrontDoor:
    return FrontDoor(site, note=lambda view, _: counted.append(view))


@pytest.mark.parametrize("accepted", ["", "gzip, br", "gzip;q=0"])
def test_it_answers_what_the_site_would(site, door, counted, accepted):
    first, at_the_door = ask(door, accept_encoding=accepted), ask(door, accept_encoding=accepted)
    assert (at_the_door, site.made, len(counted)) == (ask(site, accept_encoding=accepted), 1, 1)
    assert first == at_the_door
    status, headers, body = at_the_door
    assert status == 200
    assert headers[b"content-security-policy"] == b"default-src 'self'"
    assert int(headers[b"content-length"]) == len(body)
    assert (gzip.decompress(body) if accepted == "gzip, br" else body) == b"page 1"


@pytest.mark.parametrize("accepted", ["", "gzip"])
@pytest.mark.parametrize("tag", ['"tag"', 'W/"tag"'])
def test_who_has_the_page_gets_304(site, door, counted, accepted, tag):
    ask(door)
    found = ask(door, accept_encoding=accepted, if_none_match=tag)
    assert (found[0], found[2], len(counted)) == (304, b"", 1)
    assert found == ask(site, accept_encoding=accepted, if_none_match=tag)


UNUSUAL = [
    {"cookie": "sessionid=x"},
    {"cookie": "a=b; messages=x"},
    {"authorization": "Bearer x"},
    {"method": "HEAD"},
    {"method": "POST"},
    {"host": "other.example"},
    {"address": "/boards/x/?sort=-score"},
    {"address": "/boards/%78/?sort=-overall"},
    {"if_none_match": '"other", "tag"'},
    {"if_none_match": '"other"'},
    {"if_match": '"tag"'},
    {"if_modified_since": "Sat, 29 Oct 1994 19:43:31 GMT"},
]


def test_whatever_is_unusual_goes_on_to_the_site_but_for_cookies_that_mean_nothing_to_it(door, counted):
    for changes in UNUSUAL:
        forget_pages()
        ask(door)
        ask(door, **changes)
        assert counted == [], changes
    forget_pages()
    ask(door)
    ask(door, cookie="theme=dark")
    assert counted == ["none"]


def test_a_page_that_is_too_old_is_renewed_by_the_site(site, door, settings):
    ask(door)
    settings.KEEP_PAGES_SECONDS = 1e-9
    assert ask(door)[2] == b"page 2"
    settings.KEEP_PAGES_SECONDS = 0
    ask(door)
    assert site.made == 3


def test_behind_a_proxy_the_scheme_is_the_one_that_it_tells(site, door, settings, counted):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    for proto in ("https", "http"):
        ask(door, x_forwarded_proto=proto)
    assert (site.made, counted) == (2, [])
    ask(door, x_forwarded_proto="https")
    assert (site.made, len(counted)) == (2, 1)
