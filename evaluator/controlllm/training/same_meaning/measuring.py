"""Thresholds from the calibration pairs, and quality on hidden pairs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.controlllm.training.same_meaning.generated import TextPair
from evaluator.controlllm.training.same_meaning.natural import Part, natural_pairs
from evaluator.scoring.arbiters.base import Outcome, Question
from evaluator.scoring.arbiters.network import SameMeaning
from evaluator.scoring.metrics.statistics import Interval, wilson

KINDS = ("question", "prompt", "object", "ask", "text", "action")
_TOGETHER: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "text"),
    "text": ("question", "text"),
    "prompt": ("prompt",),
    "object": ("object", "action"),
    "action": ("object", "action"),
    "ask": ("ask",),
}
"""Kinds with few pairs share the thresholds of similar ones."""
FALSE_ACCEPTANCE, FALSE_REFUSAL = 0.006, 0.03
"""Largest shares on the calibration pairs: of different pairs that are accepted, of equal ones that are refused."""


def probabilities(pairs: Sequence[TextPair], *, network: SameMeaning) -> list[float]:
    """The network's probability for each pair; 0 for texts that are too long."""
    return [
        network.probability(Question(kind=pair.kind, wanted=pair.wanted, given=pair.given, request=pair.request)) or 0.0
        for pair in pairs
    ]


def thresholds(pairs: Sequence[TextPair], *, scores: Sequence[float]) -> dict[str, dict[str, float]]:
    """For each kind the lowest probability of `same` and the highest of `different`.

    They are the ones that decide most, of those with at most `FALSE_ACCEPTANCE` and `FALSE_REFUSAL`. No kind has
    a lower threshold of `same` than questions, of which there are most pairs.
    """
    floor = 0.5
    chosen = {}
    for kind in KINDS:
        own = [(score, pair.same) for score, pair in zip(scores, pairs, strict=True) if pair.kind in _TOGETHER[kind]]
        equal = sorted(score for score, same in own if same)
        lowest = max(_lowest([score for score, same in own if not same]), floor)
        floor = lowest if kind == KINDS[0] else floor
        highest = round(equal[int(FALSE_REFUSAL * len(equal))] - 1e-4, 4)
        chosen[kind] = {"same": lowest, "different": max(min(highest, 0.1), 0.0)}
    return chosen


def _lowest(different: Sequence[float]) -> float:
    """The lowest probability of `same`, from the probabilities of pairs with different meanings."""
    ordered = sorted(different, reverse=True)
    return round(ordered[int(FALSE_ACCEPTANCE * len(ordered))] + 1e-4, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Verdicts on labelled pairs."""

    accepted: Interval
    """Of the pairs with the same meaning."""
    refused: Interval
    """Of these, judged different."""
    wrongly_accepted: Interval
    """Of the pairs with different meanings."""
    undecided: Interval
    """Of all pairs."""
    area: float
    """Under the curve of acceptance by false acceptance (AUC), in [0, 1]."""


def quality(pairs: Sequence[TextPair], *, network: SameMeaning) -> Quality:
    """Measure a network with its thresholds."""
    questions = [Question(kind=pair.kind, wanted=pair.wanted, given=pair.given, request=pair.request) for pair in pairs]
    verdicts = [settled.verdict for settled in network.settle(questions)]
    labels = [pair.same for pair in pairs]

    def share(verdict: Outcome, label: bool | None) -> Interval:
        own = [given for given, same in zip(verdicts, labels, strict=True) if label in {None, same}]
        return wilson(successes=own.count(verdict), total=len(own))

    return Quality(
        accepted=share("same", True),
        refused=share("different", True),
        wrongly_accepted=share("same", False),
        undecided=share("undecided", None),
        area=area(probabilities(pairs, network=network), labels),
    )


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
    path.write_text(json.dumps({kind: {"same": 1.0, "different": 0.0} for kind in KINDS}))
    pairs = natural_pairs("calibration")
    chosen = thresholds(pairs, scores=probabilities(pairs, network=SameMeaning(folder)))
    path.write_text(json.dumps(chosen, indent=1, sort_keys=True) + "\n")
    return chosen


def measured(folder: Path, *, part: Part = "hidden") -> dict[str, Quality]:
    """The quality of a network on a part, by kind and in `all`."""
    network, pairs = SameMeaning(folder), natural_pairs(part)
    by_kind = {kind: [pair for pair in pairs if pair.kind == kind] for kind in KINDS}
    return {name: quality(own, network=network) for name, own in {**by_kind, "all": pairs}.items()}
