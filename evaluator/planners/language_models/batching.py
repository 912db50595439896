"""Which calls are answered together, and how one that makes a batch fail is found. No torch here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a call takes of a batch."""

    prompt: int
    """Tokens."""
    new: int
    """Tokens that may be added, at most."""
    rows: int = 1
    """Beams."""


def batches(sizes: Sequence[Size], *, rows: int, context: int | None) -> list[list[int]]:
    """Positions of the calls in batches of similar length, the longest first, so that too little memory shows at once.

    Args:
        sizes: of each call.
        rows: at most so many in one batch; a call that has more is a batch of its own.
        context: in no batch does the longest prompt with the longest addition exceed it, unless one call alone does;
            where a row ends early its positions go on as long as the batch does.
    """
    made: list[list[int]] = []
    taken = prompt = new = 0
    for position in sorted(range(len(sizes)), key=lambda at: (-sizes[at].prompt, -sizes[at].new, at)):
        size = sizes[position]
        longer, more = max(prompt, size.prompt), max(new, size.new)
        if not made or taken + size.rows > rows or (context is not None and longer + more > context):
            made.append([])
            taken, longer, more = 0, size.prompt, size.new
        made[-1].append(position)
        taken, prompt, new = taken + size.rows, longer, more
    return made


def isolated(
    items: Sequence[Item],
    *,
    run: Callable[[Sequence[Item]], Sequence[Result]],
    failed: Callable[[Item, Exception], Result],
    recover: Callable[[Exception], None],
) -> list[Result]:
    """The results of a batch. One that fails is halved until the item that fails alone is found.

    Args:
        items: at least one.
        run: gives one result for each item, or raises.
        failed: the result of an item that fails alone.
        recover: called after each failure, when nothing refers to the memory of the batch any more.
    """
    problem: Exception
    try:
        return list(run(items))
    except Exception as error:  # noqa: BLE001 - whatever an item does to a model must not cost the others
        # Frames in the traceback would keep the tensors of the failed batch alive.
        problem = error.with_traceback(None)
        problem.__context__ = problem.__cause__ = None
    recover(problem)
    if len(items) == 1:
        return [failed(items[0], problem)]
    middle = (len(items) + 1) // 2
    halves = (items[:middle], items[middle:])
    return [result for half in halves for result in isolated(half, run=run, failed=failed, recover=recover)]
