"""Views by what planners and people call them: `objects_diag`, or `objects_diag, more_info`."""

from evaluator.arc.tasks import ArcTask
from evaluator.arc.views.kinds import View
from evaluator.arc.views.of_task import task_view
from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Task

_MORE_INFO = "more_info"
_SHOWN = 100


def named_view(task: Task, name: str) -> JsonValue:
    """A task in the view of this name; see `task_view`.

    Raises:
        LookupError: there is none; the sentence lists those that there are.
    """
    assert isinstance(task, ArcTask)
    view, _, option = (part.strip().strip("'\"") for part in name.partition(","))
    if view not in set(View) or option not in {"", _MORE_INFO}:
        there = f"there are: {', '.join(View)}; those of objects take {_MORE_INFO}"
        raise LookupError(f"there is no view {name[:_SHOWN]!r}; {there}")
    return task_view(
        demonstrations=task.demonstrations, test_inputs=task.test_inputs, view=View(view), more_info=bool(option)
    )
