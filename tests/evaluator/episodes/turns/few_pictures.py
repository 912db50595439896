"""A small executed suite in both forms: three requests of OpenAGI with its data."""

from dataclasses import replace

from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import Entry
from evaluator.episodes.turns.interactive import step_by_step
from evaluator.openagi.entry import SUITES as OPENAGI

KEYS = ("0", "24", "36")
"""A restored picture, and two captions."""


def suite() -> Suite:
    """The requests."""
    whole = OPENAGI[0].build()
    tasks = tuple(task for task in whole.tasks if task.key in KEYS)
    metrics = tuple(column for column in whole.metrics if not column.tasks)
    return replace(whole, slug="few-pictures", title="Few pictures", tasks=tasks, metrics=metrics)


_ENTRY = Entry(slug="few-pictures", build=suite, episode=OPENAGI[0].episode)
SUITES = (_ENTRY, step_by_step(_ENTRY, caption="Image Captioning"))
