"""Conversations are driven together, and one that fails costs its own task only; notes that are kept; other seeds."""

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from evaluator.core.language_model import (
    Ability,
    Completion,
    Failure,
    FailureKind,
    LanguageModelError,
    Message,
    PromptLimit,
    Usage,
)
from evaluator.core.planner import PlannerError, ReseedablePlanner, reseeded
from evaluator.core.records import PlannerCall, Reason, without_timings
from evaluator.core.storable import kept_notes, unkeepable
from evaluator.core.strategy import Draft, in_role
from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import RoleUsage
from evaluator.core.turns import BatchTurnPlanner, first_turn
from evaluator.planners.conversation import MAX_TURNS
from evaluator.planners.driving import StrategyPlanner, StrategyTurnPlanner, UnfitModelError, strategy_planner_of
from evaluator.planners.language_models.scripted import ScriptedModel
from evaluator.planners.named import planner_named
from tests.fakes.strategies import FakeStrategy, asks_once, generate, request
from tests.leaderboard.factories import make_record


class Waiting:
    """A concurrent model that answers like a function, after a while."""

    name = "waiting"
    abilities = frozenset({Ability.GENERATE})

    def __init__(self, answer, *, seconds=0.0):
        self.most = self.now = 0
        self.closed = False
        self._answer, self._seconds = answer, seconds

    async def answer_one(self, call):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self._seconds)
        self.now -= 1
        return self._answer(call)

    def answer(self, calls):
        raise AssertionError("a concurrent model is asked concurrently")

    def count_tokens(self, text):
        return len(text)

    def identity(self):
        return {}

    async def close(self):
        self.closed = True


class Answering(Waiting):
    """The same with answers to batches too, as of a chat endpoint."""

    def answer(self, calls):
        return [self._answer(call) for call in calls]


class Rounds(ScriptedModel):
    """Notes how many calls came at once."""

    def __init__(self, script):
        super().__init__(script)
        self.sizes = []

    def answer(self, calls):
        self.sizes.append(len(calls))
        return super().answer(calls)


def said(call):
    text = call.messages[-1].content
    return Completion(text=f"plan of {text}", usage=Usage(prompt_tokens=3, completion_tokens=2))


def failing(call, *, kind=FailureKind.UNAVAILABLE):
    """Every third request fails."""
    number = int(call.messages[-1].content.split()[-1])
    return Failure(kind=kind, message="It is closed.", tries=4, received="503") if number % 3 == 0 else said(call)


MODELS = {"in rounds": ScriptedModel, "concurrently": Waiting}


@pytest.fixture(params=list(MODELS))
def make_model(request):
    return MODELS[request.param]


def driven(strategy, model, count=7, **settings):
    planner = StrategyPlanner(strategy=strategy, model=model, **settings)
    try:
        results = list(planner.plan_all([request(number) for number in range(count)]))
    finally:
        planner.close()
    assert sorted(index for index, _ in results) == list(range(count))
    return dict(results)


def test_every_request_gets_its_own_reply_with_usage_and_notes(make_model):
    result = driven(FakeStrategy(asks_once), make_model(said))
    for index, reply in result.items():
        assert reply.plan == f"plan of request {index}"
        assert (reply.call.prompt_tokens, reply.call.completion_tokens) == (3, 2)
        assert reply.notes == {"raw": reply.plan}


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (FailureKind.UNAVAILABLE, Reason.ENDPOINT_UNAVAILABLE),
        (FailureKind.WRONG_ANSWER, Reason.INVALID_RESPONSE),
        (FailureKind.REFUSED, Reason.REFUSED_BY_ENDPOINT),
        (FailureKind.TIMEOUT, Reason.PLANNER_TIMEOUT),
    ],
)
def test_a_failure_costs_its_own_task_and_says_whose_fault_it_is(make_model, kind, reason):
    result = driven(FakeStrategy(asks_once), make_model(lambda call: failing(call, kind=kind)))
    faulty = {index: end for index, end in result.items() if isinstance(end, PlannerError)}
    assert sorted(faulty) == [0, 3, 6]
    assert {(end.reason, str(end), end.received, end.call.tries) for end in faulty.values()} == {
        (reason, "It is closed.", "503", 4)
    }


class Asked:
    """An answer that notes the prompts of the calls that reached the model."""

    def __init__(self):
        self.prompts = []

    def __call__(self, call):
        self.prompts.append(call.messages[-1].content)
        return said(call)


def limited(text, *, role="", most=5):
    return generate(
        text, role=role, limit=PromptLimit(messages=(Message(role="user", content=text),), most_tokens=most)
    )


