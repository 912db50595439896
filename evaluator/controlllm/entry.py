"""ControlLLM's suites in the registry."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from evaluator.controlllm.optional_columns import with_optional_columns, with_responses
from evaluator.controlllm.pointmini import SLUG as POINT
from evaluator.controlllm.soundworld import SLUG as SOUND
from evaluator.controlllm.toolbench.abstention import SLUG as ABSTAIN
from evaluator.controlllm.toolbench.abstention import toolmini_abstain_suite
from evaluator.controlllm.toolbench.judging import ToolJudge, WorldJudge
from evaluator.controlllm.toolbench.released import executed
from evaluator.controlllm.toolbench.released.source import fetched_folder
from evaluator.controlllm.toolbench.suite import tool2k_suite, tool100_suite, toolmini_suite
from evaluator.controlllm.toolbench.world import SLUG as WORLD
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.registry import Entry, deferred, suite_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.episodes.base import Setting
from evaluator.episodes.executed import ExecutedPlans
from evaluator.episodes.judgement import JudgedPlans
from evaluator.episodes.turns.interactive import step_by_step

if TYPE_CHECKING:
    from evaluator.core.records import ResultRecord
    from evaluator.core.suites.base import Suite
    from evaluator.core.suites.samples import SampleSource


def _is_fetched() -> bool:
    return fetched_folder() is not None


# Functions import numpy only when they need it: tests of endpoints run with too little memory for it.
def _toolworld() -> "Suite":
    from evaluator.controlllm.toolbench.world.suite import toolworld_suite

    return toolworld_suite()


def _samples(setting: Setting) -> "SampleSource":
    from evaluator.controlllm.toolbench.world.suite import samples_of

    return samples_of(setting)


def _soundworld() -> "Suite":
    from evaluator.controlllm.soundworld.suite import soundworld_suite

    return soundworld_suite()


def _sounds(setting: Setting) -> "SampleSource":
    from evaluator.controlllm.soundworld.suite import samples_of

    return samples_of(setting)


def _scores_of_sounds() -> str:
    from evaluator.controlllm.soundworld.suite import scores_digest

    return scores_digest()


def _pointmini() -> "Suite":
    from evaluator.controlllm.pointmini.suite import pointmini_suite

    return pointmini_suite()


def _pointed(setting: Setting) -> "SampleSource":
    from evaluator.controlllm.pointmini.suite import samples_of

    return samples_of(setting)


def _scores_of_pointing() -> str:
    from evaluator.controlllm.pointmini.suite import scores_digest

    return scores_digest()


def _released(setting: Setting, *, slug: str) -> "SampleSource":
    from evaluator.controlllm.toolbench.released.inputs import released_inputs

    if setting.split == HIDDEN:
        raise LookupError(f"the requests of {slug} are published data without a hidden split")
    return released_inputs(folder=setting.inputs, tasks=suite_of(slug).tasks, slug=slug, profile=setting.profile)


def _responses(record: "ResultRecord", **given: Any) -> "ResultRecord":
    from evaluator.controlllm.response_columns import responses

    return responses(record, **given)


def _executed(slug: str, build: "Callable[[], Suite]") -> Entry:
    return Entry(
        slug=slug,
        build=with_responses(build),
        episode=ExecutedPlans(
            samples=partial(_released, slug=slug),
            judge=WorldJudge(),
            beside_gold=True,
            responses=_responses,
            extended={"lilliput": "lilliput-cast"},
        ),
        catalogue=_CATALOGUE,
        is_available=_is_fetched,
    )


_EPISODE = JudgedPlans(judge=ToolJudge())
_CATALOGUE = CONTROLLLM.name
_REGEX = deferred("evaluator.controlllm.toolbench.mini.regex:plan")
_WORLD = Entry(
    slug=WORLD,
    build=with_responses(_toolworld),
    episode=ExecutedPlans(samples=_samples, judge=WorldJudge(), beside_gold=True, responses=_responses),
    catalogue=_CATALOGUE,
    regex=_REGEX,
    comes_first=True,
)
_TOOL100 = _executed(executed.TOOL100, executed.tool100_executed)
_TOOL2K = _executed(executed.TOOL2K, executed.tool2k_executed)

PUBLISHED = (2023, 10, 26)
SUITES = (
    Entry(
        slug="toolmini",
        build=with_optional_columns(toolmini_suite),
        episode=_EPISODE,
        catalogue=_CATALOGUE,
        regex=_REGEX,
    ),
    Entry(
        slug=ABSTAIN,
        build=with_optional_columns(toolmini_abstain_suite),
        episode=_EPISODE,
        catalogue=_CATALOGUE,
        regex=_REGEX,
    ),
    _WORLD,
    Entry(
        slug=SOUND,
        build=_soundworld,
        episode=ExecutedPlans(
            samples=_sounds, beside_gold=True, extended={"lilliput": "lilliput-sound"}, scored_by=_scores_of_sounds
        ),
        catalogue=_CATALOGUE,
    ),
    Entry(
        slug=POINT,
        build=_pointmini,
        episode=ExecutedPlans(samples=_pointed, beside_gold=True, scored_by=_scores_of_pointing),
        catalogue=_CATALOGUE,
    ),
    Entry(
        slug="tool100",
        build=with_optional_columns(tool100_suite),
        episode=_EPISODE,
        catalogue=_CATALOGUE,
        is_available=_is_fetched,
    ),
    Entry(
        slug="tool2k",
        build=with_optional_columns(tool2k_suite),
        episode=_EPISODE,
        catalogue=_CATALOGUE,
        is_available=_is_fetched,
    ),
    _TOOL100,
    _TOOL2K,
    *(step_by_step(entry, caption="image_captioning") for entry in (_WORLD, _TOOL100, _TOOL2K)),
)
FETCHING = "evaluator.controlllm.commands"
ATTACKS = "evaluator.controlllm.attacks"
STRATEGIES = (
    "evaluator.controlllm.strategies", "evaluator.controlllm.baselines.hugginggpt",
    "evaluator.controlllm.baselines.gpt4tools", "evaluator.controlllm.baselines.visprog",
    "evaluator.controlllm.baselines.visual_chatgpt", "evaluator.controlllm.baselines.interngpt",
)  # fmt: skip
