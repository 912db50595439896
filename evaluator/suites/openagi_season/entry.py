"""OpenAGI's generated requests in the registry of suites."""

from typing import TYPE_CHECKING

from evaluator.episodes.base import Setting
from evaluator.episodes.executed import ExecutedPlans, hidden_seed
from evaluator.suites.openagi_season.suite import season_suite
from evaluator.suites.registry import Entry
from evaluator.tools.openagi import OPENAGI

if TYPE_CHECKING:
    from evaluator.suites.samples import SampleSource


def _samples(setting: Setting) -> "SampleSource":
    # By need: reading the registry must stay cheap, and this loads the miniature world.
    from evaluator.suites.openagi_season.data import season_samples

    return season_samples(profile=setting.profile, split=setting.split, hidden_seed=hidden_seed(setting))


SUITES = (
    Entry(slug="openagi-season", build=season_suite, episode=ExecutedPlans(samples=_samples), catalogue=OPENAGI.name),
)
