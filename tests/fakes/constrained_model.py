"""A language model that writes names by a scoring function, within a constraint; and a driver for one conversation."""

import math
import random
import zlib
from collections.abc import Callable, Sequence

from evaluator.core.language_model import Ability, Answer, Beam, Call, Completion, GenerateCall, LanguageModelError
from evaluator.core.planner import PlannerRequest
from evaluator.core.strategy import Draft, Strategy

END = ""
"""What is scored in the place of a name for ending here."""
Scoring = Callable[[str, tuple[str, ...], str], float]
"""Prompt, names written, and a name or `END`, to how much it is wanted; softmax makes probabilities of it."""


class ConstrainedModel:
    """Beam search over whole names. Follows a constraint to the letter and knows nothing else of strategies."""

    name = "fake-constrained"
    abilities = frozenset({Ability.CONSTRAIN})

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self.prompts: list[str] = []

    def answer(self, calls: Sequence[Call]) -> list[Answer]:
        return [self._one(call) for call in calls]

    def _one(self, call: Call) -> Completion:
        assert isinstance(call, GenerateCall)
        assert call.constraint is not None
        prompt = call.messages[-1].content
        self.prompts.append(prompt)
        growing: list[tuple[float, tuple[str, ...]]] = [(0.0, ())]
        ended: list[tuple[float, tuple[str, ...]]] = []
        while growing:
            further = []
            for log, names in growing:
                following = call.constraint.following(names)
                choices = [*following.names, *([END] if following.may_end else [])]
                assert choices, f"dead end behind {names}"
                scores = [self._scoring(prompt, names, choice) for choice in choices]
                total = math.log(sum(math.exp(score) for score in scores))
                for choice, score in zip(choices, scores, strict=True):
                    log_probability = log + score - total
                    if choice == END:
                        ended.append((log_probability, names))
                    else:
                        further.append((log_probability, (*names, choice)))
            growing = sorted(further, reverse=True)[: call.beams]
        best = sorted(ended, reverse=True)[: call.beams]
        beams = tuple(
            Beam(text=call.constraint.separator.join(names), log_probability=log, names=names) for log, names in best
        )
        return Completion(text=beams[0].text, beams=beams)


def random_scoring(seed: int, *, spread: float = 3.0) -> Scoring:
    """Scores that look drawn at random, and are always the same for the same prompt and names."""

    def scoring(prompt: str, names: tuple[str, ...], choice: str) -> float:
        key = zlib.crc32("|".join((str(seed), prompt, *names, choice)).encode())
        return random.Random(key).uniform(0, spread)

    return scoring


def taught(answers: dict[str, tuple[str, ...]]) -> Scoring:
    """Wants the names that were taught for a prompt, and the end behind them; of other prompts it knows nothing."""

    def scoring(prompt: str, names: tuple[str, ...], choice: str) -> float:
        target = answers.get(prompt, ())
        wanted = target[len(names)] if names == target[: len(names)] and len(names) < len(target) else END
        return 20.0 if choice == wanted else 0.0

    return scoring


def held(*, strategy: Strategy, request: PlannerRequest, answer: Callable[[Sequence[Call]], Sequence[Answer]]) -> Draft:
    """What a conversation comes to if a function answers its calls. A `LanguageModelError` is raised inside of it."""
    conversation = strategy.converse(request)
    try:
        calls = next(conversation)
        while True:
            assert calls, "a conversation asks for something or ends"
            try:
                answers = answer(calls)
            except LanguageModelError as error:
                calls = conversation.throw(error)
            else:
                calls = conversation.send(answers)
    except StopIteration as end:
        return end.value
