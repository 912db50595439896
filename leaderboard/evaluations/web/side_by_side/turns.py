"""Episodes beside each other: their turns by number, and in each turn the actions that belong together. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from leaderboard.evaluations.web.side_by_side.aligning import AlignedStep, aligned
from leaderboard.evaluations.web.tasks.transcript_shown import ShownAction, ShownTranscript, ShownTurn
from leaderboard.evaluations.web.tasks.values_shown import ShownValue


class ActionCell(NamedTuple):
    """One planner's action."""

    action: ShownAction | None
    """None in the first row of a turn that has other actions, or none."""
    turn: ShownTurn | None
    """Set in the first row of the turn only, where its subgoals and errors are shown."""


class ActionRow(NamedTuple):
    """Actions beside each other."""

    title: str
    differs: bool
    """Whether planners whose episodes are shown act differently."""
    cells: tuple[ActionCell | None, ...]


class Episodes(NamedTuple):
    """One episode of each planner."""

    transcripts: tuple[ShownTranscript | None, ...]
    """None where there is none, or where it is withheld."""
    rows: tuple[ActionRow, ...]
    left_out: int
    """Most turns of an episode that are not shown."""
    expected: ShownValue | None
    """The right answer."""
    sentence: str
    """Where the actions differ first; empty for fewer than two episodes."""


def episodes(transcripts: Sequence[ShownTranscript | None]) -> Episodes | None:
    """Lay out episodes on the same sample; None if there is no episode."""
    found = [one for one in transcripts if one is not None]
    if not found:
        return None
    rows: list[ActionRow] = []
    first = 0
    for number in range(1, max(len(one.turns) for one in found) + 1):
        rows += _rows_of_turn(transcripts, number=number)
        first = first or (number if any(row.differs for row in rows) else 0)
    return Episodes(
        transcripts=tuple(transcripts),
        rows=tuple(rows),
        left_out=max(one.turns_left_out for one in found),
        expected=next((one.expected for one in found if one.expected is not None), None),
        sentence="" if len(found) < 2 else f"The actions first differ in turn {first}." if first else _ALL_THE_SAME,
    )


_ALL_THE_SAME = "All planners take the same actions."


def _rows_of_turn(transcripts: Sequence[ShownTranscript | None], *, number: int) -> list[ActionRow]:
    turns = [None if one is None or len(one.turns) < number else one.turns[number - 1] for one in transcripts]
    rows = aligned([[action.tool for action in turn.actions] if turn else [] for turn in turns])
    # Turns without any action have a row too: they may have errors.
    rows = rows or [AlignedStep("", (None,) * len(turns))]
    return [
        ActionRow(
            title=f"Turn {number}" if len(rows) == 1 else f"Turn {number}, action {place}",
            differs=_differs(transcripts, turns=turns, row=row),
            cells=tuple(_cell(turn, at=at, opens=place == 1) for turn, at in zip(turns, row.places, strict=True)),
        )
        for place, row in enumerate(rows, start=1)
    ]


def _differs(
    transcripts: Sequence[ShownTranscript | None], *, turns: Sequence[ShownTurn | None], row: AlignedStep
) -> bool:
    """Whether two episodes have not the same action here, or one has ended. White space does not count."""
    actions = {
        None if turn is None else "" if place is None else " ".join(turn.actions[place].text.split())
        for transcript, turn, place in zip(transcripts, turns, row.places, strict=True)
        if transcript is not None
    }
    return len(actions) > 1


def _cell(turn: ShownTurn | None, *, at: int | None, opens: bool) -> ActionCell | None:
    if turn is None or (at is None and not opens):
        return None
    return ActionCell(None if at is None else turn.actions[at], turn if opens else None)
