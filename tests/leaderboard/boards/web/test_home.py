"""The arena's page: planners on all suites, and a line for each suite."""

import re
from typing import Any

import pytest
from django.test import Client

from leaderboard.boards.models import Snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, Submission, TaskResult, Visibility
from leaderboard.planners.models import Planner
from tests.leaderboard.boards.rows import METRICS, row
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_user,
    read,
)
from tests.leaderboard.suites import EXECUTED, JUDGED
from tests.memory import forget_everything

pytestmark = pytest.mark.django_db
BE_FIRST = "be the first"
LONG = "a-planner-with-an-unreasonably-long-name/<b>that</b>-no-place-breaks-and-goes-on-for-eighty"[:80]


def make_suite(slug: str, *, tasks: int = 4, kind: dict[str, Any] = JUDGED) -> Suite:
    suite = Suite.objects.create(
        slug=slug, title=f"The {slug}", version="1", digest=slug.ljust(64, "0"), metrics=METRICS,
        description=f"What {slug} measures. And more.", **kind,
    )  # fmt: skip
    Task.objects.bulk_create(
        Task(suite=suite, key=str(number), position=number, text="do it", structure="chain", metric="judge")
        for number in range(tasks)
    )
    return suite


def own(planner: str, *, overall: float | None = 0.5, **fields: Any) -> dict[str, Any]:
    return row(planner, overall=overall, **{"kind": "endpoint", **fields})


def make_board(suite: Suite, rows: list[dict[str, Any]]) -> Snapshot:
    """A snapshot with these rows, whose evaluations do not exist."""
    content = {"rows": rows, "coverage": {"run": 3, "total": 4}, "summary": {"leaders": min(1, len(rows))}}
    return Snapshot.objects.create(
        suite=suite, number=1, profile="none", profile_digest="", split="all", samples=1,
        stored=content, digest=f"{suite.slug}-{len(rows)}".ljust(64, "0"),
    )  # fmt: skip


