"""The paper's views of a task: the grid as letters, its objects by ten rules, and its cells by colour."""

from evaluator.suites.arc.views.kinds import View
from evaluator.suites.arc.views.of_grid import view_of
from evaluator.suites.arc.views.of_task import task_view

__all__ = ["View", "task_view", "view_of"]
