"""DeAcc: the share of requests whose task decomposition is right (ControlLLM, appendix 2.3, Table A5).

In the paper a decomposition is right if and only if every field of every subtask equals the ground truth; it does not
define the comparison of free text. The rule here:

- there are as many subtasks as in the gold, in the same order;
- `id`, `task`, `dep`, `args` and `returns` are equal, lists in their order, texts character by character. Equivalent
  are `<GEN>-0` and `<GENERATED>-0`, `[]` and `[-1]` as `dep`, and `"x"` and `["x"]` as `task`;
- the `description` names the same tools in back-ticks, and the F1 of its words (a multiset, ignoring case and
  punctuation) with those of the gold is at least 0.5.

A missing or unreadable decomposition is wrong.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evaluator.core.plans.model import PlanSyntaxError
from evaluator.replies.decomposition import Argument, Decomposition, Subtask, parse_decomposition
from evaluator.scoring.metrics.statistics import Interval, wilson

LEAST_F1 = 0.5
_PLACEHOLDER = re.compile(r"<GEN>(?=-\d)")
_TOOL = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a decomposition is right, and if not, every difference as a sentence."""

    right: bool
    why: tuple[str, ...] = ()


def judge_decomposition(*, predicted: str | None, gold: Decomposition) -> Verdict:
    """Compare a planner's decomposition with the gold.

    Args:
        predicted: the unmodified text, `<Solution>[...]</Solution>`; None if there is none.
        gold: the ground truth.
    """
    if predicted is None:
        return Verdict(right=False, why=("there is no decomposition",))
    try:
        read = parse_decomposition(predicted)
    except PlanSyntaxError as error:
        return Verdict(right=False, why=(f"the decomposition cannot be read: {error}",))
    if len(read.subtasks) != len(gold.subtasks):
        return Verdict(right=False, why=(f"{len(read.subtasks)} subtasks instead of {len(gold.subtasks)}",))
    differences = tuple(
        f"subtask {index}: {sentence}"
        for index, (subtask, right) in enumerate(zip(read.subtasks, gold.subtasks, strict=True))
        for _, sentence in _differences(subtask, right=right)
    )
    return Verdict(right=not differences, why=differences)


FIELDS = ("subtasks", "task", "dep", "args", "returns", "description")


def right_fields(*, predicted: str | None, gold: Decomposition) -> dict[str, bool]:
    """Which of `FIELDS` are right in every subtask, by the rule of DeAcc; none if the numbers of subtasks differ.

    `subtasks` is the number of subtasks.
    """
    nothing = dict.fromkeys(FIELDS, False)
    if predicted is None:
        return nothing
    try:
        read = parse_decomposition(predicted)
    except PlanSyntaxError:
        return nothing
    if len(read.subtasks) != len(gold.subtasks):
        return nothing
    pairs = zip(read.subtasks, gold.subtasks, strict=True)
    wrong = {field for subtask, right in pairs for field, _ in _differences(subtask, right=right)}
    return {name: name not in wrong for name in FIELDS}


def deacc(verdicts: Iterable[Verdict]) -> Interval:
    """Share of right decompositions, in [0, 1], with its 95 % Wilson interval.

    Raises:
        ValueError: there are no verdicts.
    """
    outcomes = [verdict.right for verdict in verdicts]
    return wilson(successes=sum(outcomes), total=len(outcomes))


def description_f1(first: str, second: str) -> float:
    """F1 of the words of two texts as multisets, in [0, 1]; 1 for two texts without words. Symmetric."""
    words, others = (Counter(_WORD.findall(text.lower())) for text in (first, second))
    if not words and not others:
        return 1.0
    return 2 * (words & others).total() / (words.total() + others.total())


def _differences(subtask: Subtask, *, right: Subtask) -> Iterator[tuple[str, str]]:
    """The field of each difference from the gold's subtask, with a sentence."""
    fields: tuple[tuple[str, object, object], ...] = (
        ("id", subtask.id, right.id),
        ("task", list(subtask.domains), list(right.domains)),
        ("dep", list(subtask.dependencies), list(right.dependencies)),
        ("args", _resources(subtask.args), _resources(right.args)),
        ("returns", _resources(subtask.returns), _resources(right.returns)),
    )
    for name, value, expected in fields:
        if value != expected:
            yield name, f"{name} is {_shown(value)}, not {_shown(expected)}"
    tools, right_tools = (sorted(set(_TOOL.findall(one.description))) for one in (subtask, right))
    if tools != right_tools:
        yield "description", f"its description names the tools {_shown(tools)}, not {_shown(right_tools)}"
    f1 = description_f1(_one_spelling(subtask.description), _one_spelling(right.description))
    if f1 < LEAST_F1:
        yield "description", f"its description shares too few words with the gold's (F1 {f1:.2f} < {LEAST_F1})"


def _resources(arguments: tuple[Argument, ...]) -> list[tuple[str, str]]:
    return [(argument.type, _one_spelling(argument.value)) for argument in arguments]


def _one_spelling(text: str) -> str:
    return _PLACEHOLDER.sub("<GENERATED>", text)


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
