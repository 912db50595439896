"""What "I cannot" earns on every suite: an abstention where a request can and cannot be met, and a refusal in words."""

import json
from dataclasses import dataclass

import pytest

from evaluator.controlllm.toolbench.judging import ToolJudge
from evaluator.controlllm.toolbench.plan_scores import score_given
from evaluator.controlllm.toolbench.tasks import with_outage
from evaluator.core.planner import PlannerReply
from evaluator.core.plans.abstaining import WRONGLY
from evaluator.core.plans.model import plan_to_json
from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.records import Outcome, PlannerCall, Reason
from evaluator.core.suites.base import ABSTENTION
from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import StopReason
from evaluator.core.turns import TurnResponse
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.judgement import JudgementEvaluator
from evaluator.episodes.turns.interactive import step_by_step
from evaluator.execution.engine.store import LocalStore
from evaluator.openagi.season.suite import ENTRY as SEASON
from evaluator.rewards import ExecutedRewards
from evaluator.scoring.metrics.aggregate import TaskScore, counted
from evaluator.scoring.readability import is_readable
from tests.evaluator.episodes.turns.toy import Answers

REASON = {"plan": None, "reason": "No tool prints."}
ABSTENTIONS = {
    "null": None,
    "null plan": {"plan": None},
    "with a reason": REASON,
    "as text": json.dumps(REASON),
    "in a fence": f"```json\n{json.dumps(REASON)}\n```",
    "in prose": f"I see no way to do this.\n\n{json.dumps(REASON)}",
}
EMPTY = {
    "empty plan": {"steps": [], "answers": []},
    "empty plan as text": '{"steps": [], "answers": []}',
    "empty list": [],
    "empty list as plan": {"plan": []},
}
"""Plans with neither steps nor answers."""
# {a} and {b} are names of offered tools.
REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "I cannot do this with the given tools.",
    "No.",
    "Unfortunately, none of the available tools can do this.",
    "As an AI language model, I am unable to see images.",
    "There is no tool for this request: {a} and {b} cannot do it.",
    "I refuse.\n- {a}\n- {b}",
    "None of these: {a}, {b}.",
    "{a}, {b}\nSorry, I can\u2019t do this.",
    "Unable, {a}",
    "1. {a} (not suitable)\n2. {b} (unavailable)",
    "I abstain: no plan can meet the request.",
    "null",
)
UNREADABLE = {
    **{f"refusal {number}": text for number, text in enumerate(REFUSALS, start=1)},
    **{f"refusal {number} in a fence": f"```\n{text}\n```" for number, text in enumerate(REFUSALS, start=1)},
    "refusal as plan": {"plan": "I cannot."},
    "refusal of a chat": {"role": "assistant", "content": None, "refusal": "I can't help with that."},
    "message of a chat": {"role": "assistant", "content": "I can't help with that."},
    "error": {"error": "cannot"},
    "reason alone": {"reason": "no tool"},
    "abstain": {"abstain": True},
    "false": {"plan": False},
    "another reason": {"plan": None, "why": "no tool"},
    "a number as reason": {"plan": None, "reason": 5},
    "list of words": ["I cannot"],
    "empty text": "",
    "empty fence": "```\n```",
}
"""No explicit abstentions."""


@dataclass
class Says:
    """Gives one answer to every request."""

    answer: object
    alternatives: tuple[object, ...] = ()
    name: str = "says"

    def plan(self, request):
        answer, names = self.answer, [tool.name for tool in request.tools]
        if isinstance(answer, str) and "{a}" in answer:
            answer = answer.replace("{a}", names[0]).replace("{b}", names[1 % len(names)])
        return PlannerReply(plan=answer, call=PlannerCall(seconds=0.0), alternatives=self.alternatives)


def opened(slug, folder):
    """The evaluator of a suite, perhaps with an outage of tools (`+outage`) or of the season in turns."""
    base, _, form = slug.partition("+")
    entry = step_by_step(SEASON, caption="Image Captioning") if base == "openagi-season-turns" else None
    suite = suite_of(base) if entry is None else entry.build()
    episode = episode_of(base) if entry is None else entry.episode
    setting = Setting(
        profile="lilliput" if episode.executes else "", split=suite.conditions.splits[0],
        open_store=lambda: LocalStore(folder),
    )  # fmt: skip
    evaluator = episode.evaluator(suite=suite, setting=setting)
    return evaluator.on(with_outage(suite, frozenset(suite.catalogue.tools))) if form else evaluator


def some_tasks(suite):
    """The first task of each metric."""
    first = {}
    for task in suite.tasks:
        first.setdefault(task.metric, task.key)
    return list(first.values())


