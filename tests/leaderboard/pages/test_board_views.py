"""Filters, pages and columns of a board, its plots, files and feeds, as a reader asks for them."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import pytest
from django.test import Client

from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation
from tests.leaderboard.pages.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_results,
    make_suite,
    make_summary,
    make_user,
)
from tests.memory import forget_everything

pytestmark = pytest.mark.django_db
BOARD = "/boards/openagi/"
ATOM = "{http://www.w3.org/2005/Atom}"


def planners(html: str) -> list[str]:
    return re.findall(r'class="planner-name"[^>]*>([^<]+)<', html)


def read(client: Client, address: str = BOARD, **query: str) -> str:
    response = client.get(address, query)
    assert response.status_code == 200
    return response.content.decode()


def headings(html: str) -> list[str]:
    head = html.split("<thead>")[1].split("</thead>")[0]
    return re.findall(r"<th[^>]*>\s*(?:<a[^>]*>)?([^<]+)<", head)


def make_many(count: int = 55) -> Snapshot:
    """A board of so many planners, the first of them the best."""
    suite = make_suite()
    owner = make_user()
    for number in range(count):
        planner = make_planner(owner=owner, name=f"planner {number:02}")
        newest = make_evaluation(planner=planner, suite=suite, summary=make_summary(0.9 - number / 100))
    return publish(newest)


def test_a_long_board_comes_in_pages(client: Client):
    make_many()
    first, second = read(client), read(client, page="2")
    assert len(planners(first)) == 50
    assert planners(second) == [f"planner {number}" for number in range(50, 55)]
    assert "Page 1 of 2" in first
    assert 'href="?page=2"' in first
    assert planners(read(client, page="99")) == planners(second)
    assert len(planners(read(client, per_page="20"))) == 20


def test_a_search_keeps_the_ranks_of_the_whole_board(client: Client):
    make_board()
    html = read(client, q="bea")
    assert planners(html) == ["planner of bea"]
    assert re.search(r'data-cell="rank">2<', html)
    assert "1 of 2 planners match" in html


def test_all_evaluations_are_ranked_among_each_other(client: Client):
    suite, _ = make_board()
    worse = Evaluation.objects.get(submission__planner__name="planner of ada").submission.planner
    make_evaluation(planner=worse, suite=suite, summary=make_summary(0.55))
    assert planners(read(client)) == ["planner of ada", "planner of bea"]
    html = read(client, rows="all")
    assert planners(html) == ["planner of ada", "planner of ada", "planner of bea"]
    assert "3 evaluations, ranked among each other" in html
    make_evaluation(planner=worse, suite=suite, summary=make_summary(0.1))
    assert len(planners(read(client, rows="all"))) == 4, "the next one is not hidden by what was kept"


def test_only_mine_is_offered_to_who_is_signed_in(client: Client):
    make_board()
    assert 'name="own"' not in read(client)
    client.force_login(Evaluation.objects.get(submission__planner__name="planner of bea").submission.submitted_by)
    assert 'name="own"' in read(client)
    assert planners(read(client, own="1")) == ["planner of bea"]


def test_columns_are_chosen_in_the_address(client: Client):
    make_board()
    html = read(client, column="BERT")
    assert headings(html) == ["Rank", "Planner", "BERT"]
    assert headings(read(client, column="no-such-column")) == headings(read(client))


def test_what_a_form_sends_for_nothing_does_not_stay_in_the_address(client: Client):
    make_board()
    usual = re.search(r'name="usual_columns" value="([^"]+)"', read(client))[1]
    sent = {"q": "", "kind": "", "usual_columns": usual, "column": usual.split(), "sort": "-overall"}
    assert client.get(BOARD, sent).headers["Location"] == f"{BOARD}?sort=-overall"
    sent |= {"column": ["overall"], "q": "ada"}
    assert client.get(BOARD, sent).headers["Location"] == f"{BOARD}?q=ada&column=overall&sort=-overall"


def test_names_are_escaped_in_pages_and_feeds(client: Client):
    suite = make_suite()
    planner = make_planner(owner=make_user(), name="<script>alert(1)</script>")
    evaluation = make_evaluation(planner=planner, suite=suite)
    make_results(evaluation)
    publish(evaluation)
    for address in (BOARD, f"{BOARD}plots/", "/", f"{BOARD}feed.atom"):
        assert "<script>alert" not in read(client, address)
        assert "&lt;script&gt;alert" in read(client, address)


def test_plots_are_drawn_with_a_title_and_a_table(client: Client):
    suite, _ = make_board()
    for evaluation in Evaluation.objects.all():
        make_results(evaluation, samples=0)
    publish(make_evaluation(planner=make_planner(owner=make_user("eve"), name="eve's"), suite=suite))
    html = read(client, f"{BOARD}plots/")
    assert "Overall over time" in html
    assert "no cost plots" in html
    assert "style=" not in html
    svgs = re.findall(r"<svg class=\"plot .*?</svg>", html, re.S)
    assert svgs
    for svg in svgs:
        ElementTree.fromstring(svg)
        assert "<title" in svg
        assert "<desc" in svg
    assert "Mean score by base task: table" in html
    assert "This board is empty" in read(client, BOARD.replace("openagi", empty_suite()) + "plots/")


def empty_suite() -> str:
    from tests.leaderboard.factories import make_suite as make_small_suite

    return make_small_suite().slug


def test_a_snapshot_is_a_csv_a_json_and_a_citation(client: Client):
    _, newest = make_board()
    table = client.get(f"{BOARD}snapshots/1.csv")
    assert table.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="planarena-openagi-1.csv"' in table.headers["Content-Disposition"]
    assert [line["planner"] for line in csv.DictReader(io.StringIO(table.content.decode()))] == ["planner of ada"]
    told = json.loads(read(client, f"{BOARD}newest.json"))
    assert told["snapshot"]["digest"] == newest.digest
    assert told["content"] == newest.content
    assert "@misc{planarena-openagi-2," in read(client, f"{BOARD}newest.bib")
    assert client.get(f"{BOARD}snapshots/9.csv").status_code == 404
    assert client.get(f"{BOARD}snapshots/1.exe").status_code == 404
    assert client.get("/boards/nothing/newest.csv").status_code == 404


def test_a_row_is_cited_from_the_snapshot_that_holds_it(client: Client):
    _, newest = make_board()
    address = re.search(r'href="([^"]+\.bib)">cite', read(client))[1]
    assert address.startswith(f"{BOARD}snapshots/2/rows/")
    assert "planner of ada on OpenAGI" in read(client, address)
    bea = newest.content["rows"][1]["evaluation"]
    assert client.get(f"{BOARD}snapshots/1/rows/{bea}.bib").status_code == 404


def test_a_file_that_did_not_change_is_304(client: Client):
    make_board()
    for address in (f"{BOARD}snapshots/1.csv", f"{BOARD}newest.json", f"{BOARD}feed.atom", f"{BOARD}plots/", "/"):
        tag = client.get(address).headers["ETag"]
        assert client.get(address, headers={"If-None-Match": tag}).status_code == 304


def test_feeds_tell_of_the_newest_evaluations_first(client: Client):
    make_board()
    running = make_planner(owner=make_user("eve"), name="under way")
    make_evaluation(planner=running, suite=Evaluation.objects.first().suite, state="running")
    for address in (f"{BOARD}feed.atom", "/feed.atom"):
        response = client.get(address)
        assert response.headers["Content-Type"].startswith("application/atom+xml")
        feed = ElementTree.fromstring(response.content)
        titles = [entry.findtext(f"{ATOM}title") for entry in feed.iter(f"{ATOM}entry")]
        assert titles == [
            "planner of bea on OpenAGI (released list): Overall 0.400",
            "planner of ada on OpenAGI (released list): Overall 0.700",
        ]
        for entry in feed.iter(f"{ATOM}entry"):
            assert entry.findtext(f"{ATOM}id").startswith("urn:uuid:")
            assert entry.find(f"{ATOM}link").get("href").startswith("http://testserver/evaluations/")
            assert entry.findtext(f"{ATOM}updated")
    assert f'href="{BOARD}feed.atom"' in read(client)


def test_rows_that_one_query_rendered_look_the_same_in_another_and_with_other_columns(client: Client):
    make_many(4)
    first = read(client)
    again = read(client, sort="-planner")
    forget_everything()
    assert read(client, sort="-planner") == again
    assert planners(again) == planners(first)[::-1]
    narrow = read(client, column="finished")
    forget_everything()
    assert read(client, column="finished") == narrow
    assert narrow.count('<svg class="interval"') == 0 < first.count('<svg class="interval"')


def test_rows_of_a_permanent_page_and_of_all_evaluations_are_not_those_of_the_board(client: Client):
    made = make_many(3)
    addresses = [(BOARD, {}), (BOARD, {"rows": "all"}), (f"{BOARD}snapshots/{made.number}/", {})]
    kept = [read(client, address, **query) for address, query in addresses]
    for (address, query), page in zip(addresses, kept, strict=True):
        forget_everything()
        assert read(client, address, **query) == page
