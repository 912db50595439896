"""The shortcuts as bundled planners, and their models, trained when they are first needed."""

import gzip
import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerReply, PlannerRequest
from evaluator.core.plans.abstaining import abstention
from evaluator.core.plans.model import Plan, plan_to_json
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import entry_of, suite_of
from evaluator.planners.anchors import BundledEntry
from evaluator.planners.shortcuts.examples import DRAWS, Example, examples_of, fold_of, folds_of, values_of

VERSION = 2
"""Increase it whenever a model of the same examples answers differently."""
_NO_TIME = PlannerCall(seconds=0.0)
_NO_PLAN = "No public request is like this one."
_training = threading.Lock()


@lru_cache(maxsize=1)
def _examples(slug: str, digest: str, draws: int) -> tuple[Example, ...]:
    """The examples of a suite, which all its shortcuts learn from."""
    del digest  # of a registry that was read again
    return examples_of(suite_of(slug), draws=draws)


class _Model(Protocol):
    def to_json(self) -> JsonValue: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """A shortcut that is trained."""

    name: str
    train: Callable[[Sequence[Example]], _Model]
    read: Callable[[Mapping[str, Any]], _Model]

    def digest(self, suite: Suite) -> str:
        """SHA-256 of what the models depend on: the suite's version, the number of examples and this code's version."""
        return canonical_json.digest([self.name, VERSION, DRAWS, suite.slug, suite.digest])

    def path(self, suite: Suite) -> Path:
        """Where the models are kept: `shortcuts` in `PLANARENA_DATA`, or in `.data` if that is not set."""
        data = Path(os.environ.get("PLANARENA_DATA", ".data"))
        return data / "shortcuts" / f"{suite.slug}-{self.name}-{self.digest(suite)[:16]}.json.gz"

    def built(self, suite: Suite) -> list[_Model]:
        """Train the models of a suite of the registry, one for each fold of its examples."""
        examples = _examples(suite.slug, suite.digest, DRAWS)
        return [self.train(chosen) for chosen in folds_of(suite, examples)]

    def keep(self, models: Sequence[_Model], *, suite: Suite) -> Path:
        """Write the models. Equal models are equal files.

        Raises:
            OSError: the folder cannot be written.
        """
        path = self.path(suite)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = canonical_json.dumps([model.to_json() for model in models]).encode()
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(gzip.compress(data, mtime=0))
        Path(file.name).replace(path)
        return path

    def models(self, slug: str) -> list[_Model]:
        """The models of the suite with this slug: kept ones, or trained now and kept if the folder can be written."""
        suite = suite_of(slug)
        with suppress(OSError, EOFError, ValueError, LookupError, TypeError):
            return [self.read(value) for value in json.loads(gzip.decompress(self.path(suite).read_bytes()))]
        models = self.built(suite)
        with suppress(OSError):  # then the next process trains them again
            self.keep(models, suite=suite)
        return models


def _memoriser() -> Shortcut:
    from evaluator.planners.shortcuts.memoriser import Memoriser

    return Shortcut(name=MemoriserPlanner.name, train=Memoriser.of, read=Memoriser.from_json)


def _bag_of_words() -> Shortcut:
    from evaluator.planners.shortcuts.bag_of_words import BagOfWords

    return Shortcut(name=BagOfWordsPlanner.name, train=BagOfWords.of, read=BagOfWords.from_json)


def shortcut_named(name: str) -> Shortcut:
    """The trained shortcut of this name.

    Raises:
        LookupError: there is none.
    """
    return TRAINED[name]()


@cache
def _models(name: str, slug: str, digest: str) -> list[Any]:
    del digest  # of a registry that was read again
    return shortcut_named(name).models(slug)


def _model_for(text: str, *, name: str, slug: str) -> Any:
    """The model that learnt nothing from a request with these words."""
    with _training:
        models = _models(name, slug, suite_of(slug).digest)
    return models[fold_of(text) % len(models)]


def _told(request: PlannerRequest) -> dict[str, Any]:
    """What a model takes of a request."""
    task, expects = request.task, request.expects
    wanted = tuple(expects.types) or ((expects.type,) if expects.type else ())
    given = values_of(task.given, resources=task.resources)
    return {"text": task.request, "resources": task.resources, "given": given, "wanted": wanted}


class _Trained:
    """Answers by a model of public requests. On hidden splits as well it learns from public requests only."""

    name: str

    def __init__(self, suite: Suite) -> None:
        self._slug = suite.slug

    def _model(self, request: PlannerRequest) -> Any:
        return _model_for(request.task.request, name=self.name, slug=self._slug)


class MemoriserPlanner(_Trained):
    """See `evaluator.planners.shortcuts.memoriser`."""

    name = "template-memoriser"

    def plan(self, request: PlannerRequest) -> PlannerReply:
        found = self._model(request).plan(**_told(request))
        return _reply(None) if found is None else _reply(found[0], {"similarity": round(found[1], 3)})


class BagOfWordsPlanner(_Trained):
    """See `evaluator.planners.shortcuts.bag_of_words`."""

    name = "bag-of-words"

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return _reply(self._model(request).plan(**_told(request)))


class RegexPlanner:
    """Keyword rules that were written by hand from the suite's public requests."""

    name = "regex"

    def __init__(self, suite: Suite) -> None:
        rules = entry_of(suite.slug).regex
        if rules is None:
            raise LookupError(f"{suite.slug} has no keyword rules")
        self._rules = rules

    def plan(self, request: PlannerRequest) -> PlannerReply:
        found = self._rules(request)
        return _reply(found) if found is None or isinstance(found, Plan) else PlannerReply(plan=found, call=_NO_TIME)


def _reply(plan: Plan | None, notes: Mapping[str, JsonValue] | None = None) -> PlannerReply:
    is_empty = plan is None or not (plan.steps or plan.answers)
    answer = abstention(_NO_PLAN) if plan is None or is_empty else plan_to_json(plan)
    return PlannerReply(plan=answer, call=_NO_TIME, notes=notes or {})


TRAINED: Mapping[str, Callable[[], Shortcut]] = {
    MemoriserPlanner.name: cache(_memoriser),
    BagOfWordsPlanner.name: cache(_bag_of_words),
}
BUNDLED = (
    BundledEntry(
        name=RegexPlanner.name,
        description="Keyword rules that were written by hand from the suite's public requests: a shortcut.",
        make=RegexPlanner,
        is_named_by_suites=True,
        is_shortcut=True,
    ),
    BundledEntry(
        name=MemoriserPlanner.name,
        description="The plan of the public request with the most similar wording, its slots filled: a shortcut.",
        make=MemoriserPlanner,
        learns=True,
        is_shortcut=True,
    ),
    BundledEntry(
        name=BagOfWordsPlanner.name,
        description="Logistic regressions from the words of a request to the parts of its plan: a shortcut.",
        make=BagOfWordsPlanner,
        learns=True,
        is_shortcut=True,
    ),
)
