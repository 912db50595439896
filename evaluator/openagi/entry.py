"""OpenAGI in the registries: its own benchmark, and generated requests."""

from typing import TYPE_CHECKING

from evaluator.core.suites.registry import Entry
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.episodes.base import Setting
from evaluator.episodes.executed import ExecutedPlans, hidden_seed
from evaluator.episodes.turns.interactive import step_by_step
from evaluator.openagi.season.suite import ENTRY as GENERATED
from evaluator.openagi.shifted.suite import ENTRY as SHIFTED
from evaluator.openagi.suite import openagi_suite

if TYPE_CHECKING:
    from evaluator.core.suites.samples import SampleSource


def _samples(setting: Setting) -> "SampleSource":
    # By need: reading the registry must stay cheap, and this loads the miniature world.
    from evaluator.openagi.data import sample_source

    return sample_source(
        profile=setting.profile, split=setting.split, hidden_seed=hidden_seed(setting), data=setting.data
    )


_OPENAGI = Entry(slug="openagi", build=openagi_suite, episode=ExecutedPlans(samples=_samples), catalogue=OPENAGI.name)

PUBLISHED = (2023, 4, 10)
SUITES = (_OPENAGI, step_by_step(_OPENAGI, caption="Image Captioning"), GENERATED, SHIFTED)
STRATEGIES = ("evaluator.openagi.strategies",)
