"""The feedback after a turn: results and errors in words, truncated to a limit."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.core.turns import ActionResult, PastTurn
from evaluator.episodes.turns.wanted import Done


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What an episode may use."""

    turns: int = 16
    actions: int = 64
    seconds: float = 600.0
    """Of the planner and of the tools together; waiting for others does not count."""
    feedback_characters: int = 4000
    """Of the feedback after one turn, and of its subgoals as later requests repeat them."""
    held_characters: int = 1_000_000
    """Of all results together that later actions can take."""


def cut(text: str, *, characters: int) -> str:
    """The text, or its beginning with a remark on how much of it there is. Cut texts have exactly that many characters,
    the remark aside."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]} [cut: {characters} of {len(text)} characters]"


def past_turn(
    *, index: int, subgoals: tuple[str, ...], actions: Sequence[Done], error: str, characters: int
) -> tuple[PastTurn, bool]:
    """A turn as later requests tell it, and whether anything was cut."""
    share = max(1, characters // max(1, len(actions)))
    results = [_result(done, characters=share) for done in actions]
    words = [f"{'; '.join(f'{name} = {text}' for name, text in one.outputs.items())}{one.error}" for one in results]
    feedback = "\n".join(filter(None, (error, *words)))
    is_cut = len(feedback) > characters or any("[cut: " in text for one in results for text in one.outputs.values())
    past = PastTurn(
        index=index, subgoals=[cut(text, characters=characters // len(subgoals)) for text in subgoals],
        results=results, error=cut(error, characters=characters),
        feedback=cut(feedback, characters=characters),
    )  # fmt: skip
    return past, is_cut


def _result(done: Done, *, characters: int) -> ActionResult:
    return ActionResult(
        action=cut(done.wanted.text, characters=characters),
        outputs={name: cut(text, characters=characters) for name, text in done.values.items()},
        pictures=dict(done.pictures),
        error=cut(done.run.error, characters=characters),
    )
