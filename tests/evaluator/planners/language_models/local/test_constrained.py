"""Constrained completions are allowed ones, and their probabilities are those of the constrained policy."""

import math
from collections import Counter

import pytest

from evaluator.core.language_model import FailureKind, Following, Message
from tests.evaluator.planners.language_models.local.test_model import USUAL, model, network_of
from tests.fakes.strategies import generate
from tests.fakes.tiny_models import AnyOrder, completions
from tests.rings import usual

PROMPT = "Given a noisy image, how to return the text? Plan:"


@pytest.fixture(params=usual([*USUAL, "T5 in bytes"], of=["GPT-2", "T5"]))
def network(request):
    return network_of(request.param, ends=True)


def answer(network, *calls, **settings):
    return model(network, **settings).answer(calls)


def log_probabilities(network, names, constraint, *, prompt=PROMPT, **settings):
    from evaluator.planners.language_models.local.constrained import constrained_log_probabilities

    return constrained_log_probabilities(
        network=network,
        prompts=[(Message(role="user", content=prompt),)] * len(names),
        names=names,
        constraints=[constraint] * len(names),
        **settings,
    )


def test_the_probabilities_of_all_completions_sum_to_one(network):
    import torch

    constraint = AnyOrder(most=2)
    every = list(completions(constraint))
    (completion,) = answer(network, generate(PROMPT, constraint=constraint, beams=60))
    assert {beam.names for beam in completion.beams} == set(every)
    assert sum(math.exp(beam.log_probability) for beam in completion.beams) == pytest.approx(1.0, abs=1e-4)
    with torch.no_grad():
        assert log_probabilities(network, every, constraint).exp().sum().item() == pytest.approx(1.0, abs=1e-4)


def test_searching_and_teacher_forcing_agree_on_probabilities(network):
    import torch

    constraint = AnyOrder(most=3)
    (completion,) = answer(network, generate(PROMPT, constraint=constraint, beams=8))
    with torch.no_grad():
        again = log_probabilities(network, [beam.names for beam in completion.beams], constraint)
    assert [beam.log_probability for beam in completion.beams] == pytest.approx(again.tolist(), abs=1e-3)
    assert [beam.log_probability for beam in completion.beams] == sorted(
        (beam.log_probability for beam in completion.beams), reverse=True
    )
    assert completion.text == completion.beams[0].text == ", ".join(completion.beams[0].names)


def test_calls_with_different_constraints_share_a_batch(network):
    constraints = [
        AnyOrder(names=("Text", "Text Generation"), most=2),
        AnyOrder(names=("Colorization", "Image Denoising", "Image Deblurring"), least=3, most=3),
        AnyOrder(names=("Sentiment Analysis",), least=0, most=1),
    ]
    calls = [generate(f"{PROMPT} {number}", constraint=one, beams=4) for number, one in enumerate(constraints)]
    together = answer(network, *calls)
    for call, constraint, completion in zip(calls, constraints, together, strict=True):
        allowed = set(completions(constraint))
        assert {beam.names for beam in completion.beams} <= allowed
        assert len(completion.beams) == len({beam.names for beam in completion.beams}) == min(4, len(allowed))
        (alone,) = answer(network, call)
        assert [beam.names for beam in alone.beams] == [beam.names for beam in completion.beams]


def test_draws_follow_the_policy():
    import torch

    network = network_of("T5", ends=True)
    constraint = AnyOrder(most=1)
    calls = [generate(PROMPT, constraint=constraint, temperature=1.0, seed=seed) for seed in range(400)]
    drawn = Counter(completion.beams[0].names for completion in answer(network, *calls, rows=100))
    every = list(completions(constraint))
    with torch.no_grad():
        wanted = log_probabilities(network, every, constraint).exp().tolist()
    for names, probability in zip(every, wanted, strict=True):
        deviation = math.sqrt(400 * probability * (1 - probability)) + 1
        assert abs(drawn[names] - 400 * probability) < 4 * deviation


class LeadsNowhere(AnyOrder):
    """Says after two names only that nothing may follow."""

    def following(self, written):
        free = () if len(written) >= 3 else ("Text", "Colorization")
        return Following(names=free, may_end=False)


class Broken(AnyOrder):
    def following(self, written):
        if written:
            raise KeyError("a defect")
        return super().following(written)


def test_a_constraint_that_raises_or_has_no_completions_costs_its_own_call(network):
    nothing, dead, bad, good = answer(
        network,
        generate(PROMPT, constraint=AnyOrder(names=(), least=1)),
        generate(PROMPT, constraint=LeadsNowhere(), beams=3),
        generate(PROMPT, constraint=Broken()),
        generate(PROMPT, constraint=AnyOrder()),
    )
    assert [one.kind for one in (nothing, dead, bad)] == [FailureKind.REFUSED] * 2 + [FailureKind.UNAVAILABLE]
    assert "no completion" in nothing.message
    assert good.beams


def test_names_that_are_not_allowed_have_no_probability(network):
    with pytest.raises(ValueError, match="does not allow"):
        log_probabilities(network, [("Text", "Text")], AnyOrder())
