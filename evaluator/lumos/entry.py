"""Registry entries of LUMOS's suites, whose planners act in turns."""

from evaluator.core.suites.registry import Entry, deferred
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.interactive import InteractiveEpisodes
from evaluator.lumos.maths import source as maths
from evaluator.lumos.pictures import source as pictures
from evaluator.lumos.questions import source as questions
from evaluator.lumos.sql import source as sql
from evaluator.lumos.web import steps as web


def _maths_is_fetched() -> bool:
    return maths.RELEASE.fetched_folder() is not None


def _sql_is_fetched() -> bool:
    return sql.RELEASE.fetched_folder() is not None


def _has_distractors() -> bool:
    return questions.DISTRACTORS.is_here() and questions.RELEASE.fetched_folder() is not None


def _has_evidence() -> bool:
    return questions.EVIDENCE.is_here() and questions.RELEASE.fetched_folder() is not None


def _episodes(environment: str, *, turns: int = 16, actions: int = 40, experts: bool = False) -> InteractiveEpisodes:
    return InteractiveEpisodes(
        environment=deferred(environment), bounds=Bounds(turns=turns, actions=actions), experts=experts
    )


_WORD_PROBLEMS = _episodes("evaluator.lumos.maths.suite:environment", actions=64)
"""LUMOS allows eight subgoals for GSM8K and two for SVAMP; agents that act one action at a time need more turns."""
_DATABASES = _episodes("evaluator.lumos.sql.suite:environment", turns=20)
"""InterCode allows ten turns of one command."""
_MINI = _episodes("evaluator.lumos.mini.suite:environment", experts=True)
"""The longest gold solutions have six turns and ten actions."""
_SHOP = _episodes("evaluator.lumos.shopping.suite:environment", turns=24)
"""The longest gold solutions have seven turns and twelve actions."""
_HOTPOTQA = _episodes("evaluator.lumos.questions.suite:hotpotqa_environment", experts=True)
_STRATEGYQA = _episodes("evaluator.lumos.questions.suite:strategyqa_environment", experts=True)
"""LUMOS allows five subgoals for both."""
_OKVQA = _episodes("evaluator.lumos.pictures.suite:okvqa_environment", experts=True)
_SCIENCE = _episodes("evaluator.lumos.pictures.suite:science_environment", experts=True)
_MIND2WEB = _episodes("evaluator.lumos.web.suite:environment", turns=48, actions=64)
"""A recorded walk has up to about thirty steps."""

PUBLISHED = (2023, 11, 9)
SUITES = (
    Entry(
        slug="gsm8k", build=deferred("evaluator.lumos.maths.suite:gsm8k_suite"), episode=_WORD_PROBLEMS,
        is_available=_maths_is_fetched, anchors=("last-number",),
    ),
    Entry(
        slug="svamp", build=deferred("evaluator.lumos.maths.suite:svamp_suite"), episode=_WORD_PROBLEMS,
        is_available=_maths_is_fetched, anchors=("last-number",),
    ),
    Entry(
        slug="intercode-sql", build=deferred("evaluator.lumos.sql.suite:intercode_suite"), episode=_DATABASES,
        is_available=_sql_is_fetched,
    ),
    Entry(
        slug="lumos-mini", build=deferred("evaluator.lumos.mini.suite:mini_suite"), episode=_MINI,
        anchors=("majority",), regex=deferred("evaluator.lumos.mini.regex:plan"),
        earlier=(deferred("evaluator.lumos.mini.suite:first_version"),),
    ),
    Entry(slug="lumos-shop", build=deferred("evaluator.lumos.shopping.suite:shop_suite"), episode=_SHOP),
    Entry(
        slug="hotpotqa", build=deferred("evaluator.lumos.questions.suite:hotpotqa_suite"), episode=_HOTPOTQA,
        is_available=_has_distractors,
    ),
    Entry(
        slug="strategyqa", build=deferred("evaluator.lumos.questions.suite:strategyqa_suite"), episode=_STRATEGYQA,
        is_available=_has_evidence, anchors=("majority",),
    ),
    Entry(
        slug="a-okvqa", build=deferred("evaluator.lumos.pictures.suite:okvqa_suite"), episode=_OKVQA,
        is_available=pictures.OKVQA.is_here, has_gold=False,
    ),
    Entry(
        slug="scienceqa", build=deferred("evaluator.lumos.pictures.suite:science_suite"), episode=_SCIENCE,
        is_available=pictures.SCIENCE.is_here, has_gold=False,
    ),
    Entry(
        slug="mind2web", build=deferred("evaluator.lumos.web.suite:mind2web_suite"), episode=_MIND2WEB,
        is_available=web.STEPS.is_here,
    ),
)  # fmt: skip
FETCHING = "evaluator.lumos.commands"
ATTACKS = "evaluator.lumos.attacks"
STRATEGIES = ("evaluator.lumos.strategies.strategy",)
