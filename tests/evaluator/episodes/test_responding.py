"""How often planners are asked about their results, and which of them about results of hidden data. No experts."""

import pytest

from evaluator.controlllm.strategies.strategy import ChainControlLLM
from evaluator.core.language_model import Completion
from evaluator.core.planner import PlannerError, PlannerReply
from evaluator.core.plans_file import GivenPlans
from evaluator.core.records import PlannerCall, Reason
from evaluator.episodes.responding import MOST_FAILURES, MOST_SECONDS, Responding
from evaluator.network.secret_header import SecretHeader
from evaluator.planners.breaker import CircuitBreaker
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from evaluator.planners.language_models.by_role import models_by_role
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from evaluator.planners.language_models.scripted import ScriptedModel

CALL = PlannerCall(seconds=1.0)
REPLY = PlannerReply(plan={}, call=CALL, responds=True)
FAILED = PlannerError(reason=Reason.PLANNER_TIMEOUT, message="Late.", call=CALL)


class Planner:
    """Says what a test wants, and counts how often."""

    name = "planner"
    is_outside = False

    def __init__(self, *ends):
        self.ends, self.asked = ends, 0

    def plan(self, request):
        return REPLY

    def responds_to(self, reply):
        return reply.responds

    def respond(self, ran):
        self.asked += 1
        return self.ends[(self.asked - 1) % len(self.ends)]


def said(text="It is 3."):
    return PlannerReply(plan=text, call=CALL)


@pytest.mark.parametrize("bad", [FAILED, said(""), said(" \n")])
def test_after_some_failures_in_a_row_it_is_not_asked_again(bad):
    planner = Planner(bad)
    responding = Responding(planner, is_hidden=False)
    ends = [responding.respond(None) for _ in range(MOST_FAILURES + 3)]
    assert planner.asked == MOST_FAILURES
    assert all(isinstance(end, PlannerError) for end in ends)
    assert str(ends[-1]) == f"Not asked: the planner gave no response {MOST_FAILURES} times in a row."
    assert ends[-1].call.seconds == 0


def test_a_response_ends_the_row_of_failures():
    planner = Planner(*[FAILED] * (MOST_FAILURES - 1), said())
    responding = Responding(planner, is_hidden=False)
    for _ in range(3 * MOST_FAILURES):
        responding.respond(None)
    assert planner.asked == 3 * MOST_FAILURES


def test_all_responses_of_a_run_have_a_limit_of_time():
    planner = Planner(said())
    times = iter(range(0, 10_000, 200))
    responding = Responding(planner, is_hidden=False, clock=lambda: next(times))
    ends = [responding.respond(None) for _ in range(8)]
    assert planner.asked == MOST_SECONDS / 200
    assert str(ends[-1]) == "Not asked: the planner took 600 s for earlier responses."


def test_nothing_is_promised_by_planners_that_cannot_respond_or_did_not_say_so():
    assert not Responding(GivenPlans({}), is_hidden=False).is_promised(REPLY)
    assert not Responding(Planner(said()), is_hidden=False).is_promised(said())
    assert Responding(Planner(said()), is_hidden=False).is_promised(REPLY)


def chat(url="http://127.0.0.1:9/v1"):
    return ChatModel(ChatSettings(url=url, model="m", allow_private=True), name="chat:m", key=lambda: None)


LOCAL = ScriptedModel(lambda call: Completion(text="x"))


@pytest.mark.parametrize(
    ("model", "is_asked"),
    [
        (None, True),
        (LOCAL, True),
        (chat(), False),
        (models_by_role(main=LOCAL, roles={"assess": LOCAL}), True),
        (models_by_role(main=LOCAL, roles={"assess": chat()}), False),
        (models_by_role(main=chat(), roles={"respond": LOCAL}), False),
        (models_by_role(main=chat(), roles={"respond": chat()}), False),
    ],
)
def test_only_models_on_the_worker_are_told_results_of_hidden_data(model, is_asked):
    planner = StrategyPlanner(strategy=ChainControlLLM(), model=model)
    assert Responding(planner, is_hidden=True).is_promised(REPLY) is is_asked
    assert Responding(planner, is_hidden=False).is_promised(REPLY)


def test_no_endpoint_is_told_results_of_hidden_data():
    client = EndpointPlanner(EndpointSettings(url="http://127.0.0.1:9/", header=SecretHeader("X-Key", "k" * 9)))
    for planner in (client, CircuitBreaker(client)):
        assert Responding(planner, is_hidden=False).is_promised(REPLY)
        assert not Responding(planner, is_hidden=True).is_promised(REPLY)
    client.close()
