"""ControlLLM's suites in the registry."""

from typing import TYPE_CHECKING

from evaluator.episodes.base import Setting
from evaluator.episodes.executed import ExecutedPlans
from evaluator.episodes.judged import JudgedPlans
from evaluator.suites.registry import Entry
from evaluator.suites.toolbench.abstain.suite import SLUG, toolmini_abstain_suite
from evaluator.suites.toolbench.judging import ToolJudge
from evaluator.suites.toolbench.released.source import fetched_folder
from evaluator.suites.toolbench.suite import tool2k_suite, tool100_suite, toolmini_suite
from evaluator.suites.toolbench.world import SLUG as WORLD
from evaluator.suites.toolbench.world.judging import WorldJudge
from evaluator.tools.controlllm import CONTROLLLM

if TYPE_CHECKING:
    from evaluator.suites.base import Suite
    from evaluator.suites.samples import SampleSource


def _is_fetched() -> bool:
    return fetched_folder() is not None


def _toolworld() -> "Suite":
    # The world needs numpy, which tests of endpoints have no memory for.
    from evaluator.suites.toolbench.world.suite import toolworld_suite

    return toolworld_suite()


def _samples(setting: Setting) -> "SampleSource":
    from evaluator.suites.toolbench.world.suite import samples_of

    return samples_of(setting)


_EPISODE = JudgedPlans(judge=ToolJudge())
_CATALOGUE = CONTROLLLM.name

SUITES = (
    Entry(slug="toolmini", build=toolmini_suite, episode=_EPISODE, catalogue=_CATALOGUE),
    Entry(slug=SLUG, build=toolmini_abstain_suite, episode=_EPISODE, catalogue=_CATALOGUE),
    Entry(
        slug=WORLD,
        build=_toolworld,
        episode=ExecutedPlans(samples=_samples, judge=WorldJudge(), beside_gold=True),
        catalogue=_CATALOGUE,
    ),
    Entry(slug="tool100", build=tool100_suite, episode=_EPISODE, catalogue=_CATALOGUE, is_available=_is_fetched),
    Entry(slug="tool2k", build=tool2k_suite, episode=_EPISODE, catalogue=_CATALOGUE, is_available=_is_fetched),
)
COMMANDS = "evaluator.suites.toolbench.commands"
