"""What tasks count by planner, as a file."""

import csv
import io
from math import isnan

from evaluator.scoring.board_table import safe_cell
from leaderboard.boards.matrix import TaskMatrix

DECIMALS = 6


def matrix_as_csv(matrix: TaskMatrix) -> str:
    """One line for each task in the suite's order, RFC 4180: its key, by how many planners it is solved, and what it
    counts by planner; empty where it does not count. Texts that a spreadsheet would take for a formula begin with an
    apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["task", "solved", *(safe_cell(f"{one.planner} by {one.owner}") for one in matrix.planners)])
    for task, solved, values in zip(matrix.tasks, matrix.solved, matrix.values.tolist(), strict=True):
        cells = ("" if isnan(value) else round(value, DECIMALS) for value in values)
        writer.writerow([safe_cell(task.key), str(solved), *cells])
    return file.getvalue()
