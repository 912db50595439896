"""The suite `openagi-season`: generated requests for OpenAGI's tools and data."""

import os
import random
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from evaluator.core.suites.base import ABSTENTION, Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.facets import STRUCTURE, Facet, Facets
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.registry import Entry, deferred
from evaluator.core.suites.secrets import derived
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.episodes.base import Setting
from evaluator.episodes.executed import ExecutedPlans, hidden_seed
from evaluator.openagi.season.english import English
from evaluator.openagi.season.german import German
from evaluator.openagi.season.hidden.realiser import realised, with_neutral_names
from evaluator.openagi.season.requests import Language, RequestSpec, drawn, stratum_of
from evaluator.openagi.season.sealed.form import SeasonForm
from evaluator.openagi.season.speaker import Pattern, Speaker
from evaluator.openagi.season.tasks import SEVERAL, SeasonTask, season_task
from evaluator.openagi.suite import COLUMNS as RELEASED_COLUMNS
from evaluator.openagi.suite import EXACT_PLAN, NEAR_PLAN, closed_column

if TYPE_CHECKING:
    from evaluator.core.suites.samples import SampleSource

SPEAKERS: Mapping[Language, type[Speaker]] = {Language.ENGLISH: English, Language.GERMAN: German}


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """The wording of a request, and its pattern."""

    text: str
    pattern: Pattern


def worded(*, spec: RequestSpec, rng: random.Random) -> Worded:
    """The request in a random suitable pattern."""
    speaker = SPEAKERS[spec.stratum.spoken](spec=spec, rng=rng)
    pattern = rng.choice([pattern for pattern in speaker.patterns if speaker.suits(pattern)])
    return Worded(text=speaker.request(pattern), pattern=pattern)


_TRIES = 100


def season(*, seed: str, count: int, taken: Set[str] = frozenset(), lexicon: str = "") -> tuple[SeasonTask, ...]:
    """The requests of a season.

    Args:
        seed: the same seed always gives the same requests.
        count: number of requests; a smaller season is the beginning of a larger one.
        taken: texts that are not used again.
        lexicon: the secret that determines the lexicon of hidden requests; empty for the public grammar.

    Raises:
        RuntimeError: no new text was found for a request.
    """
    tasks: list[SeasonTask] = []
    texts = set(taken)
    for number in range(count):
        task = _request(number=number, seed=seed, taken=texts, lexicon=lexicon)
        texts.add(task.text)
        tasks.append(task)
    return tuple(tasks)


def _request(*, number: int, seed: str, taken: Set[str], lexicon: str) -> SeasonTask:
    rng = random.Random(f"openagi-season {seed} {number}")  # noqa: S311 - the seed is what is secret
    for _ in range(_TRIES):
        spec = drawn(stratum=stratum_of(number), rng=rng)
        if lexicon:
            spec = with_neutral_names(spec=spec, lexicon=lexicon, rng=rng)
        text = _words(spec=spec, lexicon=lexicon, rng=rng)
        if text not in taken:
            return season_task(key=str(number), text=text, spec=spec, lexicon=lexicon)
    raise RuntimeError(f"no new words for request {number} after {_TRIES} tries")


def _words(*, spec: RequestSpec, lexicon: str, rng: random.Random) -> str:
    return realised(spec=spec, lexicon=lexicon, rng=rng) if lexicon else worded(spec=spec, rng=rng).text


VERSION = "2"
"""In version 1, hidden requests had the grammar of public ones."""
PUBLIC_SEED = "public"
TASKS_VARIABLE = "PLANARENA_SEASON_TASKS"
"""Number of requests of a season, which must be the same for all processes of a site. Suites with other numbers have
separate boards."""
TASKS = 2000

COLUMNS = (
    *(replace(column, interval=IntervalMethod.SAMPLED_TASKS) for column in RELEASED_COLUMNS),
    Column(
        key=SEVERAL,
        label="Several",
        metric=SEVERAL,
        description="Requests for several answers: the mean of the answers' ViT, BERT or CLIP scores.",
        interval=IntervalMethod.SAMPLED_TASKS,
    ),
    Column(
        key=ABSTENTION,
        label="Abstention",
        metric=ABSTENTION,
        description="Requests that no tool can meet: 1 for a plan without steps, 0 for any other.",
        title="Right to abstain",
        interval=IntervalMethod.WILSON,
    ),
    EXACT_PLAN,
    NEAR_PLAN,
)