def test_calls_beyond_their_limit_fail_without_reaching_the_model_and_affect_no_other_task(make_model):
    def asks_twice(request):
        text = "many words " * 20 if request.task.id == "1" else "few"
        (first, _) = yield [limited(text), limited(text)]
        return Draft(plan=first.text)

    answer = Asked()
    model = make_model(answer)
    tokens = model.count_tokens("many words " * 20)
    result = driven(FakeStrategy(asks_twice), model, 3)
    assert result[1].reason is Reason.PROMPT_TOO_LONG
    assert str(result[1]) == f"The prompt has {tokens} tokens; the planner allows 5."
    assert [result[0].plan, result[2].plan] == ["plan of few"] * 2
    assert answer.prompts == ["few"] * 4


def test_the_model_of_a_call_s_role_counts_the_tokens_of_its_limit():
    class Long(ScriptedModel):
        def count_tokens(self, text):
            return 1000

    def asks(request):
        (answer,) = yield [limited("few", role="ground" if request.task.id == "1" else "")]
        return Draft(plan=answer.text)

    planner = strategy_planner_of(
        strategy=FakeStrategy(asks), model=ScriptedModel(said), name="roles", roles={"ground": Long(said)}
    )
    ends = dict(planner.plan_all([request(0), request(1)]))
    assert ends[0].plan == "plan of few"
    assert ends[1].reason is Reason.PROMPT_TOO_LONG


def test_usage_is_counted_by_role_and_only_where_there_are_roles(make_model):
    def asks(request):
        yield [generate(request), replace(generate(request), role="ground")]
        (answer,) = yield [replace(generate(request), role="ground")]
        return Draft(plan=answer.text)

    reply = driven(FakeStrategy(asks), make_model(said), count=1)[0]
    counts = {role: (own.calls, own.prompt_tokens, own.completion_tokens) for role, own in reply.call.roles.items()}
    assert counts == {"main": (1, 3, 2), "ground": (2, 6, 4)}
    assert sum(own.seconds for own in reply.call.roles.values()) <= reply.call.seconds + 1e-5
    plain = driven(FakeStrategy(asks_once), make_model(said), count=1)[0].call
    assert plain.roles == {}
    assert "roles" not in plain.model_dump()


def test_usage_by_role_is_no_part_of_what_is_reproducible_but_its_counts_are():
    usage = RoleUsage(calls=1, seconds=2.0, prompt_tokens=3)
    record = make_record("0", suite="toolmini").model_copy(
        update={"planner": PlannerCall(seconds=2.0, roles={"ground": usage})}
    )
    assert without_timings(record).planner.roles == {"ground": RoleUsage(calls=1, seconds=0.0, prompt_tokens=3)}


def test_a_prompt_whose_tokens_the_model_cannot_count_costs_its_own_task(make_model):
    class Fragile(make_model):
        def count_tokens(self, text):
            if "1" in text:
                raise RuntimeError("no tokens")
            return 1

    def asks(request):
        (answer,) = yield [limited(request.task.request)]
        return Draft(plan=answer.text)

    result = driven(FakeStrategy(asks), Fragile(said), 3)
    assert result[1].reason is Reason.MODEL_UNUSABLE
    assert str(result[1]) == "The model cannot count the tokens of the prompt: RuntimeError: no tokens."
    assert [result[0].plan, result[2].plan] == ["plan of request 0", "plan of request 2"]


def test_a_strategy_may_catch_a_failure_and_go_on(make_model):
    def patient(request):
        try:
            (answer,) = yield [generate(request.task.request)]
        except LanguageModelError as error:
            return Draft(plan="", notes={"failed": error.failure.message})
        return Draft(plan=answer.text)

    result = driven(FakeStrategy(patient), make_model(failing))
    assert result[3].notes == {"failed": "It is closed."}
    assert result[4].plan == "plan of request 4"


def test_a_strategy_that_raises_costs_its_own_task(make_model):
    def clumsy(request):
        if request.task.id == "1":
            raise ZeroDivisionError("at once")
        (answer,) = yield [generate(request.task.request)]
        if request.task.id == "2":
            raise KeyError("later")
        return Draft(plan=answer.text) if request.task.id != "3" else None

    result = driven(FakeStrategy(clumsy), make_model(said), 6)
    faulty = {index: end for index, end in result.items() if isinstance(end, PlannerError)}
    assert sorted(faulty) == [1, 2, 3]
    assert {end.reason for end in faulty.values()} == {Reason.INTERNAL_ERROR}
    assert "ZeroDivisionError: at once" in str(faulty[1])


def test_a_strategy_that_never_ends_is_ended(make_model):
    def endless(request):
        while True:
            yield []

    (end,) = driven(FakeStrategy(endless), make_model(said), 1).values()
    assert end.reason is Reason.INTERNAL_ERROR
    assert str(MAX_TURNS) in str(end)


