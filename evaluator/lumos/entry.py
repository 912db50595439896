"""LUMOS's suites in the registry: planners act in turns."""

from typing import TYPE_CHECKING

from evaluator.core.suites.registry import Entry
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.interactive import InteractiveEpisodes
from evaluator.lumos.maths import source as maths
from evaluator.lumos.pictures import source as pictures
from evaluator.lumos.questions import source as questions
from evaluator.lumos.sql import source as sql
from evaluator.lumos.web import steps as web

if TYPE_CHECKING:
    from evaluator.core.suites.base import Suite
    from evaluator.episodes.turns.environment import Environment


def _maths_is_fetched() -> bool:
    return maths.RELEASE.fetched_folder() is not None


def _sql_is_fetched() -> bool:
    return sql.RELEASE.fetched_folder() is not None


def _maths(_: Setting) -> "Environment":
    from evaluator.lumos.maths.environment import MathsEnvironment

    return MathsEnvironment()


def _sql(_: Setting) -> "Environment":
    from evaluator.lumos.sql.suite import environment

    return environment()


def _gsm8k() -> "Suite":
    from evaluator.lumos.maths.suite import gsm8k_suite

    return gsm8k_suite()


def _svamp() -> "Suite":
    from evaluator.lumos.maths.suite import svamp_suite

    return svamp_suite()


def _intercode() -> "Suite":
    from evaluator.lumos.sql.suite import intercode_suite

    return intercode_suite()


def _mini_environment(setting: Setting) -> "Environment":
    from evaluator.lumos.mini.suite import environment

    return environment(setting)


def _mini() -> "Suite":
    from evaluator.lumos.mini.suite import mini_suite

    return mini_suite()


def _hotpotqa_environment(setting: Setting) -> "Environment":
    from evaluator.lumos.questions.suite import hotpotqa_environment

    return hotpotqa_environment(setting)


def _hotpotqa() -> "Suite":
    from evaluator.lumos.questions.suite import hotpotqa_suite

    return hotpotqa_suite()


def _strategyqa_environment(setting: Setting) -> "Environment":
    from evaluator.lumos.questions.suite import strategyqa_environment

    return strategyqa_environment(setting)


def _strategyqa() -> "Suite":
    from evaluator.lumos.questions.suite import strategyqa_suite

    return strategyqa_suite()


def _has_distractors() -> bool:
    return questions.DISTRACTORS.is_here() and questions.RELEASE.fetched_folder() is not None


def _has_evidence() -> bool:
    return questions.EVIDENCE.is_here() and questions.RELEASE.fetched_folder() is not None


def _okvqa_environment(setting: Setting) -> "Environment":
    from evaluator.lumos.pictures.suite import okvqa_environment

    return okvqa_environment(setting)


def _okvqa() -> "Suite":
    from evaluator.lumos.pictures.suite import okvqa_suite

    return okvqa_suite()


def _science_environment(setting: Setting) -> "Environment":
    from evaluator.lumos.pictures.suite import science_environment

    return science_environment(setting)


def _science() -> "Suite":
    from evaluator.lumos.pictures.suite import science_suite

    return science_suite()


def _walks(_: Setting) -> "Environment":
    from evaluator.lumos.web.suite import environment

    return environment()


def _mind2web() -> "Suite":
    from evaluator.lumos.web.suite import mind2web_suite

    return mind2web_suite()


_WORD_PROBLEMS = InteractiveEpisodes(environment=_maths, bounds=Bounds(turns=16, actions=64))
"""LUMOS allows eight subgoals for GSM8K and two for SVAMP; agents that act one action at a time need more turns."""
_DATABASES = InteractiveEpisodes(environment=_sql, bounds=Bounds(turns=20, actions=40))
"""InterCode allows ten turns of one command."""
_MINI = InteractiveEpisodes(environment=_mini_environment, bounds=Bounds(turns=16, actions=40), experts=True)
"""The longest gold solutions have six turns and ten actions."""
_HOTPOTQA = InteractiveEpisodes(environment=_hotpotqa_environment, bounds=Bounds(turns=16, actions=40), experts=True)
_STRATEGYQA = InteractiveEpisodes(
    environment=_strategyqa_environment, bounds=Bounds(turns=16, actions=40), experts=True
)
"""LUMOS allows both five subgoals."""
_OKVQA = InteractiveEpisodes(environment=_okvqa_environment, bounds=Bounds(turns=16, actions=40), experts=True)
_SCIENCE = InteractiveEpisodes(environment=_science_environment, bounds=Bounds(turns=16, actions=40), experts=True)
_MIND2WEB = InteractiveEpisodes(environment=_walks, bounds=Bounds(turns=48, actions=64))
"""A recorded walk has up to some thirty steps."""

PUBLISHED = (2023, 11, 9)
SUITES = (
    Entry(slug="gsm8k", build=_gsm8k, episode=_WORD_PROBLEMS, is_available=_maths_is_fetched, anchors=("last-number",)),
    Entry(slug="svamp", build=_svamp, episode=_WORD_PROBLEMS, is_available=_maths_is_fetched, anchors=("last-number",)),
    Entry(slug="intercode-sql", build=_intercode, episode=_DATABASES, is_available=_sql_is_fetched),
    Entry(slug="lumos-mini", build=_mini, episode=_MINI, anchors=("majority",)),
    Entry(slug="hotpotqa", build=_hotpotqa, episode=_HOTPOTQA, is_available=_has_distractors),
    Entry(slug="strategyqa", build=_strategyqa, episode=_STRATEGYQA, is_available=_has_evidence, anchors=("majority",)),
    Entry(slug="a-okvqa", build=_okvqa, episode=_OKVQA, is_available=pictures.OKVQA.is_here, has_gold=False),
    Entry(slug="scienceqa", build=_science, episode=_SCIENCE, is_available=pictures.SCIENCE.is_here, has_gold=False),
    Entry(slug="mind2web", build=_mind2web, episode=_MIND2WEB, is_available=web.STEPS.is_here),
)
FETCHING = "evaluator.lumos.commands"
STRATEGIES = ("evaluator.lumos.strategies.strategy",)
