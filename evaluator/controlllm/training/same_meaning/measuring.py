"""Thresholds from the calibration pairs, and quality on hidden pairs, both behind the rules of the judge."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.controlllm.toolbench.goals.goal import says
from evaluator.controlllm.toolbench.goals.parts import Action, Asking, Literal, Object, Saying, SayingKind
from evaluator.controlllm.toolbench.meaning.guards import has_little_in_common
from evaluator.controlllm.toolbench.meaning.intents import Intent
from evaluator.controlllm.toolbench.meaning.sentences import base_forms, next_to
from evaluator.controlllm.toolbench.meaning.verdict import Pair, Verdict
from evaluator.controlllm.training.same_meaning.generated import TextPair
from evaluator.controlllm.training.same_meaning.natural import HIDDEN_PARTS, Part, natural_pairs
from evaluator.scoring.arbiters.base import Outcome, Question
from evaluator.scoring.arbiters.network import SameMeaning
from evaluator.scoring.metrics.statistics import Interval, wilson

KINDS = ("question", "prompt", "object", "ask", "text", "action")
_TOGETHER: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "text", "ask"),
    "text": ("question", "text", "ask"),
    "ask": ("question", "text", "ask"),
    "prompt": ("prompt",),
    "object": ("object", "action"),
    "action": ("object", "action"),
}
"""Kinds with few pairs share the thresholds of similar ones."""
FALSE_ACCEPTANCE = {"plans": 0.03, "hard": 0.15}
"""Largest shares of the different pairs that the rules leave undecided, or refuse, and that are accepted: of texts as
planners write them and of hard ones."""
UNDECIDED = 0.03
"""Share of planners' texts that stays undecided: those with probabilities next below the threshold of `same`."""
_LEAST, _MOST = 0.5, 0.5
"""Lowest threshold of `same`, and highest of `different`: what is less likely than not is never left open."""
_ASKS = {
    "how many ": Intent.COUNT,
    "is there a ": Intent.PRESENCE,
    "is there an ": Intent.PRESENCE,
    "remove ": Intent.REMOVE,
    "find ": Intent.GROUND,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A labelled pair with what the rules and the network say of it."""

    kind: str
    same: bool
    """The label."""
    ruled: Verdict
    probability: float
    """The network's, in [0, 1]; 0 for texts that it cannot read."""
    is_only_refused: bool = False
    """Whether the network can only refuse it in plans."""


def compared(pairs: Sequence[TextPair], *, network: SameMeaning) -> list[Compared]:
    """Ask rules and network about pairs."""
    return [
        Compared(
            kind=pair.kind,
            same=pair.same,
            ruled=ruled(pair),
            probability=_probability(pair, network=network),
            is_only_refused=has_little_in_common(
                Pair(kind=pair.kind, wanted=pair.wanted, given=pair.given, why=""), request=pair.request
            ),
        )
        for pair in pairs
    ]


def _probability(pair: TextPair, *, network: SameMeaning) -> float:
    question = Question(kind=pair.kind, wanted=pair.wanted, given=pair.given, request=pair.request)
    return network.probability(question) or 0.0


def ruled(pair: TextPair) -> Verdict:
    """The verdict of the rules alone."""
    verdict = says(text=pair.given, pattern=_pattern(pair))
    if isinstance(verdict, Verdict):
        return verdict
    return Verdict.DIFFERENT if verdict.refused else Verdict.UNDECIDED


def _pattern(pair: TextPair) -> Literal:
    if pair.kind == "action":
        return Action(pair.wanted)
    if pair.kind == "object":
        return Object(pair.wanted, attributes=next_to(text=pair.request, name=pair.wanted))
    if pair.kind == "ask":
        lowered = pair.wanted.lower().rstrip("?. ")
        for start, intent in _ASKS.items():
            if lowered.startswith(start):
                about = lowered.removeprefix(start).removeprefix("the ")
                return Asking(intent, about=about, attributes=next_to(text=pair.request, name=about))
        intent = Intent.DESCRIBE if lowered.startswith("describe") else Intent.LIST
        return Asking(intent, attributes=frozenset(base_forms(pair.request)))
    asked = frozenset(base_forms(pair.request)) if pair.kind == "prompt" else frozenset()
    return Saying(kind=SayingKind(pair.kind), text=pair.wanted, asked=asked)


def thresholds(*, plans: Sequence[Compared], hard: Sequence[Compared]) -> dict[str, dict[str, float]]:
    """For each kind the lowest probability of `same`, the one that overturns a refusal by the rules (`overturned`), and
    the highest of `different`.

    The first two are the lowest with at most `FALSE_ACCEPTANCE` of either set, each over all different pairs of the
    similar kinds on which the rules have the same verdict. The third leaves `UNDECIDED` of all planners' texts open, or
    more if it would pass 0.5.
    """
    chosen = {}
    for kind in KINDS:
        own = {
            name: [one for one in pairs if one.kind in _TOGETHER[kind]]
            for name, pairs in (("plans", plans), ("hard", hard))
        }
        same, overturned = (
            max(_lowest(own[name], ruled=verdict, most=most) for name, most in FALSE_ACCEPTANCE.items())
            for verdict in (Verdict.UNDECIDED, Verdict.DIFFERENT)
        )
        below = sorted(
            (one.probability for one in own["plans"] if one.ruled is Verdict.UNDECIDED and one.probability < same),
            reverse=True,
        )
        count = int(UNDECIDED * len(own["plans"]))
        different = min(_MOST, math.ceil(1e4 * below[count]) / 1e4) if count < len(below) else 0.0
        chosen[kind] = {"same": same, "overturned": max(same, overturned), "different": different}
    return chosen


def _lowest(pairs: Sequence[Compared], *, ruled: Verdict, most: float) -> float:
    """The lowest probability of `same` that accepts at most the share `most` of the different pairs with a verdict."""
    different = sorted((one.probability for one in pairs if one.ruled is ruled and not one.same), reverse=True)
    if not different:
        return 1.0
    return max(_LEAST, round(different[int(most * len(different))] + 1e-4, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Verdicts of rules and network on labelled pairs."""

    accepted: Interval
    """Of the pairs with the same meaning."""
    refused: Interval
    """Of these, judged different."""
    wrongly_accepted: Interval
    """Of the pairs with different meanings."""
    undecided: Interval
    """Of all pairs."""
    area: float
    """Of the network alone: under the curve of acceptance by false acceptance (AUC), in [0, 1]."""


def quality(pairs: Sequence[Compared], *, thresholds: Mapping[str, Mapping[str, float]]) -> Quality:
    """Measure rules and network with thresholds."""
    verdicts = [_verdict(one, thresholds=thresholds[one.kind]) for one in pairs]
    labels = [one.same for one in pairs]

    def share(verdict: Outcome, label: bool | None) -> Interval:
        own = [given for given, same in zip(verdicts, labels, strict=True) if label in {None, same}]
        return wilson(successes=own.count(verdict), total=len(own))

    return Quality(
        accepted=share("same", True),
        refused=share("different", True),
        wrongly_accepted=share("same", False),
        undecided=share("undecided", None),
        area=area([one.probability for one in pairs], labels),
    )


def _verdict(one: Compared, *, thresholds: Mapping[str, float]) -> Outcome:
    if one.ruled is Verdict.SAME:
        return "same"
    if one.ruled is Verdict.DIFFERENT:
        overturns = one.probability >= thresholds["overturned"] and not one.is_only_refused
        return "same" if overturns else "different"
    if one.probability >= thresholds["same"]:
        return "undecided" if one.is_only_refused else "same"
    return "different" if one.probability <= thresholds["different"] else "undecided"


def area(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The probability that a pair with the same meaning scores higher than another one; ties count one half."""
    places = sorted(range(len(scores)), key=lambda place: scores[place])
    total, below, start = 0.0, 0, 0
    while start < len(places):
        end = start
        while end < len(places) and scores[places[end]] == scores[places[start]]:
            end += 1
        equal = sum(labels[place] for place in places[start:end])
        total += equal * (below + (end - start - equal) / 2)
        below += end - start - equal
        start = end
    positive = sum(labels)
    return total / max(1, positive * (len(labels) - positive))


def calibrate(folder: Path) -> dict[str, dict[str, float]]:
    """Write `thresholds.json` of a network."""
    path = folder / "thresholds.json"
    path.write_text(json.dumps({}))
    network = SameMeaning(folder)
    chosen = thresholds(
        plans=compared(natural_pairs("calibration_plans"), network=network),
        hard=compared(natural_pairs("calibration"), network=network),
    )
    path.write_text(json.dumps(chosen, indent=1, sort_keys=True) + "\n")
    return chosen


def measured(folder: Path) -> dict[Part, dict[str, Quality]]:
    """The quality of a network on the hidden parts: for each part by kind, and for all kinds under `all`."""
    network = SameMeaning(folder)
    limits = {kind: network.thresholds(kind) for kind in KINDS}
    found: dict[Part, dict[str, Quality]] = {}
    for part in HIDDEN_PARTS:
        pairs = compared(natural_pairs(part), network=network)
        by_kind = {kind: [one for one in pairs if one.kind == kind] for kind in KINDS}
        found[part] = {name: quality(own, thresholds=limits) for name, own in {**by_kind, "all": pairs}.items()}
    return found