def test_calls_that_wait_are_answered_together():
    def asks_twice(request):
        yield [generate("first"), generate("second")]
        (answer,) = yield [generate("third")]
        return Draft(plan=answer.text)

    model = Rounds(said)
    driven(FakeStrategy(asks_twice), model, 5)
    assert model.sizes == [10, 5]


def test_only_so_many_conversations_are_held_at_once():
    model = Rounds(said)
    driven(FakeStrategy(asks_once), model, 7, conversations=3)
    assert max(model.sizes) == 3
    waiting = Waiting(said, seconds=0.01)
    driven(FakeStrategy(asks_once), waiting, 7, conversations=3)
    assert waiting.most == 3


def test_requests_are_taken_as_there_is_room():
    taken = []

    def requests():
        for number in range(10):
            taken.append(number)
            yield request(number)

    planner = StrategyPlanner(strategy=FakeStrategy(asks_once), model=ScriptedModel(said), conversations=2)
    next(planner.plan_all(requests()))
    assert len(taken) == 2


def test_giving_up_ends_the_conversations_of_an_endpoint():
    model = Waiting(said, seconds=0.01)
    planner = StrategyPlanner(strategy=FakeStrategy(asks_once), model=model, conversations=2)
    replies = planner.plan_all(map(request, range(100)))
    next(replies)
    replies.close()
    planner.close()
    assert not any(thread.name.startswith("planner fake") for thread in threading.enumerate())


def test_a_strategy_that_asks_without_a_model_is_a_defect():
    result = driven(FakeStrategy(asks_once, needs=frozenset()), None, 1)
    assert result[0].reason is Reason.INTERNAL_ERROR
    assert "needs none" in str(result[0])


def test_a_model_that_lacks_an_ability_is_refused_before_anything_runs():
    strategy = FakeStrategy(asks_once, needs=frozenset({Ability.CONSTRAIN, Ability.GENERATE}))
    with pytest.raises(
        UnfitModelError, match="fake needs a language model that can constrain; waiting can only generate"
    ):
        StrategyPlanner(strategy=strategy, model=Waiting(said))
    with pytest.raises(UnfitModelError, match="needs a language model"):
        StrategyPlanner(strategy=strategy)


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("NUL \x00", Reason.INVALID_RESPONSE),
        ("half \ud800", Reason.INVALID_RESPONSE),
        (object(), Reason.INTERNAL_ERROR),
        ("x" * 1_100_000, Reason.RESPONSE_TOO_LARGE),
    ],
)
def test_a_plan_that_cannot_be_kept_costs_its_own_task(plan, reason):
    def odd(request):
        return Draft(plan=plan)
        yield

    assert driven(FakeStrategy(odd, needs=frozenset()), None, 1)[0].reason is reason


def test_a_model_that_raises_costs_the_tasks_that_asked_it(make_model):
    def asks_some(request):
        if request.task.id == "0":
            return Draft(plan="none needed")
        return (yield from asks_once(request))

    def broken(call):
        raise RuntimeError("a defect")

    result = driven(FakeStrategy(asks_some), make_model(broken), 3)
    assert result[0].plan == "none needed"
    assert {result[1].reason, result[2].reason} == {Reason.INTERNAL_ERROR}


def test_small_notes_are_kept_unchanged_and_large_texts_are_cut():
    notes = {"raw": "Grüße 🙂", "scores": [0.5, 1], "searched": {"depth": 3}, "none": None}
    assert kept_notes(notes) == notes
    kept = kept_notes({"raw": "x" * 200_000, "depth": 3})
    assert kept["depth"] == 3
    assert kept["raw"].endswith("(cut)")
    assert 60_000 < len(json.dumps(kept)) <= 64 * 1024
    assert list(kept) == ["raw", "depth"]


def test_thousands_of_notes_stay_within_the_limit():
    kept = kept_notes({f"note {number} é": "é" * 1000 for number in range(5000)})
    assert len(json.dumps(kept, ensure_ascii=False).encode()) <= 64 * 1024
    assert "left_out" in kept


def test_what_is_no_text_or_no_json_is_replaced():
    kept = kept_notes({"nul": "a\x00b", "half": ["\ud800"], "nan": float("nan"), "set": {1}, "deep": deep(60)})
    assert unkeepable(kept) is None
    assert kept["nul"] == "a\ufffdb"
    assert kept["nan"] == "nan"
    assert kept["set"] == "{1}"
    json.dumps(kept).encode()


def deep(levels):
    return [deep(levels - 1)] if levels else "bottom"


def sampling(asked):
    first, second = yield [generate(asked.task.request, temperature=0.7, seed=5), generate(asked.task.request)]
    return Draft(plan=[first.text, second.text])


