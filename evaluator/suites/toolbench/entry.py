"""ControlLLM's suites in the registry."""

from evaluator.episodes.executed import ExecutedPlans
from evaluator.episodes.judged import JudgedPlans
from evaluator.suites.registry import Entry
from evaluator.suites.toolbench.abstain.suite import SLUG, toolmini_abstain_suite
from evaluator.suites.toolbench.judging import ToolJudge
from evaluator.suites.toolbench.released.source import fetched_folder
from evaluator.suites.toolbench.suite import tool2k_suite, tool100_suite, toolmini_suite
from evaluator.suites.toolbench.world.suite import SLUG as WORLD
from evaluator.suites.toolbench.world.suite import WorldJudge, samples_of, toolworld_suite
from evaluator.tools.controlllm import CONTROLLLM


def _is_fetched() -> bool:
    return fetched_folder() is not None


_EPISODE = JudgedPlans(judge=ToolJudge())
_CATALOGUE = CONTROLLLM.name

SUITES = (
    Entry(slug="toolmini", build=toolmini_suite, episode=_EPISODE, catalogue=_CATALOGUE),
    Entry(slug=SLUG, build=toolmini_abstain_suite, episode=_EPISODE, catalogue=_CATALOGUE),
    Entry(
        slug=WORLD,
        build=toolworld_suite,
        episode=ExecutedPlans(samples=samples_of, judge=WorldJudge(), beside_gold=True),
        catalogue=_CATALOGUE,
    ),
    Entry(slug="tool100", build=tool100_suite, episode=_EPISODE, catalogue=_CATALOGUE, is_available=_is_fetched),
    Entry(slug="tool2k", build=tool2k_suite, episode=_EPISODE, catalogue=_CATALOGUE, is_available=_is_fetched),
)
COMMANDS = "evaluator.suites.toolbench.commands"