def table(page: str) -> list[list[str]]:
    """The cells of the matrix as text, without its heading."""
    rows = re.findall(r"<tr.*?</tr>", page[page.index("<tbody>") : page.index("</table>")], re.S)
    return [[text(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", one, re.S)] for one in rows]


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def line_of(page: str, title: str) -> str:
    """The line of a suite as text."""
    lines = re.findall(r"<li>\s*<div class=\"suite-name\".*?</li>", page, re.S)
    return next(text(line) for line in lines if title in line)


def test_an_empty_arena_says_what_to_do_in_three_steps(client: Client):
    for slug in ("one", "two", "three"):
        make_suite(slug)
    page = read(client, "/")
    assert "Three steps to the first row" in page
    assert page.count("<table") == 0
    assert BE_FIRST not in page, "said once, above"
    assert line_of(page, "The one") == "The one judged What one measures. 4 tasks · 0 ranked planners"


def test_without_suites_the_page_says_so(client: Client):
    assert "No suites are registered" in read(client, "/")


def test_planners_are_rows_and_suites_are_columns(client: Client):
    metrics = {"overall": {"mean": 0.5, "low": 0.4, "high": 0.6, "tasks": 3}}
    make_board(
        make_suite("one"),
        [
            own("x", metrics=metrics, rank=1, rank_low=1, rank_high=2),
            own("y", overall=0.4, rank=2, rank_low=1, rank_high=2),
            own("z", overall=None, rank=None, rank_low=None, rank_high=None),
        ],
    )
    make_board(make_suite("two"), [own("y", overall=0.7)])
    page = read(client, "/")
    assert table(page) == [
        ["x endpoint · by ada", "0.500 rank 1\N{EN DASH}2", "— not on this board"],
        ["y endpoint · by ada", "0.400 rank 1\N{EN DASH}2", "0.700 rank 1"],
        ["z endpoint · by ada", "— no value for Overall", "— not on this board"],
    ]
    assert "95 % interval 0.400 to 0.600" in page
    assert [cells[0][0] for cells in table(read(client, "/", sort="-two"))] == ["y", "x", "z"]
    assert '<th scope="row">' in page
    assert page.count('<th scope="col"') == 3
    assert page.count('aria-sort="descending"') == 1
    assert "2 ranked: board of The one" in text(page).replace(" :", ":")


def test_only_planners_that_nobody_beats_are_shaded_and_none_where_no_planner_is_beaten(client: Client):
    apart = [own("x", rank_low=1, rank_high=1), own("y", rank=2, rank_low=2, rank_high=2, overall=0.2)]
    make_board(make_suite("one"), apart)
    make_board(make_suite("two"), [own("x", rank_high=2), own("y", rank=2, rank_low=1, rank_high=2, overall=0.2)])
    assert read(client, "/").count('class="best"') == 1


def test_anchors_are_reference_lines_that_can_be_hidden(client: Client):
    gold = row("gold", kind="bundled", strategy="gold", rank=None, rank_low=None, rank_high=None, overall=0.9)
    make_board(make_suite("one"), [gold, own("x", overall=0.3)])
    rows = table(read(client, "/"))
    assert [cells[0] for cells in rows] == ["x endpoint · by ada", rows[1][0], "gold"]
    assert rows[1][0].startswith("Reference lines")
    assert rows[2] == ["gold", "0.900"]
    assert [cells[0] for cells in table(read(client, "/", reference="hide"))] == ["x endpoint · by ada"]


def test_anchors_alone_are_no_leaders(client: Client):
    make_board(make_suite("one"), [row("gold", kind="bundled", strategy="gold", rank=None)])
    page = read(client, "/")
    assert BE_FIRST in line_of(page, "The one")
    assert "No planner has a row yet" in page


def test_views_show_cost_reliability_and_changes(client: Client):
    spent = {
        "usage": {"seconds": 1.4, "prompt_tokens": 800.0, "completion_tokens": 12.0},
        "cost": {"usd": 0.0012, "prompt_price": 1.0, "completion_price": 2.0},
        "reliability": {
            "consistency": {"mean": 0.9, "low": 0.8, "high": 1.0},
            "robustness": {"mean": 0.7, "low": 0.6, "high": 0.8},
        },
    }
    make_board(make_suite("one"), [own("x", **spent), own("y", overall=0.1)])
    cells = {view: [cells[1] for cells in table(read(client, "/", view=view))] for view in ("cost", "reliability")}
    assert cells == {
        "cost": ["$0.0012 812 tokens · 1.4 s", "— not reported"],
        "reliability": ["0.900 consistency, robustness 0.700", "— not measured"],
    }
    changes = read(client, "/", view="changes")
    assert "None of these planners has been published in two versions" in changes
    assert [cells[1] for cells in table(changes)] == ["— no earlier version on this board"] * 2


def test_a_view_without_figures_says_why(client: Client):
    make_board(make_suite("one"), [own("x")])
    assert "No planner has a reliability profile yet" in text(read(client, "/", view="reliability"))


def test_ranks_across_suites_are_a_column_by_choice(client: Client):
    rows = [own("x"), own("y", rank=2, rank_low=2, rank_high=2, overall=0.4)]
    make_board(make_suite("one"), [*rows, own("z", rank=3, rank_low=3, rank_high=3, overall=0.1)])
    make_board(make_suite("two"), rows)
    assert "Across suites" not in read(client, "/")
    page = read(client, "/", across="1")
    assert [cells[:2] for cells in table(page)] == [
        ["x endpoint · by ada", "1"],
        ["y endpoint · by ada", "2"],
        ["z endpoint · by ada", "— no rank across suites"],
    ]
    assert "ranks the 2 planners that have a rank on all of 2 suites (The one, The two)" in text(page)
    assert "No scores are averaged." in text(page)


def test_without_suites_in_common_there_are_no_ranks_across_suites(client: Client):
    make_board(make_suite("one"), [own("x")])
    assert "No two planners have a rank on two suites in common" in text(read(client, "/", across="1"))


def test_a_line_says_who_leads_and_what_is_being_computed(client: Client):
    suite = make_suite("one")
    make_board(make_suite("two"), [own("x")])
    assert line_of(read(client, "/"), "The one").endswith("Open for submissions: be the first .")
    planner = make_planner(owner=make_user("ada"), name="under way")
    conditions = {"profile": "none", "profile_digest": "", "split": "all", "samples": 1, "tasks_total": 4}
    running = make_evaluation(planner=planner, suite=suite, state="running", **conditions)
    make_evaluation(planner=planner, suite=suite, state="queued", **conditions)
    for task in Task.objects.filter(suite=suite)[:3]:
        TaskResult.objects.create(evaluation=running, task=task, outcome="scored", score=1.0)
    found = line_of(read(client, "/"), "The one")
    assert "under way is being evaluated: 3 of 4 tasks. 2 evaluations in progress." in found
    make_board(suite, [own("x"), own("y", rank=2, overall=0.4)])
    found = line_of(read(client, "/"), "The one")
    assert "4 tasks · 2 ranked planners The board with 2 ranked planners." in found
    assert "2 evaluations in progress" in found


def test_the_boards_with_the_most_ranked_planners_answer_the_heading_once(client: Client):
    for number, slug in enumerate(("one", "two", "three", "four")):
        rows = [own(f"{slug}{place}", rank=place) for place in range(1, number + 2)]
        make_board(make_suite(slug), rows)
    page = read(client, "/")
    answers = re.findall(r'<li><a class="suite-title".*?</li>', page, re.S)
    assert [text(one).split(":")[0].strip() for one in answers] == ["The four", "The three", "The two"]
    assert "two1" in text(answers[2])
    assert line_of(page, "The four").endswith("The board with 4 ranked planners.")
    assert "one1 is the only ranked planner" in line_of(page, "The one")


def test_private_evaluations_are_not_in_progress(client: Client):
    planner = make_planner(owner=make_user("ada"), name="secret one")
    make_evaluation(planner=planner, suite=make_suite("one"), state="running")
    Submission.objects.update(visibility=Visibility.PRIVATE)
    client.force_login(planner.owner)
    page = read(client, "/")
    assert "secret one" not in page
    assert "Three steps" in page


def test_an_evaluation_that_waits_for_its_owner_is_not_in_progress(client: Client):
    planner = make_planner(owner=make_user("ada"), name="held")
    make_evaluation(
        planner=planner, suite=make_suite("one"), state="on_hold", reason="infra_faults", reason_text="A fault."
    )
    assert "held" not in read(client, "/")


def test_the_tag_changes_with_progress_and_not_without(client: Client):
    suite = make_suite("one")
    tag = client.get("/").headers["ETag"]
    assert client.get("/", headers={"If-None-Match": tag}).status_code == 304
    make_evaluation(planner=make_planner(owner=make_user("ada"), name="new"), suite=suite, state="running")
    assert client.get("/", headers={"If-None-Match": tag}).status_code == 200


def test_names_are_escaped_and_whole(client: Client):
    make_board(make_suite("one"), [own(LONG)])
    page = read(client, "/")
    assert "<b>that</b>" not in page
    assert LONG in page.replace("&lt;", "<").replace("&gt;", ">")


@pytest.fixture
def crowd() -> list[Suite]:
    """200 planners on eight suites; their evaluations exist on the first one."""
    suites = [make_suite(f"suite-{number}", kind=EXECUTED if number % 2 else JUDGED) for number in range(8)]
    owner = make_user("ada")
    planners = Planner.objects.bulk_create(
        Planner(owner=owner, name=f"planner {number}", kind="endpoint", endpoint_url="https://example.org/")
        for number in range(200)
    )
    for suite in suites:
        submissions = Submission.objects.bulk_create(Submission(planner=one, submitted_by=owner) for one in planners)
        made = Evaluation.objects.bulk_create(
            Evaluation(
                submission=submission, suite=suite, state="completed", state_since="2026-11-20T10:00Z", summary={},
                profile="none", profile_digest="", split="all", samples=1, tasks_total=4,
                finished="2026-11-20T10:00Z", reason="published", reason_text="Published.",
            )
            for submission in submissions
        )  # fmt: skip
        make_board(
            suite,
            [
                own(
                    f"planner {number}", rank=number + 1, rank_low=max(1, number - 3), rank_high=min(200, number + 5),
                    overall=1 - number / 200, evaluation=str(evaluation.pk),
                )
                for number, evaluation in enumerate(made)
            ],
        )  # fmt: skip
    return suites


@pytest.mark.parametrize("query", ["", "?view=changes", "?across=1&sort=across&page=4"])
def test_two_hundred_planners_take_few_queries_and_pages_are_bounded(
    client: Client, crowd: list[Suite], django_assert_max_num_queries, query: str
):
    client.force_login(make_user("reader"))
    forget_everything()
    with django_assert_max_num_queries(12):
        page = read(client, f"/{query}")
    assert len(table(page)) == 50
    assert "Page" in page
    assert page.count('href="/planners/') == 50
    with django_assert_max_num_queries(9):
        read(client, f"/{query}")
