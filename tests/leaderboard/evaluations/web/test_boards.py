"""Boards as a reader asks for them: filters, pages and columns, plots, files and feeds."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse

from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation
from tests.leaderboard import factories as small
from tests.leaderboard.evaluations.web.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_results,
    make_suite,
    make_summary,
    make_user,
    planners,
    read,
)
from tests.memory import forget_everything

pytestmark = pytest.mark.django_db
BOARD = "/boards/openagi/"
ATOM = "{http://www.w3.org/2005/Atom}"


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


def test_board_shows_numbers_intervals_coverage_and_why_a_metric_is_missing(client: Client):
    _, snapshot = make_board()
    html = read(client, f"{BOARD}?column=overall&column=CLIP")
    assert "30 of 185 run" in html
    assert re.search(
        r'data-cell="shown-overall"><span class="value">0\.70</span> <span class="margin">± 0\.05</span>', html
    )
    assert 'data-cell="metric-overall">0.700</span>; 95 % interval 0.650 to 0.750<' in html
    assert "No task with the metric CLIP can run under this profile" in html
    assert snapshot.digest[:12] in html
    assert reverse("api:board", args=["openagi"]) in html


def test_the_address_chooses_order_columns_and_page(client: Client):
    make_many()
    first, second = read(client, BOARD), read(client, BOARD, page="2")
    assert len(planners(first)) == 50
    assert planners(second) == [f"planner {number}" for number in range(50, 55)]
    assert 'href="?page=2"' in first
    assert planners(read(client, BOARD, page="99")) == planners(second)
    assert len(planners(read(client, BOARD, per_page="20"))) == 20
    assert planners(read(client, BOARD, sort="overall"))[0] == "planner 54"
    assert headings(read(client, BOARD, column="BERT")) == ["Rank", "Planner", "BERT"]
    assert headings(read(client, BOARD, column="no-such-column")) == headings(first)
    sent = {"q": "", "usual_columns": "BERT", "column": "BERT", "sort": "-overall"}
    assert client.get(BOARD, sent).headers["Location"] == f"{BOARD}?sort=-overall"


def test_searches_and_ones_own_rows_keep_the_ranks_of_the_whole_board(client: Client):
    make_board()
    html = read(client, BOARD, q="bea")
    assert planners(html) == ["planner of bea"]
    assert re.search(r'data-cell="rank">2<', html)
    assert 'name="own"' not in html
    client.force_login(Evaluation.objects.get(submission__planner__name="planner of bea").submission.submitted_by)
    assert 'name="own"' in read(client, BOARD)
    assert planners(read(client, BOARD, own="1")) == ["planner of bea"]


def test_all_evaluations_are_ranked_among_each_other(client: Client):
    suite, _ = make_board()
    worse = Evaluation.objects.get(submission__planner__name="planner of ada").submission.planner
    make_evaluation(planner=worse, suite=suite, summary=make_summary(0.55))
    assert planners(read(client, BOARD)) == ["planner of ada", "planner of bea"]
    assert planners(read(client, BOARD, rows="all")) == ["planner of ada", "planner of ada", "planner of bea"]
    make_evaluation(planner=worse, suite=suite, summary=make_summary(0.1))
    assert len(planners(read(client, BOARD, rows="all"))) == 4, "the next one is not hidden by what was kept"


def test_evaluations_under_way_and_on_hold_stand_below_without_a_rank(client: Client):
    suite, _ = make_board()
    owner = make_user("eve")
    for state in ("running", "on_hold"):
        make_evaluation(planner=make_planner(owner=owner, name=f"is {state}"), suite=suite, state=state)
    ranked, waiting = read(client, BOARD).split("Pending evaluations")
    assert "is running" not in ranked
    assert planners(waiting) == ["is running", "is on_hold"]


def test_what_did_not_change_is_304_and_a_change_or_another_reader_is_not(client: Client):
    suite, _ = make_board()
    for address in (BOARD, f"{BOARD}snapshots/1/", f"{BOARD}newest.json", f"{BOARD}feed.atom", f"{BOARD}plots/", "/"):
        tag = client.get(address).headers["ETag"]
        again = client.get(address, headers={"If-None-Match": tag})
        assert (again.status_code, again.headers["ETag"]) == (304, tag), address
    seen = {"If-None-Match": client.get(BOARD).headers["ETag"]}
    assert client.get(BOARD, {"sort": "overall"}, headers=seen).status_code == 200
    user = make_user("cleo")
    publish(make_evaluation(planner=make_planner(owner=user, name="better"), suite=suite, summary=make_summary(0.9)))
    changed = client.get(BOARD, headers=seen)
    assert planners(changed.content.decode())[0] == "better"
    client.force_login(user)
    own = client.get(BOARD, headers={"If-None-Match": changed.headers["ETag"]})
    assert (own.status_code, "private" in own.headers["Cache-Control"]) == (200, True)


def test_a_snapshot_keeps_its_address_and_says_that_it_is_past(client: Client):
    make_board()
    past = read(client, f"{BOARD}snapshots/1/")
    assert planners(past) == ["planner of ada"]
    assert "earlier snapshot of the board" in past
    assert "earlier snapshot of the board" not in read(client, f"{BOARD}snapshots/2/")
    assert client.get(f"{BOARD}snapshots/3/").status_code == 404


def test_a_board_under_other_conditions_has_an_address(client: Client):
    suite, _ = make_board()
    other = make_evaluation(planner=make_planner(owner=make_user("eve"), name="brief"), suite=suite, samples=2)
    publish(other)
    assert "brief" not in planners(read(client, BOARD))
    conditions = {"profile_digest": other.profile_digest, "split": "public", "samples": "2", "data_digest": ""}
    assert planners(read(client, BOARD, **conditions)) == ["brief"]
    assert client.get(BOARD, {"samples": "2"}).status_code == 404


def test_ticked_rows_lead_to_their_comparison(client: Client):
    make_board()
    html = read(client, BOARD)
    ticked = re.findall(r'name="e" value="([^"]+)" form="compare-rows"', html)
    assert len(ticked) == 2
    assert f'id="compare-rows" method="get" action="{reverse("compare:compare")}"' in html
    assert 'name="e"' not in read(client, "/")


def test_a_row_unfolds_into_exact_values_and_loads_causes_and_versions(client: Client):
    suite, _ = make_board()
    first, last = Evaluation.objects.order_by("finished")
    html = read(client, BOARD)
    fold = html.split(f'id="row-{last.pk}"')[1].split('<tr class="fold">')[1].split("</tr>")[0]
    assert "<dt>BERT</dt><dd>0.300; 95 % interval 0.250 to 0.350</dd>" in fold
    assert f'href="/compare/?e={first.pk}&amp;e={last.pk}">Compare with planner of ada' in fold
    assert f"rows/{last.pk}.bib" in fold
    assert 'class="fold"' not in read(client, "/")
    make_results(last, upto=60)
    make_evaluation(planner=last.submission.planner, suite=suite, summary=make_summary(0.55))
    part = read(client, f"{BOARD}rows/{last.pk}/")
    assert "<html" not in part
    assert re.search(r"<dt>[^<]+</dt><dd><a\s+href=\"/evaluations/[^\"]+\?why=[a-z_]+#results\">", part)
    assert re.findall(r'<span class="value">([^<]+)<', part) == ["0.55", "0.40"]
    Evaluation.objects.filter(pk=last.pk).update(hidden_at=last.finished, hidden_reason="a copy")
    assert client.get(f"{BOARD}rows/{last.pk}/").status_code == 404


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
    assert "no cost plots" in html
    assert "style=" not in html
    svgs = re.findall(r"<svg class=\"plot .*?</svg>", html, re.S)
    assert svgs
    for svg in svgs:
        ElementTree.fromstring(svg)
        assert "<title" in svg
        assert "<desc" in svg
    assert "Mean score by base task: table" in html
    assert "This board is empty" in read(client, f"/boards/{small.make_suite().slug}/plots/")


def test_a_snapshot_is_a_csv_a_json_and_a_citation_also_of_a_row(client: Client):
    _, newest = make_board()
    table = client.get(f"{BOARD}snapshots/1.csv")
    assert table.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="planarena-openagi-1.csv"' in table.headers["Content-Disposition"]
    assert [line["planner"] for line in csv.DictReader(io.StringIO(table.content.decode()))] == ["planner of ada"]
    told = json.loads(read(client, f"{BOARD}newest.json"))
    assert (told["snapshot"]["digest"], told["content"]) == (newest.digest, newest.content)
    assert "@misc{planarena-openagi-2," in read(client, f"{BOARD}newest.bib")
    row = re.search(r'href="([^"]+\.bib)">cite', read(client, BOARD))[1]
    assert row.startswith(f"{BOARD}snapshots/2/rows/")
    assert "planner of ada on OpenAGI" in read(client, row)
    bea = newest.content["rows"][1]["evaluation"]
    for none in ("snapshots/9.csv", "snapshots/1.exe", f"snapshots/1/rows/{bea}.bib"):
        assert client.get(f"{BOARD}{none}").status_code == 404, none


def test_feeds_tell_of_the_newest_evaluations_first(client: Client):
    make_board()
    running = make_planner(owner=make_user("eve"), name="under way")
    make_evaluation(planner=running, suite=Evaluation.objects.first().suite, state="running")
    for address in (f"{BOARD}feed.atom", "/feed.atom"):
        response = client.get(address)
        assert response.headers["Content-Type"].startswith("application/atom+xml")
        entries = list(ElementTree.fromstring(response.content).iter(f"{ATOM}entry"))
        assert [entry.findtext(f"{ATOM}title") for entry in entries] == [
            "planner of bea on OpenAGI (released list): Overall 0.400",
            "planner of ada on OpenAGI (released list): Overall 0.700",
        ]
        for entry in entries:
            assert entry.findtext(f"{ATOM}id").startswith("urn:uuid:")
            assert entry.find(f"{ATOM}link").get("href").startswith("http://testserver/evaluations/")
            assert entry.findtext(f"{ATOM}updated")


def test_pages_from_rows_that_others_rendered_are_like_those_of_a_new_process(client: Client):
    made = make_many(4)
    snapshot = f"{BOARD}snapshots/{made.number}/"
    queries = ({}, {"sort": "-planner"}, {"column": "finished"}, {"rows": "all"})
    addresses = [*((BOARD, query) for query in queries), (snapshot, {})]
    kept = [read(client, address, **query) for address, query in addresses]
    for (address, query), page in zip(addresses, kept, strict=True):
        forget_everything()
        assert read(client, address, **query) == page, (address, query)
    assert planners(kept[1]) == planners(kept[0])[::-1]
    assert kept[2].count('<svg class="forest"') == 0 < kept[0].count('<svg class="forest"')
