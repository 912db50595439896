"""Plans of which the rules do not know whether they are right, from the board to the text that was not understood."""

import csv
import json
import re

import pytest
from django.test import override_settings
from django.utils.html import escape

from evaluator.core.records import ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.planners.bundled import GoldPlanner
from evaluator.scoring.metrics.statistics import wilson
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import read_record, server_store
from tests.fakes.launcher import reset_launcher
from tests.leaderboard.boards.signing.boards import mismatches, verified
from tests.leaderboard.evaluations.web.factories import read
from tests.leaderboard.factories import make_record, make_submission
from tests.leaderboard.planning import REAL, WANTED, make_clumsy_evaluation, make_questions_undecided, run_evaluation
from tests.leaderboard.planning import make_toolmini as toolmini
from tests.leaderboard.platform.api.helpers import ApiClient, lease_request, worker_client

pytestmark = pytest.mark.django_db
UNDECIDED = 42
"""Requests of toolmini with a question or a prompt, of 120."""
RANGE = "0.650 \N{EN DASH} 1.000"
IN_WORDS = "0.650, up to 1.000 if the undecided are right"
"""In the tooltip, for screen readers and among the exact values of the row."""


@pytest.fixture(scope="module")
def made(module_rows) -> Evaluation:
    """The gold plans, judged by rules that understand no question."""
    reset_launcher()
    with override_settings(EVALUATOR=REAL), pytest.MonkeyPatch.context() as patched:
        found = make_submission(suite=toolmini(), name="gold", bundled_name="controlllm/beam").evaluations.get()
        make_questions_undecided(patched)
        return run_evaluation(found, planner=GoldPlanner(suite_of("toolmini")))


@pytest.fixture
def evaluation(made, settings) -> Evaluation:
    settings.EVALUATOR = REAL
    return Evaluation.runs.get(pk=made.pk)


def test_the_board_shows_a_range_the_share_and_ranks_by_the_lower_end(client, evaluation):
    make_clumsy_evaluation()
    html = read(client, "/boards/toolmini/")
    assert re.findall(r'class="planner-name"[^>]*>([^<]+)<', html) == ["clumsy", "gold"]
    assert (html.count(IN_WORDS), html.count("35.0 % undecided"), html.count('class="undecided"')) == (3, 1, 1)
    assert "up to 1.00 if the undecided are right</span>" in html
    assert "0.975</span>" in html
    assert "only if its lower end beats the other's upper end" in re.sub(r"\s+", " ", html)
    # The clumsy planner has 117 of 120, gold from 78 to 120: which is better depends on the undecided tasks.
    rows = {row["planner"]: row for row in Snapshot.objects.order_by("-number")[0].content["rows"]}
    ranges = {name: (row["rank_low"], row["rank_high"]) for name, row in rows.items()}
    assert ranges == {"clumsy": (1, 2), "gold": (1, 2)}
    value = rows["gold"]["metrics"]["SE"]
    assert (value["low"], value["high"]) == (wilson(successes=78, total=120).low, wilson(successes=120, total=120).high)
    assert not re.search(r'id="sort-(undecided|SE_low|SE_high)"', html)


def test_files_of_the_board_have_both_ends(client, evaluation):
    number = Snapshot.objects.get().number
    (row,) = csv.DictReader(read(client, f"/boards/toolmini/snapshots/{number}.csv").splitlines())
    assert [float(row[key]) for key in ("SE_mean", "SE_upper", "undecided_mean", "SE_high_mean")] == [0.65, 1, 0.35, 1]
    told = json.loads(read(client, f"/boards/toolmini/snapshots/{number}.json"))
    (column,) = [column for column in told["suite"]["metrics"] if column["undecided"]]
    metrics = told["content"]["rows"][0]["metrics"]
    assert (metrics[column["key"]]["mean"], metrics[column["undecided"]]["mean"]) == (0.65, 0.35)


def test_ranges_and_shares_are_signed_and_a_changed_share_is_found(evaluation):
    assert mismatches(verified("/boards/toolmini/")) == []
    snapshot = Snapshot.objects.get()
    assert snapshot.content["rows"][0]["metrics"]["undecided"]["mean"] == UNDECIDED / 120
    snapshot.content["rows"][0]["metrics"]["undecided"]["mean"] = 0.1
    Snapshot.objects.filter(pk=snapshot.pk).update(stored=snapshot.content)
    assert any("its figures or facts were changed" in text for text in mismatches(verified("/boards/toolmini/")))


