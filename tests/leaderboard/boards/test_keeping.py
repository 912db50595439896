"""The memory of a process, and whole pages in it."""

import gzip
import time

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from leaderboard.boards.web import page_cache
from leaderboard.boards.web.page_cache import forget_pages, serve_kept_pages, shareable


class Site:
    """A view behind the middleware that counts how often it was asked."""

    def __init__(self, *, is_shared: bool = True, **headers: str) -> None:
        self.asked = 0
        self._is_shared = is_shared
        self._headers = headers

    def __call__(self, request: HttpRequest) -> HttpResponse:
        self.asked += 1
        request.resolver_match = None
        response = HttpResponse(f"page {self.asked}", headers={"ETag": '"tag"', **self._headers})
        return shareable(response) if self._is_shared else response


@pytest.fixture(autouse=True)
def keeping(settings):
    settings.KEEP_PAGES_SECONDS = 1.0
    forget_pages()
    yield
    forget_pages()


def ask(site: Site, address: str = "/boards/x/", **cookies: str):
    request = RequestFactory().get(address)
    request.COOKIES.update(cookies)
    return serve_kept_pages(site)(request)


def test_pages_are_packed_for_who_takes_that():
    for accepted, packed in (("gzip, br", True), ("deflate, gzip;q=0.5", True), ("gzip;q=0", False), ("", False)):
        forget_pages()
        for _ in range(2):
            request = RequestFactory().get("/boards/x/", headers={"Accept-Encoding": accepted})
            response = serve_kept_pages(Site())(request)
            assert (response.headers.get("Content-Encoding") == "gzip") == packed
            assert (gzip.decompress(response.content) if packed else response.content) == b"page 1"
            assert "Accept-Encoding" in response.headers["Vary"]
        seen = {"Accept-Encoding": accepted, "If-None-Match": response.headers["ETag"]}
        assert serve_kept_pages(Site())(RequestFactory().get("/boards/x/", headers=seen)).status_code == 304


@pytest.mark.parametrize(("tag", "is_renewed"), [('"tag"', True), ('W/"tag"', True), ('"other"', False), ("", False)])
def test_who_finds_their_page_unchanged_renews_it_for_all(monkeypatch, tag, is_renewed):
    site = Site()
    ask(site)
    later = time.monotonic() + 2.0
    monkeypatch.setattr(time, "monotonic", lambda: later)
    unchanged = HttpResponse(status=304, headers={"ETag": tag} if tag else {})
    serve_kept_pages(lambda _: unchanged)(RequestFactory().get("/boards/x/"))
    assert ask(site).content == (b"page 1" if is_renewed else b"page 2")


@pytest.mark.parametrize("age", [0.5, 1.5])
def test_a_page_is_as_old_as_what_it_shows(age):
    site = Site()
    read = time.monotonic() - age
    serve_kept_pages(lambda request: shareable(site(request), read=read))(RequestFactory().get("/boards/x/"))
    ask(site)
    assert site.asked == (1 if age < 1.0 else 2)


def test_who_is_signed_in_has_a_token_or_a_message_waiting_is_asked_for_anew_and_shares_nothing():
    site = Site()
    ask(site)
    for cookie in ("sessionid", "messages"):
        assert ask(site, **{cookie: "x"}).content != b"page 1"
    request = RequestFactory().get("/boards/x/", headers={"Authorization": "Bearer x"})
    assert serve_kept_pages(site)(request).content == b"page 4"
    assert ask(site).content == b"page 1"
    forget_pages()
    assert serve_kept_pages(site)(request).content == b"page 5"
    assert ask(site).content == b"page 6", "what the first got is given to nobody else"


def test_other_addresses_and_pages_for_one_reader_or_with_a_cookie_are_not_shared():
    site = Site()
    ask(site, "/boards/x/")
    ask(site, "/boards/x/?sort=-overall")
    assert site.asked == 2
    private = Site(is_shared=False)
    ask(private, "/mine/")
    ask(private, "/mine/")
    assert private.asked == 2

    def with_cookie(request: HttpRequest) -> HttpResponse:
        response = site(request)
        response.set_cookie("csrftoken", "secret")
        return response

    for _ in range(2):
        serve_kept_pages(with_cookie)(RequestFactory().get("/boards/y/"))
    assert site.asked == 4


@pytest.mark.parametrize("status", [404, 503])
def test_a_page_that_is_gone_is_served_to_nobody_any_more(monkeypatch, status):
    now = [100.0]
    monkeypatch.setattr(page_cache.time, "monotonic", lambda: now[0])
    site = Site()
    ask(site)
    now[0] += 1.5
    gone = serve_kept_pages(lambda _: HttpResponse("gone", status=status))
    for _ in range(2):
        assert gone(RequestFactory().get("/boards/x/")).status_code == status


def test_how_often_somebody_may_still_ask_is_not_kept():
    site = Site(**{"RateLimit": "1", "RateLimit-Policy": "2", "Allow": "GET"})
    ask(site)
    kept = ask(site)
    assert ("Allow" in kept.headers, site.asked) == (True, 1)
    assert not [name for name in kept.headers if name.lower().startswith("ratelimit")]


def test_after_its_time_one_request_makes_the_page_anew_and_others_do_not_wait(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(page_cache.time, "monotonic", lambda: now[0])
    site = Site()
    ask(site)
    now[0] += 1.5
    inner = []

    def slow(request: HttpRequest) -> HttpResponse:
        inner.append(ask(site).content)
        return site(request)

    assert serve_kept_pages(slow)(RequestFactory().get("/boards/x/")).content == b"page 2"
    assert inner == [b"page 1"]
    assert ask(site).content == b"page 2"
