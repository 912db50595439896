"""The first lines of a board: who is best, by how much, which ranks cannot be told apart, and what speaks against the
order."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaluator.core.signatures.statements import Agreement, BoardSummary, Gap, Headroom, RandomPlans
from evaluator.core.suites.base import Column
from evaluator.scoring.board_agreement import CONTRADICTS
from evaluator.scoring.board_summary import is_real

Sentence = tuple[str | int, ...]
"""Parts in order: text, and positions of the rows whose names stand there."""
_MOST_GROUPS = 3
_POINT = 0.01
_MOST_METRICS = 3
_WORTH_READING = 0.05
"""Score of random plans from which on they shift how the scores of a board are read."""
_LEAST_WHOLE = 0.095
"""Share from which on percentages are whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRow:
    """A ranked row of a board, in the order of the ranks."""

    name: str
    rank: int
    mean: float
    low: float | None = None
    high: float | None = None
    """The 95 % interval of the mean; None over too few tasks or scenes."""
    upper: float | None = None
    """The mean if every undecided task is decided in the row's favour; None if all are decided."""
    exact: float | None = None
    """The share of exact plans; None on suites without them."""


def sentences(*, summary: BoardSummary, rows: Sequence[RankedRow], place: str = "This board") -> list[Sentence]:
    """Who leads, which ranks cannot be told apart, and what the board can detect: at most four sentences.

    Args:
        summary: of the board.
        rows: the ranked ones, in their order.
        place: subject of the sentence about the resolution.
    """
    return list(_sentences(summary=summary, rows=rows, place=place))


def remarks(*, summary: BoardSummary, rows: Sequence[RankedRow], columns: Sequence[Column]) -> list[Sentence]:
    """What other metrics, random plans and shortcuts say against the order, at most three sentences.

    Args:
        summary: of the board.
        rows: the ranked ones, in their order.
        columns: of the suite, for the names of metrics.
    """
    said: list[Sentence] = []
    if disagreement := _disagreement(summary.agreements or (), columns=columns):
        said.append((disagreement,))
    if summary.random_plans is not None:
        said.append(tuple(_random_plans(summary.random_plans, rows=rows, columns=columns)))
    if summary.headroom is not None:
        higher_is_better = next((column.higher_is_better for column in columns if column.primary), True)
        said.append((headroom_in_words(summary.headroom, higher_is_better=higher_is_better),))
    return said


def single(row: RankedRow, *, metric: str, tasks: int) -> str:
    """The score of one planner, such as `gold scores 0.900 in Exact plan (95 % interval 0.850 to 0.930; 120 tasks).`"""
    mean, _, range_ = _score(row).partition(", ")
    notes = [range_, _interval(row).removeprefix("; "), f"{tasks} task{'' if tasks == 1 else 's'}"]
    return f"{row.name} scores {mean} in {metric} ({'; '.join(filter(None, notes))})."


def plain(sentence: Sentence, *, rows: Sequence[RankedRow]) -> str:
    """A sentence as text."""
    return "".join(part if isinstance(part, str) else rows[part].name for part in sentence)


def _sentences(*, summary: BoardSummary, rows: Sequence[RankedRow], place: str) -> Iterator[Sentence]:
    if not rows:
        yield ("No planner is ranked yet.",)
        return
    first = rows[0]
    score = _score(first)
    if len(rows) == 1:
        yield 0, f" is the only ranked planner ({score}{_interval(first)})."
        return
    if summary.lead is None or summary.leaders > 1:
        yield (*_names(summary.leaders), f" share the best score ({score}).")
    elif summary.lead.p_value is None:
        yield 0, f" has the best score ({score}), but too few tasks or scenes were measured to compare planners."
    elif is_real(summary.lead):
        yield 0, f" is best ({score})."
    elif summary.lead.mean <= 0 and any(row.upper is not None for row in rows):
        yield 0, f" leads ({score}), but the undecided tasks could put ", summary.lead.second, " ahead."
    elif summary.lead.mean <= 0:
        yield 0, f" leads ({score}), but is not ahead of ", summary.lead.second, " on the tasks they share."
    else:
        yield (
            0,
            f" leads ({score}), but its lead over ",
            summary.lead.second,
            f" may be chance: {_gap(summary.lead, rows=rows)}.",
        )
    if summary.clear_lead is not None:
        second = summary.clear_lead.second
        of_rank = "" if summary.clear_lead == summary.lead else f" (rank {rows[second].rank})"
        subject: Sentence = (0, " is") if summary.leaders > 1 else ("It is",)
        yield *subject, " better than ", second, f"{of_rank} by {_gap(summary.clear_lead, rows=rows)}."
    if groups := _groups(summary.groups, rows=rows):
        yield (groups,)
    if summary.resolution is not None:
        needed = summary.needed
        more = f"; 2 points would take about {_about(needed.count)} {needed.unit}" if needed is not None else ""
        yield (f"{place} can tell {_points(summary.resolution)} apart{more}.",)


