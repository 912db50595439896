"""The suite `openagi-shifted`: the released requests on shifted inputs (OpenAGI, figure 2)."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from evaluator.core.suites.base import Column, Conditions, IntervalMethod, Panel, Suite
from evaluator.core.suites.facets import Facet
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.registry import Entry
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.episodes.base import Setting
from evaluator.episodes.counterparts import DROP
from evaluator.episodes.executed import ExecutedPlans, hidden_seed
from evaluator.openagi.shifted.tasks import shifted_tasks
from evaluator.openagi.suite import (
    COLUMNS,
    EXACT_PLAN,
    FACETS,
    NEAR_PLAN,
    closed_column,
    hidden_requests,
    openagi_suite,
    reworded,
)
from evaluator.openagi.tasks import OpenAGITask

if TYPE_CHECKING:
    from evaluator.core.suites.samples import SampleSource

VERSION = "1"
DROP_COLUMN = Column(
    key=DROP, label="Drop", is_default=True, indicator=True, fault=None, low=-1.0, higher_is_better=False,
    interval=IntervalMethod.FIXED_TASKS, title="Drop by the shift",
    description="Score of the same plan on the same scenes with the inputs of openagi, less the score on the shifted "
    "inputs. Plans that cannot be executed do not count.",
)  # fmt: skip
_SHIFT = Facet(
    name="shift", label="Shift", attribute="shift",
    words={
        "impulses": "impulse noise", "motion": "motion blur", "skipped_pixels": "skipped pixels",
        "channel_mean": "mean of channels", "all_defects": "all defects", "spelling": "swapped letters",
        "capitals": "capital letters", "german_nouns": "German nouns",
    },
)  # fmt: skip


def shifted_suite() -> Suite:
    """Build the suite from the released list."""
    tasks = tuple(shifted_tasks(cast(OpenAGITask, task) for task in openagi_suite().tasks))
    return Suite(
        slug="openagi-shifted", version=VERSION, title="OpenAGI (shifted inputs)",
        description="The 185 requests of OpenAGI on inputs unlike those that the experts were trained on: other noise, "
        "other blur, other spelling.",
        metrics=(*COLUMNS, EXACT_PLAN, DROP_COLUMN, NEAR_PLAN, closed_column(tasks)), catalogue=OPENAGI,
        tasks=tasks, conditions=Conditions(experts=True, samples=True, splits=("public", "validation", HIDDEN)),
        training_splits=("validation",), panels=(Panel.SCORES, Panel.ARTEFACTS),
        facets=replace(
            FACETS, filters=(_SHIFT, *FACETS.filters), facts=(_SHIFT.name, *FACETS.facts),
            breakdowns=(_SHIFT.name, *FACETS.breakdowns), plots=(_SHIFT.name, *FACETS.plots),
            comparisons=(_SHIFT.name, *FACETS.comparisons),
        ),
        reworded=reworded, hidden_requests=hidden_requests,
    )  # fmt: skip


def _samples(setting: Setting) -> "SampleSource":
    # By need: reading the registry must stay cheap, and this loads the miniature world.
    from evaluator.openagi.shifted.samples import shifted_samples

    return shifted_samples(profile=setting.profile, split=setting.split, hidden_seed=hidden_seed(setting))


def _counterparts(setting: Setting) -> "SampleSource":
    from evaluator.openagi.shifted.samples import released_samples

    return released_samples(profile=setting.profile, split=setting.split, hidden_seed=hidden_seed(setting))


ENTRY = Entry(
    slug="openagi-shifted", build=shifted_suite,
    episode=ExecutedPlans(samples=_samples, counterparts=_counterparts), catalogue=OPENAGI.name,
)  # fmt: skip
