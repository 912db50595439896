"""lumos-mini as a planner meets it: gold solutions, hidden tasks, hostile actions."""

import pytest

from evaluator.core import canonical_json
from evaluator.core.records import PlannerCall
from evaluator.core.suites.hidden import HiddenSeed, suite_on_split
from evaluator.core.suites.registry import suite_of, suite_with_digest
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.lumos.mini.draws import EACH
from evaluator.lumos.mini.groups import GROUPS
from evaluator.lumos.mini.suite import SLUG, first_version
from evaluator.planners.bundled import bundled_planner


@pytest.fixture(scope="module")
def setting():
    store = MemoryStore()
    return Setting(profile="lilliput", open_store=lambda: store)


def records_of(*, planner, tasks, setting):
    evaluator = episode_of(SLUG).evaluator(suite=suite_of(SLUG), setting=setting)
    return {record.task: record for record in evaluator.run(planner=planner, tasks=tasks)}


def test_gold_solves_every_public_task(setting, full):
    suite = suite_of(SLUG)
    keys = [f"{group}/{number}" for group in GROUPS for number in range(EACH if full else 3)]
    assert set(keys) <= {task.key for task in suite.tasks}
    records = records_of(planner=bundled_planner(name="gold", suite=suite), tasks=keys, setting=setting)
    assert [key for key, record in records.items() if record.score != 1] == []


def test_gold_solves_hidden_tasks_all_of_whose_texts_are_others(setting, full):
    suite = suite_of(SLUG)
    hidden = suite_on_split(suite=suite, split="hidden", hidden_seed="a secret")
    tasks = [f"{group}/{number}" for group in GROUPS for number in range(6 if full else 2)]
    on_hidden = Setting(
        profile=setting.profile, open_store=setting.open_store, split="hidden", hidden=HiddenSeed("a secret")
    )  # fmt: skip
    records = records_of(planner=bundled_planner(name="gold", suite=hidden), tasks=tasks, setting=on_hidden)
    assert sum(record.score == 1 for record in records.values()) >= len(tasks) - 1
    assert {task.text for task in hidden.tasks}.isdisjoint(task.text for task in suite.tasks)


class Scripted:
    """Answers the turns of a task with these responses, then stops."""

    name = "scripted"
    formulation = Formulation.INTEGRATED

    def __init__(self, *responses: dict[str, object]) -> None:
        self.responses = responses
        self.requests: list[TurnRequest] = []

    def turn(self, request: TurnRequest) -> TurnReply:
        self.requests.append(request)
        done = len(request.history)
        response = self.responses[done] if done < len(self.responses) else {"stop": True}
        return TurnReply(response=TurnResponse.model_validate(response), call=PlannerCall(seconds=0.0))


def only(records):
    (record,) = records.values()
    return record


@pytest.mark.parametrize(
    ("task", "actions", "says"),
    [
        ("pictures/0", "R1 = VQA([IMG7], Question: What colour is the star?)", "There is no picture 'IMG7'"),
        ("pictures/0", "R1 = VQA([IMG])", "missing: question"),
        ("pictures/0", "R1 = Calculator(1 + 1)", "Calculator is not offered for this task; there are: "),
        ("qa/0", "R1 = ParagraphRetrieve(Nowhere at all, Query: x)", "There is no article"),
        ("qa/0", "R1, R2, R3 = KnowledgeQuery(Anna)", "KnowledgeQuery has two results"),
        ("qa/0", "R1 = QA([], Question: Who?)", "context"),
        ("qa/0", f"R1 = KnowledgeQuery({'zebra ' * 50_000})", ""),
        ("web/0", "R1 = Click(/bought/W000?colour=red, buy now)", "The order is complete"),
        ("web/0", "R1 = Click(/item/../../etc/passwd, 1)", "A page is the result of Search or Click"),
        ("sql/0", "R1 = ATTACH DATABASE 'x' AS y", ""),
        ("sql/0", "R1 = SELECT * FROM people; R2 = DROP TABLE people", ""),
        ("maths/0", "R1 = Calculator(9 ** 9 ** 9)", ""),
    ],
)
def test_a_hostile_action_is_answered_with_a_sentence(task, actions, says, setting):
    record = only(records_of(planner=Scripted({"actions": actions}), tasks=[task], setting=setting))
    (turn, *_) = record.transcripts[0].turns
    told = " ".join([turn.error, *(action.error for action in turn.actions)])
    assert says in told
    assert record.score == 0


def test_planners_are_offered_the_tools_of_the_group_and_told_no_answer(setting):
    planner = Scripted({"stop": True})
    records_of(planner=planner, tasks=["web/0", "sql/0", "pictures/1"], setting=setting)
    offered = {request.task.id: {tool.name for tool in request.tools} for request in planner.requests}
    assert offered == {"web/0": {"Search", "Click"}, "sql/0": {"SQL"}, "pictures/1": {"VQA", "QA"}}
    for request in planner.requests:
        task = suite_of(SLUG).task(request.task.id)
        assert task.answer not in request.model_dump_json()


def test_a_purchase_that_meets_a_part_is_worth_a_part(setting):
    suite = suite_of(SLUG)
    gold = suite.task("web/0").gold
    steps = [f"R{place} = {step.tool}({next(iter(step.inputs.values()))})" for place, step in enumerate(gold.steps, 1)]
    record = only(records_of(planner=Scripted({"actions": "; ".join(steps)}), tasks=["web/0"], setting=setting))
    assert (record.score, record.indicators["reward"]) == (1.0, 1.0)
    record = only(records_of(planner=Scripted({"actions": steps[0]}), tasks=["web/0"], setting=setting))
    assert (record.score, record.indicators["reward"]) == (0.0, 0.0)


def test_rows_in_another_order_are_right_unless_the_gold_query_orders_them(setting):
    suite = suite_of(SLUG)
    ordered = next(t for t in suite.tasks if t.metric == "sql" and " ORDER BY " in t.answer and " DESC" in t.answer)
    grouped = next(t for t in suite.tasks if t.metric == "sql" and t.answer.endswith("GROUP BY place"))
    wrong = Scripted({"actions": f"R1 = {ordered.answer.replace(' DESC', ' ASC')}"})
    assert only(records_of(planner=wrong, tasks=[ordered.key], setting=setting)).score == 0
    turned = Scripted({"actions": f"R1 = {grouped.answer} ORDER BY place DESC"})
    assert only(records_of(planner=turned, tasks=[grouped.key], setting=setting)).score == 1


def test_the_hidden_tasks_of_version_1_can_still_be_drawn():
    """Seasons that were closed before version 2 are verified with them."""
    suite = suite_with_digest(SLUG, first_version().digest)
    assert (suite.version, suite_of(SLUG).version) == ("1", "2")
    tasks = suite.hidden_requests(suite, "a secret")
    described = [[task.key, task.text, str(getattr(task, "answer", "")), str(task.to_json())] for task in tasks]
    assert canonical_json.digest(described) == "ea6ac1dde933a9be275c2267c3b9d233e5ffb99c4fcdf6f40ff668c469be527a"