def _disagreement(agreements: Sequence[Agreement], *, columns: Sequence[Column]) -> str:
    """The metrics that contradict the primary one, such as `Exact plan orders the planners differently (Spearman's rank
    correlation with Overall: 0.31).`; empty if there are none."""
    labels = {column.key: column.label for column in columns}
    primary = next((column.label for column in columns if column.primary), "the first metric")
    against = [one for one in agreements if one.correlation < CONTRADICTS]
    if not against:
        return ""
    names = [labels.get(one.column, one.column) for one in against]
    verb = "orders" if len(names) == 1 else "order"
    if len(names) <= _MOST_METRICS:
        figures = _listed([f"{one.correlation:.2f}" for one in against])
        found = f"with {primary}: {figures}"
    else:
        names[_MOST_METRICS - 1 :] = [f"{len(names) - _MOST_METRICS + 1} more metrics"]
        found = f"with {primary} below {CONTRADICTS}"
    return f"{_listed(names)} {verb} the planners differently (Spearman's rank correlation {found})."


def _random_plans(plans: RandomPlans, *, rows: Sequence[RankedRow], columns: Sequence[Column]) -> Iterator[str | int]:
    """What partial credit is worth, and which planners random plans are ahead of although more of their plans are
    exact."""
    higher_is_better = next((column.higher_is_better for column in columns if column.primary), True)
    yield f"A random valid plan scores {plans.mean:.3f} here"
    if plans.highest is None:
        yield ": read scores from there, not from 0." if higher_is_better and plans.mean >= _WORTH_READING else "."
        return
    others = plans.above - 1
    yield ", ahead of "
    yield plans.highest
    if others:
        yield f" and {others} other planner{'' if others == 1 else 's'} with more exact plans."
        return
    yield ", which has more exact plans"
    exact = rows[plans.highest].exact
    yield "." if exact is None or plans.exact is None else f" ({_share(exact)} against {_share(plans.exact)})."


def headroom_in_words(room: Headroom, *, higher_is_better: bool = True) -> str:
    """The headroom of a board, such as `The shortcut bag-of-words scores 0.850 without understanding the requests, and
    gold plans score 0.940: the headroom is 0.090.`"""
    difference = (room.gold - room.mean) * (1 if higher_is_better else -1)
    end = f": the headroom is {difference:.3f}." if difference > 0 else ": there is no headroom."
    shortcut = f"The shortcut {room.shortcut} scores {room.mean:.3f} without understanding the requests"
    return f"{shortcut}, and gold plans score {room.gold:.3f}{end}"


def _share(share: float) -> str:
    return f"{100 * share:.{0 if share >= _LEAST_WHOLE or share == 0 else 1}f} %"


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])}{' and ' if len(names) > 1 else ''}{names[-1]}"


def _names(leaders: int) -> Sentence:
    if leaders == 2:
        return 0, " and ", 1
    return (0, ", ", 1, " and ", 2) if leaders == 3 else (0, ", ", 1, f" and {leaders - 2} others")


def _groups(groups: Sequence[tuple[int, int]], *, rows: Sequence[RankedRow]) -> str:
    """The ranks that cannot be told apart, such as `Ranks 1 to 3 and 5 to 10 cannot be told apart.`"""
    spans = [(rows[first].rank, rows[last].rank) for first, last in groups]
    texts = [f"{first} to {last}" for first, last in spans if first != last]
    if not texts:
        return ""
    if len(texts) > _MOST_GROUPS:
        texts[_MOST_GROUPS - 1 :] = [f"{len(texts) - _MOST_GROUPS + 1} more groups of ranks"]
    return f"Ranks {_listed(texts)} cannot be told apart."


def _score(row: RankedRow) -> str:
    text = f"{row.mean:.3f}"
    return (
        f"{text}, up to {row.upper:.3f} if the undecided are right"
        if row.upper is not None and row.upper > row.mean
        else text
    )


def _interval(row: RankedRow) -> str:
    if row.low is None or row.high is None:
        return "; too few tasks or scenes for an interval"
    return f"; 95 % interval {row.low:.3f} to {row.high:.3f}"


def _gap(gap: Gap, *, rows: Sequence[RankedRow]) -> str:
    """A difference with its interval and p-value, such as `0.19 (0.11 to 0.27, p < .001)`. Where tasks of the two rows
    are undecided, it is the smallest possible difference."""
    digits = _digits(gap)
    undecided = rows[gap.first].upper is not None or rows[gap.second].upper is not None
    mean = f"{'at least ' if undecided else ''}{gap.mean:.{digits}f}"
    if gap.low is None or gap.high is None or gap.p_value is None:
        return mean
    return f"{mean} ({gap.low:.{digits}f} to {gap.high:.{digits}f}, {p_value_in_words(gap.p_value)})"


def _digits(gap: Gap) -> int:
    """Two decimal places, or as many as show that neither the difference nor its interval is 0."""
    smallest = min(abs(gap.mean), math.inf if gap.low is None or gap.high is None else (gap.high - gap.low) / 2)
    return 2 if smallest >= 0.005 else 3


def p_value_in_words(p_value: float) -> str:
    """A p-value such as `p < .001` or `p = .03`."""
    if p_value < 0.001:
        return "p < .001"
    digits = 3 if p_value < 0.01 else 2
    return f"p = {p_value:.{digits}f}".replace("0.", ".", 1)


def _about(count: int) -> str:
    """A number with two significant digits, rounded up."""
    unit = 10 ** max(len(str(count)) - 2, 0)
    return f"{-(-count // unit) * unit:,}"


def _points(difference: float) -> str:
    """A difference in hundredths, rounded up."""
    points = difference / _POINT
    if points < 1:
        return f"{math.ceil(points * 10) / 10:.1f} points"
    rounded = math.ceil(points - 1e-9)
    return f"{rounded} point{'' if rounded == 1 else 's'}"