def values_in(record, *, suite):
    """By column, the value of a record in every ordered column of its metric, without weighted means."""
    return {
        column.key: counted(column=column, results=[TaskScore.of(record)])[0]
        for column in suite.metrics
        if column.ordered and not column.weights and column.metric in ("", record.metric)
        and (not column.tasks or record.task in column.tasks)
    }  # fmt: skip


def assert_worst(record, *, suite, but=()):
    values = values_in(record, suite=suite)
    columns = {column.key: column for column in suite.metrics}
    assert record.score == 0.0
    for key, value in values.items():
        worst = 0.0 if columns[key].higher_is_better else 1.0
        # Columns without a value of a fault do not count such tasks for any planner, and optional columns count only
        # results with their indicator.
        may_lack = columns[key].fault is None or columns[key].is_optional
        assert key in but or value == worst or (value is None and may_lack), (key, value)


JUDGED = ("toolmini", "toolmini+outage", "toolmini-abstain")
EXECUTED = ("openagi", "openagi-season", "toolworld", "toolworld+outage")
IN_TURNS = ("openagi-turns", "openagi-season-turns", "toolworld-turns", "lumos-mini", "arc-mini")
SUITES = (*JUDGED, *EXECUTED, *IN_TURNS)
WITH_INFEASIBLE = frozenset(
    {"toolmini+outage", "toolmini-abstain", "openagi-season", "toolworld+outage", "openagi-season-turns"}
)


@pytest.fixture(scope="module")
def evaluators(tmp_path_factory):
    """By name, made when they are first needed."""
    made = {}

    def get(slug):
        if slug not in made:
            made[slug] = opened(slug, tmp_path_factory.mktemp("store"))
        return made[slug]

    return get


@pytest.mark.parametrize("slug", SUITES)
def test_abstaining_is_right_where_no_plan_can_meet_the_request_and_worst_elsewhere(slug, evaluators):
    evaluator = evaluators(slug)
    suite = evaluator.suite
    keys = some_tasks(suite)
    infeasible = 0
    for name, answer in {**ABSTENTIONS, **EMPTY}.items():
        for record in evaluator.run(planner=Says(answer), tasks=keys):
            assert is_readable(outcome=record.outcome, reason=record.reason)
            if record.metric == ABSTENTION:
                infeasible += 1
                assert (record.outcome, record.score) == (Outcome.SCORED, 1.0), (name, record.reason_text)
                columns = {column.key: column for column in suite.metrics}
                for key, value in values_in(record, suite=suite).items():
                    best = 1.0 if columns[key].higher_is_better else 0.0
                    assert value in (None, best) or (columns[key].key, value) == ("actions_done", None), (name, key)
                continue
            assert_worst(record, suite=suite)
            if slug in JUDGED:
                assert record.explanations["SE"] == WRONGLY
            else:
                assert (record.outcome, record.reason) == (Outcome.PLANNER_FAULT, Reason.ABSTAINED), name
                assert record.reason_text == WRONGLY
    assert bool(infeasible) == (slug in WITH_INFEASIBLE)


@pytest.mark.parametrize("slug", SUITES)
def test_a_refusal_without_the_explicit_form_is_unreadable(slug, evaluators):
    evaluator = evaluators(slug)
    suite = evaluator.suite
    for name, answer in UNREADABLE.items():
        for record in evaluator.run(planner=Says(answer), tasks=some_tasks(suite)):
            found = (record.outcome, record.reason)
            assert found == (Outcome.PLANNER_FAULT, Reason.UNPARSABLE_PLAN), (name, record.task, record.reason_text)
            assert "cannot be read" in record.reason_text
            assert not is_readable(outcome=record.outcome, reason=record.reason)
            # An unreadable plan is wrong, but no refusal of a request that can be met.
            assert_worst(record, suite=suite, but=("false_refusals",))


def test_alternatives_beside_an_abstention_are_ignored(evaluators):
    evaluator = evaluators("toolmini")
    task = evaluator.suite.tasks[0]
    gold = plan_to_json(task.gold)
    for answer in (*ABSTENTIONS.values(), *EMPTY.values(), *UNREADABLE.values()):
        (record,) = evaluator.run(planner=Says(answer, (gold,)), tasks=[task.key])
        assert_worst(record, suite=evaluator.suite)
        (row,) = score_given(suite=evaluator.suite, plans={task.key: GivenPlan(answer, (gold,))}).rows
        assert row.indicators["SE_best"] == 0.0
    wrong = {"steps": [{**gold["steps"][0], "inputs": {}}], "answers": []}
    (record,) = evaluator.run(planner=Says(wrong, (None, gold)), tasks=[task.key])
    assert record.indicators["SE_best"] == 1.0
    (record,) = evaluator.run(planner=Says(wrong, (REASON,)), tasks=[task.key])
    assert record.indicators["SE_best"] == 0.0