def seeds_of(*, run):
    model = ScriptedModel(lambda call: str(call.seed))
    planner = reseeded(StrategyPlanner(strategy=FakeStrategy(sampling), model=model), run=run)
    return planner.plan(request(1)).plan


def test_each_run_samples_with_its_own_seeds_and_leaves_greedy_calls_unchanged():
    runs = [seeds_of(run=run) for run in range(5)]
    assert runs[0] == ["5", "0"]
    assert len({sampled for sampled, _ in runs}) == 5
    assert {greedy for _, greedy in runs} == {"0"}
    assert [seeds_of(run=run) for run in range(5)] == runs


def test_a_planner_in_turns_stays_one():
    class Stopping(FakeStrategy):
        formulation = "integrated"

    def converse(asked):
        (answer,) = yield [generate("x", temperature=1.0)]
        return Draft(plan={"answer": answer.text})

    planner = StrategyTurnPlanner(
        strategy=Stopping(converse), model=ScriptedModel(lambda call: str(call.seed)), name="turns"
    )
    again = reseeded(planner, run=1)
    assert isinstance(again, BatchTurnPlanner)
    assert again.formulation == planner.formulation
    suite = suite_of("arc-mini")
    context = suite.context(task=suite.tasks[0], offered=frozenset(suite.catalogue.tools))
    asked = first_turn(suite=suite, task=suite.tasks[0], context=context)
    assert again.turn(asked).response.answer != planner.turn(asked).response.answer


def test_planners_without_seeds_are_returned_as_they_are():
    gold = planner_named(name="gold", suite=suite_of("openagi"))
    assert not isinstance(gold, ReseedablePlanner)
    assert reseeded(gold, run=3) is gold


@pytest.mark.parametrize(
    ("said", "text"),
    [("<think>no</think>\nyes", "yes"), ("no</think>yes<|im_end|>", "yes"), ("<think>cut off", ""), ("yes", "yes")],
)
def test_a_strategy_never_sees_the_reasoning(said, text):
    planner = StrategyPlanner(strategy=FakeStrategy(asks_once), model=ScriptedModel(lambda call: said))
    reply = planner.plan(request("?"))
    assert reply.plan == text
    assert bool(reply.tolerated) is (said != text)


def both_roles(request):
    (first,) = yield [replace(generate("one"), role="decompose")]
    second, third = yield [generate("two"), replace(generate("three"), role="assess")]
    return Draft(plan=[answer.text for answer in (first, second, third)])


@pytest.mark.parametrize(
    ("main", "other"), [(ScriptedModel, ScriptedModel), (Waiting, Waiting), (ScriptedModel, Answering)]
)
def test_calls_of_a_role_go_to_its_model_and_others_to_the_planner_s(main, other):
    models = main(lambda call: f"main {call.role}"), other(lambda call: Completion(text=f"other {call.role}"))
    if main is Waiting:
        models = Waiting(lambda call: Completion(text=f"main {call.role}")), models[1]
    planner = strategy_planner_of(
        strategy=FakeStrategy(both_roles), model=models[0], name="mix", roles={"decompose": models[1]}
    )
    ends = dict(planner.plan_all([request(number) for number in range(3)]))
    planner.close()
    assert [end.plan for end in ends.values()] == [["other decompose", "main ", "main assess"]] * 3
    assert planner.identity()["roles"] == {"decompose": models[1].identity()}
    assert "roles" not in planner.identity()["language_model"]
    if main is Waiting:
        assert all(model.closed for model in models)


def test_a_role_s_model_that_lacks_an_ability_is_refused_by_name():
    strategy, model = FakeStrategy(both_roles), ScriptedModel(lambda call: "x")
    strategy.needs = frozenset({Ability.GENERATE})
    lacking = ScriptedModel(lambda call: "x")
    lacking.abilities = frozenset({Ability.SCORE})
    with pytest.raises(UnfitModelError, match=r"needs for decompose a language model that can generate; .* only score"):
        strategy_planner_of(strategy=strategy, model=model, name="mix", roles={"decompose": lacking})


def test_a_part_in_a_role_gets_answers_and_failures():
    def part():
        try:
            yield [generate("first")]
        except LanguageModelError as error:
            (answer,) = yield [generate(str(error))]
            return answer
        return None

    conversation = in_role(part(), role="decompose")
    assert [call.role for call in next(conversation)] == ["decompose"]
    failure = Failure(kind=FailureKind.UNAVAILABLE, message="It is closed.")
    (second,) = conversation.throw(LanguageModelError(failure))
    assert (second.role, second.messages[-1].content) == ("decompose", "It is closed.")
    with pytest.raises(StopIteration) as end:
        conversation.send(["the answer"])
    assert end.value.value == "the answer"
