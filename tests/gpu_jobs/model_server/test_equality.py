"""A model in its server answers exactly as the same model in this process."""

from functools import partial

import pytest
import torch

from evaluator.core.language_model import Failure, FailureKind, GenerateCall, Message, ScoreCall
from evaluator.planners.language_models.automaton import NameAutomaton
from evaluator.planners.language_models.local.model import LocalModel
from gpu_jobs.model_server.isolation.sandbox import detected
from gpu_jobs.model_server.opening import open_model
from tests.fakes.tiny_models import NAMES, AnyOrder, byte_level_bpe, gpt2, livelier, saved, t5, unigram

pytestmark = pytest.mark.full

SOURCE = {"model_id": "own/planner", "commit": "c" * 40}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=["causal", "sequence to sequence"])
def models(request, tmp_path_factory):
    """The same model here and in its server."""
    tokenizer, make = (byte_level_bpe(), gpt2) if request.param == "causal" else (unigram(), t5)
    folder = saved(tmp_path_factory.mktemp("model"), model=livelier(make(tokenizer)), tokenizer=tokenizer)
    remote = open_model(folder, name="m", device="cpu", source=SOURCE, sandbox=detected().sandbox)
    yield LocalModel.from_folder(folder, name="m", source=SOURCE), remote
    remote.close()


def said(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


generate = partial(GenerateCall, max_tokens=24)
ANY_TWO = NameAutomaton(
    names=NAMES, steps=((1,) * len(NAMES), (2,) * len(NAMES), (None,) * len(NAMES)), accepting=(False, True, True),
    longest=2, separator=", ",
)  # fmt: skip


@pytest.mark.parametrize(
    "calls",
    [
        [generate(messages=said(name)) for name in NAMES],
        [generate(messages=said("Text"), temperature=0.9, top_p=0.8, seed=seed) for seed in range(3)],
        [generate(messages=said("Text"), stop=("e", "a"))],
        [ScoreCall(messages=said(name), continuations=NAMES) for name in NAMES[:2]],
        [generate(messages=said(name), constraint=AnyOrder(most=3), max_tokens=60) for name in NAMES[:3]],
        [generate(messages=said(name), constraint=AnyOrder(most=2), beams=5, max_tokens=60) for name in NAMES[:3]],
        [generate(messages=said(name), constraint=ANY_TWO, beams=5, max_tokens=60) for name in NAMES[:3]],
        [generate(messages=said("Text"), constraint=AnyOrder(least=2, most=3), beams=3, max_tokens=4)],
        [
            generate(messages=said("Text"), constraint=AnyOrder(most=2), max_tokens=60),
            ScoreCall(messages=said("Text"), continuations=("Colorization",)),
            generate(messages=said("Image")),
        ],
    ],
    ids=["free", "drawn", "stopped", "scored", "constrained", "beams", "automaton", "truncated", "mixed"],
)
def test_answers_are_those_of_the_model_in_this_process(models, calls):
    here, there = models
    expected = here.answer(calls)
    assert not any(isinstance(answer, Failure) for answer in expected)
    assert there.answer(calls) == expected


def test_an_automaton_costs_one_round_trip_and_allows_what_the_same_constraint_allows_in_many(models):
    _, there = models

    def asked(constraint):
        before = there.round_trips
        answers = there.answer([generate(messages=said("Text"), constraint=constraint, beams=5, max_tokens=60)])
        return answers, there.round_trips - before

    (whole, one_trip), (node_by_node, several) = asked(ANY_TWO), asked(AnyOrder(most=2))
    assert whole == node_by_node
    assert one_trip == 1 < several


def test_a_constraint_that_fails_costs_its_own_call_only(models):
    class Failing:
        separator = ", "

        def following(self, written):
            raise LookupError("no such tool")

    _, there = models
    calls = [generate(messages=said("Text"), constraint=Failing()), generate(messages=said("Text"))]
    failed, answered = there.answer(calls)
    assert failed.kind is FailureKind.UNAVAILABLE
    assert "LookupError: no such tool" in failed.message
    assert not isinstance(answered, Failure)
