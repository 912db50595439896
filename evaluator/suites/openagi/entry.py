"""OpenAGI in the registry of suites."""

from typing import TYPE_CHECKING

from evaluator.episodes.base import Setting
from evaluator.episodes.executed import ExecutedPlans, hidden_seed
from evaluator.episodes.turns.step_by_step import step_by_step
from evaluator.suites.openagi.suite import openagi_suite
from evaluator.suites.registry import Entry
from evaluator.tools.openagi import OPENAGI

if TYPE_CHECKING:
    from evaluator.suites.samples import SampleSource


def _samples(setting: Setting) -> "SampleSource":
    # By need: reading the registry must stay cheap, and this loads the miniature world.
    from evaluator.suites.openagi.data import sample_source

    return sample_source(
        profile=setting.profile, split=setting.split, hidden_seed=hidden_seed(setting), data=setting.data
    )


_ENTRY = Entry(slug="openagi", build=openagi_suite, episode=ExecutedPlans(samples=_samples), catalogue=OPENAGI.name)

SUITES = (_ENTRY, step_by_step(_ENTRY, caption="Image Captioning"))