def test_plans_files_are_scored_alike():
    suite = suite_of("toolmini-abstain")
    for answer in (*ABSTENTIONS.values(), *EMPTY.values(), *UNREADABLE.values()):
        plans = {key: GivenPlan(answer) for key in some_tasks(suite)}
        report = score_given(suite=suite, plans=plans)
        records = JudgementEvaluator(suite=suite, judge=ToolJudge()).run(planner=GivenPlans(plans), tasks=list(plans))
        scores = {record.task: record.score for record in records}
        for row in report.rows:
            assert row.indicators.get("accuracy", 0.0) == scores[row.task.key]


def test_rewards_of_abstentions_are_those_of_faults_where_the_request_can_be_met(evaluators):
    evaluator = evaluators("openagi-season")
    rewards = ExecutedRewards(evaluator, fault=-1.0)
    first = {evaluator.suite.task(key).metric: key for key in some_tasks(evaluator.suite)}
    infeasible, feasible = first[ABSTENTION], first["BERT"]
    for answer in (*ABSTENTIONS.values(), *EMPTY.values()):
        assert rewards.of([(feasible, answer), (infeasible, answer)]) == [-1.0, 1.0]
    for answer in UNREADABLE.values():
        if not (isinstance(answer, str) and "{a}" in answer):
            assert rewards.of([(feasible, answer), (infeasible, answer)]) == [-1.0, -1.0]


# --- planners that act in turns ---

TURNS = {
    "abstains": ({"plan": None}, Reason.ABSTAINED),
    "abstains with a reason": ({**REASON, "usage": {"prompt_tokens": 1}}, Reason.ABSTAINED),
    "stops at once": ({"stop": True}, Reason.ABSTAINED),
    "no action": ({"plan": {"steps": [], "answers": []}}, Reason.ABSTAINED),
    "refuses as text": ({"text": "I cannot help with that."}, Reason.UNPARSABLE_PLAN),
    "refuses as actions": ({"actions": "I cannot help with that."}, Reason.UNPARSABLE_PLAN),
    "refuses as plan": ({"plan": "I cannot help with that."}, Reason.UNPARSABLE_PLAN),
    "refuses as answer": ({"answer": "I'm sorry, I cannot help with that."}, Reason.UNPARSABLE_PLAN),
}


@pytest.mark.parametrize("form", TURNS)
@pytest.mark.parametrize("slug", IN_TURNS)
def test_turns_that_refuse_are_faults(slug, form, evaluators):
    evaluator, (reply, reason) = evaluators(slug), TURNS[form]
    planner = Answers(lambda _: TurnResponse.model_validate(reply))
    for record in evaluator.run(planner=planner, tasks=some_tasks(evaluator.suite)):
        if record.metric == ABSTENTION and reason is Reason.ABSTAINED:
            assert (record.outcome, record.score, record.indicators["ended"]) == (Outcome.SCORED, 1.0, 1.0)
            assert record.transcripts[0].stop is StopReason.ABSTAINED
        else:
            assert (record.outcome, record.reason) == (Outcome.PLANNER_FAULT, reason), record.reason_text
            assert_worst(record, suite=evaluator.suite)
        if form == "abstains with a reason":
            assert record.plan_received == REASON


def test_an_abstention_after_an_action_forgets_its_result(evaluators):
    evaluator = evaluators("lumos-mini")
    task = next(task for task in evaluator.suite.tasks if task.metric == "maths")
    replies = [{"actions": "R1 = Calculator(1 + 1)"}, REASON]
    planner = Answers(lambda request: TurnResponse.model_validate(replies[len(request.history)]))
    (record,) = evaluator.run(planner=planner, tasks=[task.key])
    assert (record.reason, record.transcripts[0].answer) == (Reason.ABSTAINED, None)


@pytest.mark.parametrize("answer", ["", "  "])
def test_an_empty_answer_without_an_action_abstains(answer, evaluators):
    evaluator = evaluators("lumos-mini")
    planner = Answers(lambda _: TurnResponse(answer=answer))
    for record in evaluator.run(planner=planner, tasks=some_tasks(evaluator.suite)):
        assert record.reason is Reason.ABSTAINED
        assert_worst(record, suite=evaluator.suite)


@pytest.mark.parametrize("value", [{"plan": None, "answer": None}, {"stop": False, "plan": None}, {"reason": "no"}, {}])
def test_a_turn_with_empty_fields_only_is_no_abstention(value):
    with pytest.raises(ValueError, match="has none of them"):
        TurnResponse.model_validate(value)
