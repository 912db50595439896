"""LUMOS's suites in the registry: planners act in turns."""

from typing import TYPE_CHECKING

from evaluator.episodes.base import Setting
from evaluator.episodes.turns.feedback import Bounds
from evaluator.episodes.turns.interactive import InteractiveEpisodes
from evaluator.suites.lumos.maths import source as maths
from evaluator.suites.lumos.sql import source as sql
from evaluator.suites.registry import Entry

if TYPE_CHECKING:
    from evaluator.episodes.turns.environment import Environment
    from evaluator.suites.base import Suite


def _maths_is_fetched() -> bool:
    return maths.RELEASE.fetched_folder() is not None


def _sql_is_fetched() -> bool:
    return sql.RELEASE.fetched_folder() is not None


def _maths(_: Setting) -> "Environment":
    from evaluator.suites.lumos.maths.environment import MathsEnvironment

    return MathsEnvironment()


def _sql(_: Setting) -> "Environment":
    from evaluator.suites.lumos.sql.suite import environment

    return environment()


def _gsm8k() -> "Suite":
    from evaluator.suites.lumos.maths.suite import gsm8k_suite

    return gsm8k_suite()


def _svamp() -> "Suite":
    from evaluator.suites.lumos.maths.suite import svamp_suite

    return svamp_suite()


def _intercode() -> "Suite":
    from evaluator.suites.lumos.sql.suite import intercode_suite

    return intercode_suite()


def _mini_environment(setting: Setting) -> "Environment":
    from evaluator.suites.lumos.mini.suite import environment

    return environment(setting)


def _mini() -> "Suite":
    from evaluator.suites.lumos.mini.suite import mini_suite

    return mini_suite()


_WORD_PROBLEMS = InteractiveEpisodes(environment=_maths, bounds=Bounds(turns=16, actions=64))
"""LUMOS allows eight subgoals for GSM8K and two for SVAMP; agents that act one action at a time need more turns."""
_DATABASES = InteractiveEpisodes(environment=_sql, bounds=Bounds(turns=20, actions=40))
"""InterCode allows ten turns of one command."""
_MINI = InteractiveEpisodes(environment=_mini_environment, bounds=Bounds(turns=16, actions=40), experts=True)
"""The longest gold solutions have six turns and ten actions."""

SUITES = (
    Entry(slug="gsm8k", build=_gsm8k, episode=_WORD_PROBLEMS, is_available=_maths_is_fetched, anchors=("last-number",)),
    Entry(slug="svamp", build=_svamp, episode=_WORD_PROBLEMS, is_available=_maths_is_fetched, anchors=("last-number",)),
    Entry(slug="intercode-sql", build=_intercode, episode=_DATABASES, is_available=_sql_is_fetched),
    Entry(slug="lumos-mini", build=_mini, episode=_MINI, anchors=("majority",)),
)
COMMANDS = "evaluator.suites.lumos.commands"
