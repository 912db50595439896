"""A planner that answers many requests together is asked so; what fails costs its own task."""

import threading

from evaluator.core.language_model import Completion, Failure, FailureKind, Usage
from evaluator.core.planner import PlannerError, PlannerReply
from evaluator.core.records import Outcome, PlannerCall, Reason
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.parts import PLANNER_CONCURRENCY, ask_all
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.scripted import ScriptedModel
from tests.fakes.strategies import FakeStrategy, asks_once

SUITE = suite_of("openagi")
TASKS = SUITE.tasks[:6]
NO_TIME = PlannerCall(seconds=0.0)


def context(task):
    return SUITE.context(task=task, offered=frozenset({"Image Denoising"}))


def asked(planner, *, context=context):
    found = list(ask_all(planner=planner, suite=SUITE, tasks=TASKS, context=context))
    assert sorted(task.key for task, *_ in found) == sorted(task.key for task in TASKS)
    return {task.key: (record, reply) for task, record, reply in found}


def answered(call):
    text = call.messages[-1].content
    if text == TASKS[2].text:
        return Failure(kind=FailureKind.UNAVAILABLE, message="It is closed.")
    return Completion(text="Image Denoising", usage=Usage(prompt_tokens=5, completion_tokens=2))


class Half:
    """Answers the first two requests, then breaks or ends."""

    name = "half"

    def __init__(self, *, error):
        self._error = error

    def plan(self, request):
        raise AssertionError("it is asked for all at once")

    def plan_all(self, requests):
        for index, _ in zip(range(2), requests, strict=False):
            yield index, PlannerReply(plan="A", call=NO_TIME)
        if self._error:
            raise ValueError("half way")


def test_a_strategy_is_asked_for_all_tasks_in_one_batch():
    model = ScriptedModel(answered)
    found = asked(StrategyPlanner(strategy=FakeStrategy(asks_once), model=model))
    assert len(model.calls) == len(TASKS)
    record, reply = found[TASKS[0].key]
    assert reply.plan == record.plan_received == "Image Denoising"
    assert record.planner_notes == {"raw": "Image Denoising"}
    assert record.planner.prompt_tokens == 5
    record, reply = found[TASKS[2].key]
    assert (record.outcome, record.reason, reply) == (Outcome.INFRA_FAULT, Reason.ENDPOINT_UNAVAILABLE, None)


def test_what_a_planner_answered_before_it_broke_is_kept():
    for planner, says in ((Half(error=True), "ValueError: half way"), (Half(error=False), "neither answered")):
        found = asked(planner)
        assert [found[task.key][0].plan_received for task in TASKS[:2]] == ["A", "A"]
        lost = [found[task.key][0] for task in TASKS[2:]]
        assert {record.reason for record in lost} == {Reason.INTERNAL_ERROR}
        assert all(says in record.reason_text for record in lost)


def test_a_task_whose_request_cannot_be_made_costs_no_other():
    def broken(task):
        if task is TASKS[1]:
            raise KeyError("a defect")
        return context(task)

    found = asked(
        StrategyPlanner(strategy=FakeStrategy(asks_once), model=ScriptedModel(lambda call: "A")), context=broken
    )
    assert found[TASKS[1].key][0].reason is Reason.INTERNAL_ERROR
    assert [found[task.key][1].plan for task in TASKS[2:]] == ["A"] * 4


def test_what_a_strategy_cannot_read_is_unparsable_and_no_other_parser_tries_its_luck():
    class Unreadable:
        """Says of a text, which would be a plan in another form, that it cannot be read."""

        name = "unreadable"

        def plan(self, request):
            why = "line 1, column 1: no program"
            return PlannerReply(plan="Image Denoising", call=NO_TIME, notes={"raw": "x"}, unreadable=why)

    record, reply = asked(Unreadable())[TASKS[0].key]
    assert (record.outcome, record.reason, reply) == (Outcome.PLANNER_FAULT, Reason.UNPARSABLE_PLAN, None)
    assert record.reason_text == "The plan cannot be read: line 1, column 1: no program."
    assert (record.plan_received, record.planner_notes) == ("Image Denoising", {"raw": "x"})


def test_who_stops_asking_does_not_wait_for_a_planner_that_hangs():
    class Hangs:
        name = "hangs"

        def __init__(self) -> None:
            self.asked: list[str] = []
            self.waited: list[str] = []
            self.ended = threading.Event()

        def plan(self, request):
            self.asked.append(request.task.id)
            if len(self.asked) > 1:
                self.ended.wait(60)
                self.waited.append(request.task.id)
            raise PlannerError(reason=Reason.INVALID_RESPONSE, message="x", received=None, call=NO_TIME)

    planner = Hangs()
    asking = ask_all(planner=planner, suite=SUITE, tasks=SUITE.tasks, context=context)
    next(asking)
    asking.close()
    assert planner.waited == []
    planner.ended.set()
    assert len(planner.asked) <= 1 + PLANNER_CONCURRENCY
