"""Shareable pages: a shared cache keeps them for strangers, and never keeps what was made for one reader."""

import gzip

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from leaderboard.platform.http.caching import shareable, tagged_page
from leaderboard.platform.http.sharing import share_pages

BODY = "page " * 100
SHARED = "public, max-age=0, s-maxage=1, stale-while-revalidate=1"
PRIVATE = "private, no-cache"


@pytest.fixture(autouse=True)
def sharing(settings):
    settings.KEEP_PAGES_SECONDS = 1.0


def page(request: HttpRequest, **headers: str) -> HttpResponse:
    return shareable(HttpResponse(BODY, headers={"ETag": '"tag"', **headers}))


def ask(view=page, *, method: str = "GET", cookies: dict[str, str] | None = None, **headers: str) -> HttpResponse:
    request = RequestFactory().generic(method, "/boards/x/", headers=headers)
    request.COOKIES.update(cookies or {})
    return share_pages(view)(request)


def test_strangers_share_a_page_for_a_moment():
    for method in ("GET", "HEAD"):
        answer = ask(method=method, cookies={"theme": "dark"})
        assert answer.headers["Cache-Control"] == SHARED
        assert {"Cookie", "Accept-Encoding"} <= set(answer.headers["Vary"].split(", "))


@pytest.mark.parametrize(
    "asked",
    [
        {"cookies": {"sessionid": "x"}},
        {"cookies": {CookieStorage.cookie_name: "x"}},
        {"Authorization": "Bearer x"},
        {"method": "POST"},
    ],
)
def test_what_is_made_for_one_reader_is_private_and_not_compressed(asked):
    answer = ask(**asked, **{"Accept-Encoding": "gzip"})
    assert (answer.headers["Cache-Control"], "Content-Encoding" in answer.headers) == (PRIVATE, False)
    assert "Cookie" in answer.headers["Vary"]


def with_cookie(request: HttpRequest) -> HttpResponse:
    response = page(request)
    response.set_cookie("csrftoken", "secret")
    return response


def gone(status: int):
    def view(_: HttpRequest) -> HttpResponse:
        return shareable(HttpResponse("gone", status=status))

    return view


@pytest.mark.parametrize("view", [with_cookie, gone(404), gone(503)])
def test_answers_that_set_cookies_and_errors_are_private(view):
    assert ask(view).headers["Cache-Control"] == PRIVATE


def test_a_view_that_forbids_caches_has_the_last_word():
    answer = ask(lambda request: page(request, **{"Cache-Control": "private, no-store"}))
    assert "no-store" in answer.headers["Cache-Control"]
    assert "public" not in answer.headers["Cache-Control"]


def test_other_pages_stay_as_their_views_made_them():
    answer = ask(lambda _: HttpResponse("mine"))
    assert not {"Cache-Control", "Vary"} & set(answer.headers)


def test_without_a_time_nothing_is_shared(settings):
    settings.KEEP_PAGES_SECONDS = 0
    assert ask().headers["Cache-Control"] == PRIVATE


def test_a_caller_s_rate_limit_is_not_shared():
    answer = ask(lambda request: page(request, **{"RateLimit": "1", "RateLimit-Policy": "2", "Allow": "GET"}))
    assert "Allow" in answer.headers
    assert not [name for name in answer.headers if name.lower().startswith("ratelimit")]


@pytest.mark.parametrize(("accepted", "is_packed"), [("gzip, br", True), ("deflate", False)])
def test_shared_pages_are_compressed(accepted, is_packed):
    answer = ask(**{"Accept-Encoding": accepted})
    assert (answer.headers.get("Content-Encoding") == "gzip") == is_packed
    assert (gzip.decompress(answer.content) if is_packed else answer.content) == BODY.encode()


@pytest.mark.parametrize("weak", ["", "W/"])
def test_a_reader_who_has_the_page_gets_304_which_renews_the_shared_one(weak):
    made = []

    def view(request: HttpRequest) -> HttpResponse:
        request.user, request._messages = AnonymousUser(), []
        return tagged_page(request=request, parts=["x"], make=lambda: made.append(1) or HttpResponse(BODY))

    first = ask(view)
    again = ask(view, **{"If-None-Match": weak + first.headers["ETag"]})
    assert (again.status_code, again.headers["ETag"], len(made)) == (304, first.headers["ETag"], 1)
    assert again.headers["Cache-Control"] == SHARED
