"""A comparison in words: who is better by how much and how sure that is, and figures as texts."""

from collections.abc import Sequence
from typing import NamedTuple

from django.utils.text import Truncator

from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.statistics import NEEDED
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.web.compare.comparing import MetricDifference, Pair
from leaderboard.evaluations.web.compare.services import LETTERS, Comparison

LEVEL = 0.05
"""Significance level: with a larger p-value, the sentence calls the difference chance."""
LONGEST_NAME = 40
"""Characters of a planner's name within a sentence."""
_OUTCOMES = {
    "infra_fault": "infrastructure fault",
    "cancelled": "cancelled",
    "pending": "no result",
    "not_run": "not run",
}
_MINUS = "\N{MINUS SIGN}"


class Verdict(NamedTuple):
    """One comparison in words."""

    better: str
    """Letter of the better one; nothing where neither is."""
    sentence: str
    caution: str


def verdicts(*, evaluations: Sequence[Evaluation], comparison: Comparison, metric: Column) -> tuple[Verdict, ...]:
    """One sentence for each evaluation after the first."""
    names = [_name(letter, evaluation) for letter, evaluation in zip(LETTERS, evaluations, strict=False)]
    found = []
    for number, pair in enumerate(comparison.pairs, start=1):
        verdict = _verdict(
            found=pair.of(metric.key), metric=metric, names=(names[0], names[number]),
            letters=(LETTERS[0], LETTERS[number]), tests=len(comparison.pairs),
        )  # fmt: skip
        found.append(verdict)
    return tuple(found)


def p_text(value: float | None) -> str:
    """A p-value with its significant digits; a bound for very small ones; a dash where there was no test."""
    if value is None:
        return "—"
    if value < 0.0001:
        return "< 0.0001"
    return f"{value:.4f}" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def signed(value: float) -> str:
    """Three decimals with a sign; no sign for what rounds to zero."""
    text = f"{value:+.3f}".replace("-", _MINUS)
    return "0.000" if text in {"+0.000", f"{_MINUS}0.000"} else text


def difference_text(found: MetricDifference) -> str:
    """A difference with its sign; a range where undecided tasks leave it open."""
    least, most = signed(found.least), signed(found.most)
    return signed(found.difference.mean) if least == most else f"{least} to {most}"


def _name(letter: str, evaluation: Evaluation) -> str:
    """Letter and name, cut if it is long: the table below has the whole name."""
    return f"{letter} ({Truncator(evaluation.submission.planner.name).chars(LONGEST_NAME)})"


def _verdict(
    *, found: MetricDifference | None, metric: Column, names: tuple[str, str], letters: tuple[str, str], tests: int
) -> Verdict:
    first, other = names
    if found is None:
        sentence = f"{first} and {other} have no task in common with a value of {metric.label}: nothing is compared."
        return Verdict(better="", sentence=sentence, caution="")
    # Of all ways to settle undecided tasks, the difference nearest to 0.
    mean = found.least if found.least > 0 else found.most if found.most < 0 else 0.0
    count, ends = found.difference.count, found.difference.ends
    over = f"over {count:,} task{'' if count == 1 else 's'}"
    if found.undecided and round(abs(mean), 12) == 0:
        span = f", 95 % interval {_plain(ends[0])} to {_plain(ends[1])}" if ends else ""
        sentence = (
            f"Undecided tasks leave open whether {first} or {other} scores higher in {metric.label}: by "
            f"{difference_text(found)}{span}, {over}."
        )
        return Verdict(better="", sentence=sentence, caution="")
    if round(abs(mean), 12) == 0:
        equal = found.ties == count
        same = "the same on every task" if equal else "the same on average"
        sentence = f"{first} and {other} score {same} in {metric.label}, p = {p_text(found.adjusted)}, {over}."
        return Verdict(better="", sentence=sentence.replace("= <", "<"), caution="")
    ahead, letter = (other, letters[1]) if mean > 0 else (first, letters[0])
    behind = first if mean > 0 else other
    if ends is not None and mean <= 0:
        ends = -ends[1], -ends[0]
    span = f"{_plain(ends[0])} to {_plain(ends[1])}" if ends else f"no interval over fewer than {NEEDED}"
    adjusted = f" (Holm, {tests} tests)" if tests > 1 else ""
    p_value = f"p = {p_text(found.adjusted)}{adjusted}".replace("= <", "<") if found.adjusted is not None else "no test"
    # However they are settled.
    least = "at least " if found.least != found.most else ""
    amount = f"{least}{abs(mean):.3f}"
    sentence = f"{ahead} scores higher than {behind} in {metric.label} by {amount} ({span}), {p_value}, {over}."
    if not metric.ordered:
        sentence = sentence.replace("scores higher", "is larger", 1)
    elif not metric.higher_is_better:
        sentence += " Lower is better in this metric."
        letter = letters[0] if letter == letters[1] else letters[1]
    caution = _caution(found.adjusted)
    return Verdict(better=letter if metric.ordered and not caution else "", sentence=sentence, caution=caution)


def _caution(p_value: float | None) -> str:
    if p_value is None:
        return f"Fewer than {NEEDED}, too few to test the difference."
    return "" if p_value < LEVEL else "A difference of this size may be due to chance."


def _plain(value: float) -> str:
    return f"{value:.3f}".replace("-", _MINUS)


def left_out_in_words(pairs: Sequence[Pair]) -> tuple[str, ...]:
    sentences = []
    for number, pair in enumerate(pairs, start=1):
        if pair.left_out:
            told = ", ".join(f"{count:,} {_OUTCOMES[outcome]}" for outcome, count in pair.left_out.items())
            total = sum(pair.left_out.values())
            tasks = "1 task is" if total == 1 else f"{total:,} tasks are"
            sentences.append(f"{LETTERS[number]} against {LETTERS[0]}: {tasks} left out ({told}).")
    return tuple(sentences)