_LANGUAGES = {"en": "English", "de": "German"}
FACETS = Facets(
    filters=(
        Facet(
            name="composition",
            label="Composition",
            attribute="composition",
            words={"several_answers": "several answers", "two_inputs_apart": "two inputs apart", "no_tool": "no tool"},
        ),
        Facet(name="trick", label="Trick", attribute="trick"),
        Facet(name="goal", label="Goal", attribute="goals"),
        STRUCTURE,
        Facet(name="request_language", label="Request in", attribute="request_language", words=_LANGUAGES),
        Facet(name="language", label="Answer in", attribute="answer_language", words=_LANGUAGES),
        Facet(
            name="degradations",
            label="Degradations",
            unit="degradation",
            attribute="degradations",
            order=tuple(str(number) for number in range(5)),
        ),
        Facet(
            name="steps", label="Gold plan", attribute="gold_steps", heading="Difficulty", unit="step", tells_gold=True
        ),
    ),
    facts=("composition", "trick", "goal", "structure", "request_language", "language", "degradations"),
    breakdowns=("composition", "trick", "goal", "structure", "request_language", "language", "degradations", "steps"),
    plots=("composition", "trick", "request_language", "structure"),
    comparisons=("composition", "trick", "goal", "structure", "request_language", "steps"),
)


def tasks_of_a_season() -> int:
    """Number of requests of a season.

    Raises:
        LookupError: `PLANARENA_SEASON_TASKS` is no positive whole number.
    """
    said = os.environ.get(TASKS_VARIABLE) or str(TASKS)
    if not said.isdecimal() or not int(said):
        raise LookupError(f"{TASKS_VARIABLE} is {said!r}; it must be a number of requests, such as 300 or {TASKS}")
    return int(said)


def season_suite(version: str = VERSION) -> Suite:
    """The public season.

    Args:
        version: an earlier one has the hidden requests of its time.

    Raises:
        LookupError: see `tasks_of_a_season`.
    """
    count = tasks_of_a_season()
    tasks = season(seed=PUBLIC_SEED, count=count)
    return Suite(
        slug="openagi-season",
        version=version,
        title="OpenAGI (season)",
        description=f"{count:,} generated requests for OpenAGI's tools and data, new in every season.",
        metrics=(*COLUMNS, replace(closed_column(tasks), interval=IntervalMethod.SAMPLED_TASKS)),
        catalogue=OPENAGI,
        tasks=tasks,
        conditions=Conditions(experts=True, samples=True, splits=("public", "validation", HIDDEN)),
        training_splits=("validation",),
        panels=(Panel.SCORES, Panel.ARTEFACTS),
        scoring=(
            "A plan with several answers scores the mean of their scores. A null plan, or one without steps and "
            "answers, says that no tool can meet the request: that scores 1 where it is right, and 0 elsewhere."
        ),
        facets=FACETS,
        may_abstain=True,
        reworded=_reworded,
        public_draws=lambda count: season(seed=f"{PUBLIC_SEED} draws", count=count),
        hidden_requests=_hidden_requests,
        sealed_form=None if version == "1" else SeasonForm(),
    )


def _samples(setting: Setting) -> "SampleSource":
    # Imported when needed: reading the registry must stay cheap, and this loads the miniature world.
    from evaluator.openagi.season.samples import season_samples

    return season_samples(profile=setting.profile, split=setting.split, hidden_seed=hidden_seed(setting))


ENTRY = Entry(
    slug="openagi-season",
    build=season_suite,
    episode=ExecutedPlans(samples=_samples),
    catalogue=OPENAGI.name,
    regex=deferred("evaluator.openagi.season.regex:plan"),
    earlier=(partial(season_suite, "1"),),
)


def _reworded(task: Task, rng: random.Random) -> str | None:
    # The impossible part is drawn with the wording, so another wording would be another request.
    if not isinstance(task, SeasonTask) or task.metric == ABSTENTION:
        return None
    return _words(spec=task.spec, lexicon=task.lexicon, rng=rng)


def _hidden_requests(suite: Suite, seed: str) -> tuple[Task, ...]:
    """The requests of another seed: each has the stratum of the public one with its key, and is worded by a grammar of
    its own. Planners know neither key nor position (`suites.hidden`): both are permuted in each season."""
    public = frozenset(task.text for task in suite.tasks)
    return season(
        seed=derived("requests", suite.slug, seed=seed),
        count=len(suite.tasks),
        taken=public,
        lexicon="" if suite.version == "1" else derived("lexicon", suite.slug, seed=seed),
    )
