"""Constrained strategies over real networks of both families, with random weights: whatever they want, plans are valid.

The tokenizers are trained here, one of the kind of GPT-2's and one of the kind of T5's.
"""

import pytest
import torch

from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.language_models.local.network import Network
from evaluator.planners.protocol import PlannerError
from evaluator.planners.strategies.openagi import Constrained, Nonlinear
from evaluator.planners.strategies.openagi.teaching import examples
from evaluator.planners.strategies.protocol import Draft
from tests.evaluator.planners.strategies.openagi.openagi_tasks import ALL, TASKS, read, request
from tests.fakes.constrained_model import ConstrainedModel, held, taught
from tests.fakes.tiny_models import byte_level_bpe, gpt2, livelier, t5, unigram

SPELT = [*sorted(ALL), *(f"{name}," for name in sorted(ALL)), *(task.text for task in TASKS[::5])]
ASKED = TASKS[::6]
MAKERS = {
    "decoder only": lambda: (byte_level_bpe(texts=SPELT, size=400), lambda tokenizer: gpt2(tokenizer, length=1024)),
    "encoder and decoder": lambda: (unigram(texts=SPELT, size=200), t5),
}


pytestmark = pytest.mark.full


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Networks of this size lose more by threads than they win, above all where cores are shared."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=list(MAKERS))
def model(request):
    tokenizer, make = MAKERS[request.param]()
    tokenizer.model_max_length = 1024
    return LocalModel(network=Network(module=livelier(make(tokenizer)), tokenizer=tokenizer), name="tiny")


def answers(strategy, model, tasks):
    """The tasks with their replies."""
    planner = StrategyPlanner(strategy=strategy, model=model)
    ends = dict(planner.plan_all([request(task.key) for task in tasks]))
    return [(task, ends[position]) for position, task in enumerate(tasks)]


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("strategy", [Constrained, Nonlinear])
def test_every_plan_is_valid(strategy, beams, model):
    found = answers(strategy(beams=beams), model, ASKED)
    for task, reply in found:
        assert not isinstance(reply, PlannerError), reply
        plan, problems = read(Draft(plan=reply.plan), task)
        assert problems == ()
        assert plan.steps
    assert len({reply.plan for _, reply in found}) > 2


def test_all_alternatives_are_valid_and_differ(model):
    for task, reply in answers(Constrained(beams=4), model, ASKED[::4]):
        plans = [reply.plan, *reply.alternatives]
        assert len(plans) == len(set(plans)) > 1
        assert all(read(Draft(plan=plan), task)[1] == () for plan in plans)


def test_both_tokenizers_can_spell_what_is_to_be_taught(model):
    """Every search for a gold plan, token by token."""
    network = model.network
    for task in TASKS[::4]:
        lessons = {
            example.messages: example
            for example in examples(request=task.text, resources=tuple(task.resources), plan=task.gold)
        }
        wanted = {messages[-1].content: example.names for messages, example in lessons.items()}
        taught_model, calls = ConstrainedModel(taught(wanted)), []

        def answered(asked, *, model=taught_model, calls=calls):
            calls.extend(asked)
            return model.answer(asked)

        held(strategy=Nonlinear(), request=request(task.key), answer=answered)
        assert {call.messages for call in calls} >= {messages for messages in lessons if lessons[messages].names}
        for call in calls:
            grammar = network.grammar(call.constraint, prompt=network.prompt(call.messages))
            names = wanted[call.messages[-1].content]
            assert grammar.names(grammar.spelling(names)) == (names, True)
