"""toolmini-abstain: requests that no plan can meet are what they claim to be, and abstaining is scored."""

import re

import pytest

from evaluator.controlllm.benchmarks import measure_search
from evaluator.controlllm.toolbench.abstain_requests import Need, abstain_requests
from evaluator.controlllm.toolbench.hidden_abstain import hidden_abstain_requests
from evaluator.controlllm.toolbench.judging import ToolJudge
from evaluator.controlllm.toolbench.plan_scores import score_given
from evaluator.core.planner import PlannerReply
from evaluator.core.plans_file import read_plans
from evaluator.core.records import Outcome, PlannerCall
from evaluator.core.suites.base import ABSTENTION
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.judgement import JudgementEvaluator
from evaluator.planners.bundled import bundled_planner
from evaluator.scoring.metrics.aggregate import TaskScore, summarise
from tests.rings import usual

SUITE = suite_of("toolmini-abstain")
PUBLIC = abstain_requests()
SEEDS = ("a secret of the tests", "another one", "fünf")
SOLVABLE = [task for task in SUITE.tasks if task.need is Need.SOLVABLE]
UNSOLVABLE = [task for task in SUITE.tasks if task.need is not Need.SOLVABLE]
EMPTY = {"steps": [], "answers": []}


class Answers:
    """Gives the same answer to every request, or the answer of a function of its task."""

    name = "answers"

    def __init__(self, answer):
        self._answer = answer

    def plan(self, request):
        answer = self._answer(request.task.id) if callable(self._answer) else self._answer
        return PlannerReply(plan=answer, call=PlannerCall(seconds=0.0))


def records(planner, suite=SUITE):
    keys = [task.key for task in suite.tasks]
    return list(JudgementEvaluator(suite=suite, judge=ToolJudge()).run(planner=planner, tasks=keys))


def figures(found):
    metrics = summarise(suite=SUITE, results=[TaskScore.of(record) for record in found])["metrics"]
    return {key: value["mean"] for key, value in metrics.items()}


def words_of(text):
    return set(re.findall(r"[a-z]+", text.lower()))


# --- the requests ---


def requests_of(seed):
    return PUBLIC if seed is None else hidden_abstain_requests(seed=seed)


@pytest.mark.parametrize("seed", usual([None, *SEEDS], of=(None, SEEDS[0])))
def test_no_word_and_no_length_tells_what_can_be_met(seed):
    """The best rule of the form "the request has this word" or "it is longer than this", in either direction."""
    rules = {}
    found = requests_of(seed)
    bad = [request.need is not Need.SOLVABLE for request in found]
    for word in {word for request in found for word in words_of(request.text)}:
        rules[word] = [word in words_of(request.text) for request in found]
    for length in {len(request.text) for request in found}:
        rules[length] = [len(request.text) > length for request in found]
    for number in range(4):
        rules[f"{number} files"] = [len(request.files) > number for request in found]
    best = max(abs(sum(a == b for a, b in zip(rule, bad, strict=True)) / 240 - 0.5) for rule in rules.values())
    assert best <= 0.13


# --- scoring ---


def test_gold_is_perfect_and_says_why_it_abstains():
    found = records(bundled_planner(name="gold", suite=SUITE))
    mean = figures(found)
    assert (mean["accuracy"], mean["false_refusals"], mean["misses"], mean["SE"]) == (1.0, 0.0, 0.0, 1.0)
    for record in found:
        abstained = isinstance(record.plan_received, dict) and record.plan_received.get("reason")
        assert bool(abstained) == (record.metric == ABSTENTION)


@pytest.mark.parametrize("answer", [None, {"plan": None, "reason": "I cannot."}, EMPTY, []])
def test_who_always_abstains_misses_none_and_refuses_all(answer):
    mean = figures(records(Answers(answer)))
    assert (mean["accuracy"], mean["false_refusals"], mean["misses"]) == (0.5, 1.0, 0.0)
    assert (mean["SE"], mean["NR"]) == (0.0, 0.0)


def test_doing_nothing_abstains_always():
    mean = figures(records(bundled_planner(name="no-op", suite=SUITE)))
    assert (mean["accuracy"], mean["false_refusals"], mean["misses"]) == (0.5, 1.0, 0.0)


def test_who_never_abstains_refuses_none_and_misses_all():
    call = {"id": "s1", "tool": "text_to_image", "inputs": {"text": "a dog"}, "outputs": {"image": "s1.image"}}
    mean = figures(records(Answers({"steps": [call], "answers": ["s1.image"]})))
    assert (mean["false_refusals"], mean["misses"]) == (0.0, 1.0)
    assert mean["accuracy"] == mean["SE"] / 2 < 0.05


def test_an_unreadable_plan_does_not_abstain():
    found = records(Answers("[I would rather not"))
    assert {record.outcome for record in found} == {Outcome.PLANNER_FAULT}
    mean = figures(found)
    assert (mean["accuracy"], mean["false_refusals"], mean["misses"]) == (0.0, 0.0, 1.0)


def test_the_score_of_a_record_is_its_accuracy():
    for planner in ("gold", "no-op", "random-valid"):
        for record in records(bundled_planner(name=planner, suite=SUITE)):
            assert record.score == record.indicators["accuracy"]
            assert record.explanations["accuracy"]


def test_only_solvable_requests_count_in_the_columns_of_the_other_suites():
    found = figures(records(Answers(lambda key: None if SUITE.task(key).metric == "SE" else EMPTY)))
    assert found["length"] == 0.0
    metrics = summarise(suite=SUITE, results=[TaskScore.of(record) for record in records(Answers(EMPTY))])["metrics"]
    assert {key: value["tasks"] for key, value in metrics.items() if key in {"accuracy", "misses", "SE", "IR"}} == {
        "accuracy": 240, "misses": 120, "SE": 120, "IR": 120,
    }  # fmt: skip


def test_a_file_of_plans_with_null_plans_is_scored():
    lines = [f'{{"task": "{task.key}", "plan": null, "reason": "no"}}' for task in UNSOLVABLE]
    report = score_given(suite=SUITE, plans=read_plans("\n".join(lines).encode()).plans)
    metrics = report.summary["metrics"]
    assert (metrics["accuracy"]["mean"], metrics["misses"]["mean"]) == (0.5, 0.0)
    assert len(report.missing) == 120
    assert sum(row["count"] for row in report.by_level.values()) == 120
    assert sum(row["count"] for row in report.by_group.values()) == 120, "only requests that plans can meet"


def test_the_benchmark_of_searches_leaves_out_what_no_plan_can_meet():
    report = measure_search(suite=SUITE, gold=True, strategies=["greedy"])
    assert set(report.left_out) == {task.key for task in UNSOLVABLE}
    assert report.figures["greedy"].tasks == 120


# --- the hidden split ---


@pytest.mark.parametrize("seed", usual(SEEDS, of=SEEDS[:1]))
def test_hidden_requests_have_the_keys_and_kinds_of_the_public_ones_in_other_words(seed):
    hidden = suite_on_split(suite=SUITE, split="hidden", hidden_seed=seed)
    assert sorted((task.key, task.need, task.metric) for task in hidden.tasks) == sorted(
        (task.key, task.need, task.metric) for task in SUITE.tasks
    )
    texts = {task.text for task in hidden.tasks}
    assert len(texts) == 240
    assert texts.isdisjoint(task.text for task in SUITE.tasks)
    assert {record.score for record in records(bundled_planner(name="gold", suite=hidden), suite=hidden)} == {1.0}
