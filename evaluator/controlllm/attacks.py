"""Attacks on the judge of tool plans: a search for wrong texts that it accepts, with its network at hand.

Wrong texts are about things that no request is about (`_THINGS`), and never have a word of the text that is wanted, so
that whatever is added to them they ask for something else.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluator.controlllm.toolbench.judging import JudgedPlan, judge
from evaluator.controlllm.toolbench.meaning.sentences import base_forms
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import PlanSyntaxError, plan_to_json
from evaluator.core.suites.base import Suite
from evaluator.planners.ablations import with_texts
from evaluator.planners.attacks.base import Attack, Knowledge, PlansOf, Target, on_judged_texts
from evaluator.planners.attacks.floors import without_names
from evaluator.planners.attacks.public_plans import literals_of

_THINGS = (
    "sextant", "gargoyle", "stethoscope", "harpoon", "turnip", "metronome", "flooble", "periscope", "chandelier",
    "trombone",
)  # fmt: skip
_WRONG = (
    "{}", "a {}", "some {}s", "the {} on the left", "What is a {} good for?", "Is the {} expensive?",
    "Who owns the {}?", "Show a {} in the fog.", "Write a poem about a {}.",
)  # fmt: skip
_ENDINGS = (
    "please", "in the picture", "same", "exactly", "the one", "that", "it", "as requested", "object", "main",
    "is shown", "of this kind", "etc", "and so on", "or similar", "same meaning", ", which means the same",
)  # fmt: skip
_KINDS = (
    "animal", "vehicle", "person", "fruit", "food", "device", "machine", "furniture", "bag", "instrument", "container",
)  # fmt: skip
"""Words that are near many others, since the rules ask the network about no name without such a word."""
_EDITS = 3
"""Words that are added to a wrong text, at most."""
_KEPT = 4
"""Wrong texts that are edited, those that the network finds most likely."""
_LEARNED_FROM = 24
"""Public requests on which an ending is chosen."""

Slot = tuple[str, str]
"""Id of a step and name of its input."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """A wrong text, with what the judge says of it."""

    text: str
    is_accepted: bool
    likelihood: float
    """The network's probability; below 0 where the rules refuse it."""


class _Judge:
    """What an attacker computes on their own machine: rules and network are open."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def tried(self, text: str, *, task: ToolTask, slot: Slot) -> _Tried:
        """The verdict on the gold plan with this text in one place."""
        if task.gold is None:
            return _Tried(text, is_accepted=False, likelihood=-1.0)
        plan = with_texts(plan=task.gold, texts={slot: text})
        try:
            judged = judge(suite=self._suite, task=task, value=plan_to_json(plan))
        except PlanSyntaxError:
            return _Tried(text, is_accepted=False, likelihood=-1.0)
        return _Tried(text, is_accepted=bool(judged.judgement.SE), likelihood=_likelihood(judged))


def _likelihood(judged: JudgedPlan) -> float:
    known = [float(pair.answers[0]) for pair in judged.pairs if pair.answers]
    return min(known, default=-1.0)


def _wrong_texts(task: ToolTask, *, wanted: str) -> Iterator[str]:
    """Wrong texts for a place in which another one is wanted."""
    own = set(base_forms(f"{wanted} {task.text}"))
    rng = random.Random(task.key)  # noqa: S311 - not for secrets
    for thing in rng.sample(_THINGS, 3):
        if thing not in own:
            yield from (pattern.format(thing) for pattern in _WRONG)


def _additions(task: ToolTask, *, wanted: str) -> Sequence[str]:
    """What may be added to a wrong text: endings, and words of the request that are not wanted."""
    taken = set(base_forms(wanted))
    words = dict.fromkeys(re.findall(r"[^\W\d_]{3,}", without_names(task.text).lower()))
    return [*_ENDINGS, *_KINDS, *(word for word in words if not set(base_forms(word)) & taken)]


class _Edited:
    """Gives the right tools, for each text, a wrong one that the judge accepts, found by adding words greedily."""

    def __init__(self, target: Target) -> None:
        self._suite = target.asked
        self._judge = _Judge(target.asked)

    def __call__(self, request: PlannerRequest) -> object:
        task = self._suite.task(request.task.id)
        assert isinstance(task, ToolTask)
        assert task.gold is not None
        texts: dict[Slot, str] = {}
        for step, name in literals_of(task):
            found = self._found(task, slot=(step.id, name), wanted=step.inputs[name])
            texts[step.id, name] = found.text
            if not found.is_accepted:
                break
        rest = {(step.id, name): _THINGS[0] for step, name in literals_of(task)}
        return plan_to_json(with_texts(plan=task.gold, texts=rest | texts))

    def _found(self, task: ToolTask, *, slot: Slot, wanted: str) -> _Tried:
        tried = [self._judge.tried(text, task=task, slot=slot) for text in _wrong_texts(task, wanted=wanted)]
        best = sorted(tried, key=_rank)[:_KEPT]
        for _ in range(_EDITS):
            if best[0].is_accepted or best[0].likelihood < 0:
                break
            longer = [
                self._judge.tried(f"{each.text} {word}", task=task, slot=slot)
                for each in best[:1]
                for word in _additions(task, wanted=wanted)
            ]
            best = sorted([*best, *longer], key=_rank)[:_KEPT]
        return best[0]


def _rank(tried: _Tried) -> tuple[bool, float]:
    return not tried.is_accepted, -tried.likelihood


class _WithEnding:
    """Gives the right tools wrong texts with one ending, chosen on public requests for the network to accept most."""

    def __init__(self, target: Target) -> None:
        self._target = target

    @cached_property
    def _ending(self) -> str:
        own = _Judge(self._target.public)
        chosen = ""
        places = [
            (task, (step.id, name), step.inputs[name])
            for task in self._target.public.tasks
            if isinstance(task, ToolTask)
            for step, name in literals_of(task)[:1]
        ]
        places = random.Random("endings").sample(places, min(_LEARNED_FROM, len(places)))  # noqa: S311
        for _ in range(_EDITS):
            likelihoods = {
                ending: sum(
                    own.tried(f"{self._wrong(task, wanted=wanted)} {chosen} {ending}", task=task, slot=slot).likelihood
                    for task, slot, wanted in places
                )
                for ending in _ENDINGS
            }
            chosen = f"{chosen} {max(likelihoods, key=likelihoods.__getitem__)}".strip()
        return chosen

    def _wrong(self, task: ToolTask, *, wanted: str) -> str:
        return next(_wrong_texts(task, wanted=wanted), _THINGS[0])

    def __call__(self, request: PlannerRequest) -> object:
        task = self._target.asked.task(request.task.id)
        assert isinstance(task, ToolTask)
        assert task.gold is not None
        texts = {
            (step.id, name): f"{self._wrong(task, wanted=step.inputs[name])} {self._ending}"
            for step, name in literals_of(task)
        }
        return plan_to_json(with_texts(plan=task.gold, texts=texts))


ATTACKS = (
    (
        "weak-matching",
        Attack(
            name="wrong texts, edited for the network",
            description="Gives the right tools wrong texts, with up to three words added that the network likes best.",
            make=lambda target: PlansOf("edited", _Edited(target)),
            knows=Knowledge.TOOLS,
            applies=on_judged_texts,
            is_slow=True,
        ),
    ),
    (
        "weak-matching",
        Attack(
            name="wrong texts with one ending",
            description="Gives the right tools wrong texts with an ending for which the network accepts most of them.",
            make=lambda target: PlansOf("ending", _WithEnding(target)),
            knows=Knowledge.TOOLS,
            applies=on_judged_texts,
            is_slow=True,
        ),
    ),
)
