"""DeAcc: the share of requests whose task decomposition is right (ControlLLM, appendix 2.3, Table A5).

The paper calls a decomposition right if and only if every field of every subtask equals the ground truth, and does not
say how free text is compared. The rule here:

- there are as many subtasks as in the gold, in the same order;
- `id`, `task`, `dep`, `args` and `returns` are exactly equal, lists in their order, texts character by character; only
  the two spellings of a placeholder, `<GEN>-0` and `<GENERATED>-0`, are the same, and so are `[]` and `[-1]` as `dep`
  and `"x"` and `["x"]` as `task`;
- the `description` names the same tools in back-ticks, and the F1 of its words (a multiset, without upper case and
  punctuation) with those of the gold's is at least 0.5.

A decomposition that is missing or cannot be read is wrong.
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
    """Compare a planner's decomposition, as it was received, with the gold.

    Args:
        predicted: the text, `<Solution>[...]</Solution>`, or None if the planner gave none.
        gold: the ground truth.
    """
    if predicted is None:
        return Verdict(right=False, why=("there is no decomposition",))
    try:
        read = parse_decomposition(predicted)
    except PlanSyntaxError as error:
        return Verdict(right=False, why=(f"the decomposition cannot be read: {error}",))
    differences = tuple(_differences(predicted=read.subtasks, gold=gold.subtasks))
    return Verdict(right=not differences, why=differences)


FIELDS = ("subtasks", "task", "dep", "args", "returns", "description")


def right_fields(*, predicted: str | None, gold: Decomposition) -> dict[str, bool]:
    """Which of `FIELDS` are right in every subtask, by the rule of DeAcc; none is where the numbers of subtasks differ.

    `subtasks` is right where there are as many as in the gold.
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
    wrong = set[str]()
    for found, wanted in zip(read.subtasks, gold.subtasks, strict=True):
        wrong |= {name for name in FIELDS if any(_differs(name, found=found, wanted=wanted))}
    return {name: name not in wrong for name in FIELDS}


def _differs(name: str, *, found: Subtask, wanted: Subtask) -> Iterator[bool]:
    if name == "description":
        yield from (True for _ in _description_differences(where="", found=found, wanted=wanted))
    yield from (True for field, *_ in _unequal_fields(found=found, wanted=wanted) if field == name)


def deacc(verdicts: Iterable[Verdict]) -> Interval:
    """Share of right decompositions, in [0, 1], with its 95 % Wilson interval.

    Raises:
        ValueError: there is no verdict.
    """
    outcomes = [verdict.right for verdict in verdicts]
    return wilson(successes=sum(outcomes), total=len(outcomes))


def description_f1(first: str, second: str) -> float:
    """F1 of the words of two texts as multisets, in [0, 1]; 1 for two texts without words. Symmetric."""
    one, other = _words(first), _words(second)
    if not one and not other:
        return 1.0
    return 2 * (one & other).total() / (one.total() + other.total())


def _differences(*, predicted: tuple[Subtask, ...], gold: tuple[Subtask, ...]) -> Iterator[str]:
    if len(predicted) != len(gold):
        yield f"{len(predicted)} subtasks instead of {len(gold)}"
        return
    for index, (found, wanted) in enumerate(zip(predicted, gold, strict=True)):
        yield from _field_differences(where=f"subtask {index}", found=found, wanted=wanted)
        yield from _description_differences(where=f"subtask {index}", found=found, wanted=wanted)


def _field_differences(*, where: str, found: Subtask, wanted: Subtask) -> Iterator[str]:
    for name, is_now, should_be in _unequal_fields(found=found, wanted=wanted):
        yield f"{where}: {name} is {_shown(is_now)}, not {_shown(should_be)}"


def _unequal_fields(*, found: Subtask, wanted: Subtask) -> Iterator[tuple[str, object, object]]:
    fields: tuple[tuple[str, object, object], ...] = (
        ("id", found.id, wanted.id),
        ("task", list(found.domains), list(wanted.domains)),
        ("dep", list(found.dependencies), list(wanted.dependencies)),
        ("args", _resources(found.args), _resources(wanted.args)),
        ("returns", _resources(found.returns), _resources(wanted.returns)),
    )
    yield from (field for field in fields if field[1] != field[2])


def _description_differences(*, where: str, found: Subtask, wanted: Subtask) -> Iterator[str]:
    named, should_name = (sorted(set(_TOOL.findall(subtask.description))) for subtask in (found, wanted))
    if named != should_name:
        yield f"{where}: its description names the tools {_shown(named)}, not {_shown(should_name)}"
    likeness = description_f1(_one_spelling(found.description), _one_spelling(wanted.description))
    if likeness < LEAST_F1:
        yield f"{where}: its description shares too few words with the gold's (F1 {likeness:.2f} < {LEAST_F1})"


def _resources(arguments: tuple[Argument, ...]) -> list[tuple[str, str]]:
    return [(argument.type, _one_spelling(argument.value)) for argument in arguments]


def _one_spelling(text: str) -> str:
    return _PLACEHOLDER.sub("<GENERATED>", text)


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
