"""Answers that are grids beside each other: the candidates of each planner by their place. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from leaderboard.evaluations.web.tasks.grid_drawing import DrawnGrid
from leaderboard.evaluations.web.tasks.grids_shown import GridsPage, Pair, ShownCandidate, Verdict


class CandidateRow(NamedTuple):
    """Candidates beside each other."""

    title: str
    differs: bool
    """Whether planners that have one give different grids."""
    cells: tuple[ShownCandidate | None, ...]
    """Without the right outputs, which are shown once."""


class Candidates(NamedTuple):
    """The grids of a task, and of the results of several planners."""

    demonstrations: tuple[Pair, ...]
    tests: tuple[Pair, ...]
    key: Sequence[tuple[int, str]]
    """Each colour with its letter in programs."""
    expected: tuple[tuple[str, DrawnGrid], ...]
    """The right output of each test, by its name, where it is known."""
    final: tuple[CandidateRow, ...]
    tried: tuple[CandidateRow, ...]
    tried_left_out: int


def candidates(pages: Sequence[GridsPage | None], *, letters: Sequence[str]) -> Candidates | None:
    """Lay out the grids of several results; None if no result has any.

    Args:
        pages: of each planner, as the page of its task has them.
        letters: of the planners.
    """
    found = [page for page in pages if page is not None]
    if not found:
        return None
    given = next((page for page in found if page.demonstrations), found[0])
    tests = [one for page in found for candidate in page.final for one in candidate.tests]
    return Candidates(
        demonstrations=given.demonstrations,
        tests=given.tests,
        key=given.key,
        expected=tuple({one.name: one.expected for one in tests if one.expected is not None}.items()),
        final=_rows([page.final if page else () for page in pages], letters=letters, noun="Candidate"),
        tried=_rows([page.tried if page else () for page in pages], letters=letters, noun="Try"),
        tried_left_out=max(page.tried_left_out for page in found),
    )


def _rows(
    columns: Sequence[Sequence[ShownCandidate]], *, letters: Sequence[str], noun: str
) -> tuple[CandidateRow, ...]:
    return tuple(
        _row(
            [column[place] if place < len(column) else None for column in columns],
            letters=letters,
            title=f"{noun} {place + 1}",
        )
        for place in range(max(map(len, columns)))
    )


def _row(cells: Sequence[ShownCandidate | None], *, letters: Sequence[str], title: str) -> CandidateRow:
    outcomes = {tuple(_made(one.demonstrations, one.tests)) for one in cells if one is not None}
    return CandidateRow(
        title=title,
        differs=len(outcomes) > 1,
        cells=tuple(
            None if one is None else _shown(one, title=f"{letter}, {one.title}")
            for letter, one in zip(letters, cells, strict=False)
        ),
    )


def _made(*verdicts: Sequence[Verdict]) -> Iterable[tuple[str, str]]:
    """The outcome of each input, with the grid."""
    for one in (one for group in verdicts for one in group):
        yield one.status, one.output.text if one.output else ""


def _shown(candidate: ShownCandidate, *, title: str) -> ShownCandidate:
    return candidate._replace(
        title=title,
        demonstrations=tuple(one._replace(expected=None) for one in candidate.demonstrations),
        tests=tuple(one._replace(expected=None) for one in candidate.tests),
    )
