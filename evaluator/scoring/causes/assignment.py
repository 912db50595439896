"""The assignment problem: give each row a column of its own at the lowest total cost. Pure."""

from collections.abc import Sequence
from math import inf


def cheapest_assignment(costs: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """The column of each row, all different, with the lowest sum of costs.

    The Hungarian method with shortest augmenting paths (Jonker and Volgenant, 1987), in O(rows^2 columns).

    Args:
        costs: finite, (rows, columns), with at least as many columns as rows.
    """
    columns = len(costs[0]) if costs else 0
    row_prices, column_prices = [0.0] * (len(costs) + 1), [0.0] * (columns + 1)
    taken_by = [0] * (columns + 1)
    """The row that has a column, both counted from 1; 0: none. Column 0 holds the row that is being placed."""
    for row in range(1, len(costs) + 1):
        taken_by[0] = row
        _augment(costs=costs, row_prices=row_prices, column_prices=column_prices, taken_by=taken_by)
    found = {taken_by[column]: column - 1 for column in range(1, columns + 1)}
    return tuple(found[row] for row in range(1, len(costs) + 1))


def _augment(
    *, costs: Sequence[Sequence[float]], row_prices: list[float], column_prices: list[float], taken_by: list[int]
) -> None:
    """Place the row in column 0 by the shortest path of exchanges."""
    columns = len(column_prices) - 1
    shortest, came_from = [inf] * (columns + 1), [0] * (columns + 1)
    seen = [False] * (columns + 1)
    column = 0
    while taken_by[column]:
        seen[column] = True
        row, step, following = taken_by[column], inf, 0
        for other in range(1, columns + 1):
            if seen[other]:
                continue
            reduced = costs[row - 1][other - 1] - row_prices[row] - column_prices[other]
            if reduced < shortest[other]:
                shortest[other], came_from[other] = reduced, column
            if shortest[other] < step:
                step, following = shortest[other], other
        for other in range(columns + 1):
            if seen[other]:
                row_prices[taken_by[other]] += step
                column_prices[other] -= step
            else:
                shortest[other] -= step
        column = following
    while column:
        taken_by[column] = taken_by[came_from[column]]
        column = came_from[column]
