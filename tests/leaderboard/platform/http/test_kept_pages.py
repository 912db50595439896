"""What strangers see while the database does not answer: pages of the last minutes, and no others."""

import gzip

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from leaderboard.platform.http import kept_pages
from leaderboard.platform.http.caching import shareable
from leaderboard.platform.http.sharing import share_pages

HTML = '<main id="main"><!-- notice --> a board of <b>&lt;!-- notice --></b>'


class Check:
    """The check of the database, whose answer a test sets."""

    def __init__(self) -> None:
        self.problem = ""
        self.asked = 0

    def last(self) -> str:
        return self.problem

    def result(self) -> str:
        self.asked += 1
        return self.problem


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def database(monkeypatch, settings) -> Check:
    settings.KEEP_PAGES_SECONDS = 1.0
    check = Check()
    monkeypatch.setattr(kept_pages, "DATABASE", check)
    monkeypatch.setattr(kept_pages, "_outage", kept_pages._Outage())
    kept_pages._pages.clear()
    return check


@pytest.fixture
def clock(monkeypatch) -> Clock:
    own = Clock()
    monkeypatch.setattr(kept_pages, "time", own)
    return own


def board(request: HttpRequest) -> HttpResponse:
    return shareable(HttpResponse(HTML, headers={"ETag": '"tag"'}))


def down(request: HttpRequest) -> HttpResponse:
    return HttpResponse("no database", status=503)


def ask(view, path: str = "/boards/x/", *, method: str = "GET", cookies=(), **headers: str) -> HttpResponse:
    request = RequestFactory().generic(method, path, headers=headers)
    request.COOKIES.update(cookies)
    return share_pages(view)(request)


def test_a_board_that_was_read_is_shown_without_the_database_and_says_so(database, clock):
    ask(board)
    database.problem = "OperationalError"
    clock.now += 40
    answer = ask(down)
    assert answer.status_code == 200
    assert "database does not answer. This page dates from " in answer.text
    assert answer.text.endswith("&lt;!-- notice --></b>"), "texts of strangers stay as they are"
    assert (answer["Age"], answer["Cache-Control"]) == ("40", "no-store")
    assert "ETag" not in answer
    # Without a copy, the reader gets the error page.
    assert ask(down, "/boards/y/").status_code == 503


def test_the_view_is_not_asked_once_the_database_is_known_to_be_away(database):
    ask(board)
    database.problem = "late"
    assert ask(pytest.fail).status_code == 200
    packed = ask(pytest.fail, **{"Accept-Encoding": "gzip"})
    assert b"a board of" in (gzip.decompress(packed.content) if "Content-Encoding" in packed else packed.content)


def test_pages_are_fresh_again_with_the_database(database):
    ask(board)
    database.problem = "OperationalError"
    ask(down)
    database.problem = ""
    assert ask(board)["ETag"] == '"tag"'
    assert database.asked == 2, "a site that works asks nothing"
    ask(board)
    assert database.asked == 2


def test_a_page_that_nobody_read_shortly_before_is_not_shown(database, clock):
    ask(board)
    clock.now += kept_pages.MOST_SECONDS + 1
    database.problem = "OperationalError"
    assert ask(down).status_code == 503
    # The beginning of the outage counts, not its length.
    database.problem = ""
    ask(board)
    clock.now += 10
    database.problem = "OperationalError"
    assert ask(down).status_code == 200
    clock.now += 1800
    assert ask(down).status_code == 200
    clock.now += 1800
    assert ask(down).status_code == 503, "no page is shown for ever"


def test_an_outage_that_has_ended_does_not_count_for_the_next_one(database, clock):
    ask(board)
    database.problem = "OperationalError"
    ask(down)
    # Its end is noticed by a page that was not kept.
    database.problem = ""
    ask(board, "/boards/y/")
    clock.now += kept_pages.MOST_SECONDS + 1
    database.problem = "OperationalError"
    assert ask(down).status_code == 503


def test_nobody_can_fill_the_memory_with_addresses_or_push_boards_out(database):
    ask(board)
    for address in ("/boards/x/?x=1", f"/boards/{'y' * 400}/"):
        ask(board, address)
    assert len(kept_pages._pages._values) == 1
    assert kept_pages._pages._values.currsize > len(HTML)


def test_one_caller_s_limits_are_not_kept_for_others(database):
    ask(lambda request: shareable(HttpResponse(HTML, headers={"RateLimit": "r=1"})))
    database.problem = "OperationalError"
    assert "RateLimit" not in ask(down)


@pytest.mark.parametrize("own", [{"cookies": {"sessionid": "x"}}, {"Authorization": "Bearer x"}, {"method": "POST"}])
def test_readers_with_rights_of_their_own_get_neither_kept_pages_nor_leave_any(database, own):
    ask(board, **own)
    database.problem = "OperationalError"
    assert ask(down).status_code == 503
    database.problem = ""
    ask(board)
    database.problem = "OperationalError"
    assert ask(down, **own).status_code == 503


def test_another_cause_of_503_is_not_hidden(database):
    ask(board)
    assert ask(down).status_code == 503


def test_answers_of_the_api_are_kept_in_each_form_and_unchanged(database):
    def listed(request: HttpRequest) -> HttpResponse:
        return shareable(HttpResponse(b'{"name": "<!-- notice -->"}', content_type="application/json"))

    ask(listed, "/api/v1/boards/x/", Accept="application/json")
    database.problem = "OperationalError"
    kept = ask(down, "/api/v1/boards/x/", Accept="application/json")
    assert kept.content == b'{"name": "<!-- notice -->"}'
    assert ask(down, "/api/v1/boards/x/", Accept="text/csv").status_code == 503


def test_private_answers_and_large_ones_are_not_kept(database, monkeypatch):
    monkeypatch.setattr(kept_pages, "MOST_BYTES", 4 * len(HTML))
    ask(board)
    ask(lambda _: HttpResponse("mine"), "/boards/y/")
    ask(lambda _: shareable(HttpResponse("gone", status=404)), "/boards/z/")
    database.problem = "OperationalError"
    for path in ("/boards/x/", "/boards/y/", "/boards/z/"):
        assert ask(down, path).status_code == 503