def test_the_evaluation_page_shows_the_range_also_by_group_and_filters_by_undecided(client, evaluation):
    path = f"/evaluations/{evaluation.pk}/"
    html = read(client, path)
    assert RANGE in html
    groups = html.split("<caption>SE by group")[1].split("</table>")[0]
    ranges = re.findall(r'class="open" x1="0.0%" x2="100.0%"', groups)
    assert len(ranges) == groups.count('class="value">0.000 \N{EN DASH} 1.000') == 3
    undecided, solved = (read(client, f"{path}?SE={value}") for value in ("undecided", "1"))
    assert f"{UNDECIDED} of 120 shown" in re.sub(r"\s+", " ", undecided)
    assert "SE undecided" in undecided
    assert "SE undecided" not in re.sub(r"(?s)<form.*?</form>", "", solved)
    listed = ApiClient().get(f"evaluations/{evaluation.pk}/results/", undecided="1", page_size=100).json()["results"]
    assert [row["indicators"]["undecided"] for row in listed] == [1.0] * UNDECIDED


def test_the_task_page_says_which_text_was_not_understood(client, evaluation):
    html = read(client, f"/evaluations/{evaluation.pk}/tasks/QA/0/")
    given = read_record(
        digest=TaskResult.objects.get(evaluation=evaluation, task__key="QA/0").record_digest,
        store=server_store(split="public"),
    ).pairs[0]
    text = re.sub(r"\s+", " ", html)
    assert f"“{escape(given.given)}” may or may not mean “{escape(WANTED)}”." in text
    assert "The rules are undecided: “wanted” is not in the lexicon." in text
    assert "The network was not asked" in text
    assert "<b>wanted</b>" not in html
    assert 'class="mark undecided">SE undecided</span>' in html
    assert "By the rules alone" not in html
    assert "undecided</span></dd>" in html


def test_the_api_gives_the_pairs_and_the_share_of_each_group_and_hides_pairs_like_goals(client, evaluation, settings):
    path, page = f"evaluations/{evaluation.pk}/results/QA/0/", f"/evaluations/{evaluation.pk}/tasks/QA/0/"
    record = ApiClient().get(path).json()["record"]
    (pair,) = record["pairs"]
    assert (pair["kind"], pair["wanted"], pair["verdict"]) == ("question", WANTED, "undecided")
    groups = ApiClient().get(f"evaluations/{evaluation.pk}/breakdowns/").json()["indicators"]
    (found,) = [row for row in groups if (row["facet"], row["value"], row["indicator"]) == ("group", "QA", "SE")]
    assert (found["mean"], found["undecided"]) == (0.0, 1.0)
    assert escape(WANTED) in read(client, page)
    settings.SPLIT = "hidden"
    assert escape(WANTED) not in read(client, page)
    assert ApiClient().get(path).json()["record"]["pairs"] == []


def test_the_comparison_holds_for_every_way_to_settle_the_undecided(client, evaluation):
    other = make_clumsy_evaluation()
    html = re.sub(r"\s+", " ", read(client, f"/compare/?e={other.pk}&e={evaluation.pk}"))
    assert re.search(rf'<td class="right nowrap begins">{RANGE}</td>', html)
    assert "a p-value is the largest of all ways" in html
    assert "Undecided tasks leave open whether A (clumsy) or B (gold) scores higher in SE" in html
    assert "42 undecided" in html
    assert "SE, lower end" not in html


PAIR = {"kind": "k", "wanted": "w", "given": "g", "why": "y"}
CONTRADICTIONS = [
    ({"indicators": {"SE": 1.0, "undecided": 1.0}}, "its SE is 1.0, although it is undecided"),
    ({"indicators": {"undecided": 2.0}}, "its undecided is 2.0; it is from 0 to 1"),
    ({"pairs": [PAIR] * 13}, "at most 12"),
    ({"pairs": [PAIR | {"verdict": "perhaps"}]}, "verdict"),
    ({"pairs": [{"kind": "k", "wanted": "w"}]}, "given"),
]


def test_a_record_that_contradicts_itself_is_refused(own_store, launcher):
    made = make_submission(suite=toolmini()).evaluations.get()
    Evaluation.runs.filter(pk=made.pk).update(state=EvaluationState.LAUNCHING)
    told = worker_client().post("worker/lease/", lease_request()).json()
    for change, said in CONTRADICTIONS:
        indicators = {"SE": 0.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0} | change.get("indicators", {})
        record = make_record(told["tasks"][0], suite="toolmini", score=indicators["SE"]).model_dump(mode="json")
        body = {"results": [record | {"samples": [], **change, "indicators": indicators}]}
        answer = ApiClient(told["token"]).post(f"worker/attempts/{told['attempt']}/results/", body)
        assert answer.status_code == 400
        assert said in answer.content.decode()
    assert not TaskResult.objects.filter(evaluation=made).exists()


def test_long_texts_of_a_pair_are_cut():
    sent = {"kind": "k", "wanted": "w" * 5000, "given": "g", "why": "y" * 301}
    record = make_record("QA/0", suite="toolmini").model_dump(mode="json") | {"pairs": [sent]}
    (pair,) = ResultRecord.model_validate(record).pairs
    assert (len(pair.wanted), len(pair.why), pair.wanted[-1]) == (300, 300, "…")
