"""The folder of a study.

FOLDER/plan.toml                   the plan
FOLDER/tasks.json                  the group of each task
FOLDER/code/DIGEST.json            manifests of the code, by their digest
FOLDER/statements/NUMBER.json      the signed statements, a chain
FOLDER/scores/seed-SEED/ARM.json   the score of each task; ARM.NUMBER.json of a repeated run
FOLDER/amendments/NUMBER.toml      the plan after a deviation
FOLDER/results/NUMBER.json         the figures of a closing
FOLDER/../keys.json                the public keys of the authors
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from evaluator.core import canonical_json
from evaluator.core.signatures.envelope import Envelope, EnvelopeError, PublicKey, open_envelope
from evaluator.studies.registered.analysis import Results
from evaluator.studies.registered.files import Manifest, StudyError, digest_of, inside, json_of, read
from evaluator.studies.registered.plan import Plan, parse
from evaluator.studies.registered.statements import (
    KINDS,
    StudyClosing,
    StudyDeviation,
    StudyRegistration,
    StudyRun,
    StudyStatement,
)

PLAN, TASKS = "plan.toml", "tasks.json"
_MOST_STATEMENTS = 10_000
_LONGEST_TASK = 200
_Statement = TypeVar("_Statement", bound=StudyStatement)


class StudyResults(BaseModel):
    """The figures of a closing, `planarena-study-results/1`. Both are kept if they differ."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["planarena-study-results/1"] = "planarena-study-results/1"
    study: str
    as_registered: Results
    """By the registered plan, over the runs that deviate in nothing. Of an unregistered study: by its plan."""
    with_deviations: Results | None
    """By the last amended plan, over all runs; None without deviations."""


@dataclass(frozen=True)
class StudyFolder:
    """A study: what is in its folder, read when it is needed. Nothing is trusted before it is verified."""

    path: Path

    @cached_property
    def plan(self) -> Plan:
        """The plan, as registered."""
        return parse(read(self.path, PLAN))

    @cached_property
    def groups(self) -> dict[str, str]:
        """The group of each task."""
        return _texts(json_of(self.path, TASKS), name=TASKS)

    def digest(self, name: str) -> str:
        """SHA-256 of a file of the study."""
        return digest_of(read(self.path, name))

    @cached_property
    def envelopes(self) -> list[Envelope]:
        """The signed statements, in order. Their signatures are not verified.

        Raises:
            StudyError: a number is missing, or a file is no envelope.
        """
        folder = self.path / "statements"
        names = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []
        if len(names) > _MOST_STATEMENTS or names != [f"{number:04}.json" for number in range(len(names))]:
            raise StudyError("statements/ must have the files 0000.json, 0001.json and so on, and no others")
        return [self._envelope(f"statements/{name}") for name in names]

    def _envelope(self, name: str) -> Envelope:
        json_of(self.path, name)
        try:
            return Envelope.model_validate_json(read(self.path, name))
        except ValidationError:
            raise StudyError(f"{name} is no signed statement") from None

    def chain(self, keys: Mapping[str, PublicKey]) -> "Chain":
        """The statements, verified.

        Args:
            keys: the trusted keys by their ids.

        Raises:
            StudyError: one has no valid signature of a trusted key, or does not follow from the one before it.
        """
        statements, before = list[StudyStatement](), None
        for number, envelope in enumerate(self.envelopes):
            where = f"statement {number}"
            statement = _opened(envelope, keys=keys, where=where)
            if statement.key != envelope.key_id or statement.number != number:
                raise StudyError(f"{where} names another key or number than it has")
            if statement.study != self.plan.name:
                raise StudyError(f"{where} is about the study {statement.study}, not {self.plan.name}")
            if statement.previous != (before.digest if before else None):
                raise StudyError(f"{where} does not follow from the one before it")
            if statements and statement.signed < statements[-1].signed:
                raise StudyError(f"{where} was signed before the one before it")
            statements.append(statement)
            before = envelope
        chain = Chain(statements=statements, head=before.digest if before else None)
        if any(isinstance(one, StudyRegistration) for one in statements[1:]):
            raise StudyError("the study is registered after its first statement, or twice")
        if statements and not chain.registration and not isinstance(statements[0], StudyClosing):
            raise StudyError("the study has runs or deviations before its registration")
        return chain

    def scores_of(self, run: StudyRun) -> dict[str, float]:
        """The scores of a run."""
        return self.scores(scores_name(seed=run.seed, arm=run.arm, number=run.number if run.repeated else None))

    def scores(self, name: str) -> dict[str, float]:
        """The scores in a file, in the unit of the suite.

        Raises:
            StudyError: it is not a number for each of some tasks of the study.
        """
        found = json_of(self.path, name)
        if not isinstance(found, dict) or not found:
            raise StudyError(f"{name} is no object with a score for each task")
        scores = {}
        for task, score in found.items():
            if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
                raise StudyError(f"{name}: the score of task {task[:40]!r} is no number")
            scores[task] = float(score)
        if unknown := sorted(scores.keys() - self.groups.keys()):
            raise StudyError(f"{name}: the study has no task {unknown[0][:40]!r}")
        return scores

    def score_files(self) -> dict[tuple[int, str], str]:
        """The files of scores by seed and arm, without those of repeated runs.

        Raises:
            StudyError: there is another file in the folder.
        """
        found = {}
        for file in sorted((self.path / "scores").rglob("*")) if (self.path / "scores").is_dir() else []:
            name = file.relative_to(self.path).as_posix()
            inside(self.path, name)
            if file.is_dir():
                continue
            match = re.fullmatch(r"scores/seed-(\d{1,10})/([a-z0-9][a-z0-9_-]*)(\.\d{1,4})?\.json", name)
            if match is None:
                raise StudyError(f"{name[:80]!r} is no file of scores")
            if match[3] is None:
                found[int(match[1]), match[2]] = name
        return found

    def manifest(self, digest: str) -> Manifest:
        """A manifest of code by its digest.

        Raises:
            StudyError: it is missing, or does not have this digest.
        """
        name = f"code/{digest}.json"
        if self.digest(name) != digest:
            raise StudyError(f"{name} is not the file that was signed")
        return _texts(json_of(self.path, name), name=name)

    def amended(self, statement: StudyDeviation) -> Plan:
        """The plan after a deviation that changes it."""
        return parse(read(self.path, f"amendments/{statement.number:04}.toml"))

    def results(self, closing: StudyClosing) -> StudyResults:
        """The figures of a closing.

        Raises:
            StudyError: they are not what was signed.
        """
        name = f"results/{closing.number:04}.json"
        if self.digest(name) != closing.results:
            raise StudyError(f"{name} is not the file that was signed")
        json_of(self.path, name)
        try:
            return StudyResults.model_validate_json(read(self.path, name))
        except ValidationError as error:
            raise StudyError(f"{name} is no results of a study: see {error.errors()[0]['loc'][:4]}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The verified statements of a study, in order."""

    statements: Sequence[StudyStatement] = field(default_factory=list)
    head: str | None = None
    """Digest of the last one."""

    @property
    def registration(self) -> StudyRegistration | None:
        """The registration; None of a study that was never registered."""
        return next(iter(self.of(StudyRegistration)), None)

    @property
    def closing(self) -> StudyClosing | None:
        """The last closing, if any."""
        return next(reversed(self.of(StudyClosing)), None)

    def of(self, kind: type[_Statement]) -> list[_Statement]:
        """The statements of a kind, in order."""
        return [one for one in self.statements if isinstance(one, kind)]

    def before(self, number: int) -> "Chain":
        """The statements before a number."""
        return Chain(statements=self.statements[:number])

    @property
    def code(self) -> set[str]:
        """Digests of manifests of code that runs may have: the registered one, and declared ones."""
        registered = {self.registration.code} if self.registration else set()
        return registered | {one.code for one in self.of(StudyDeviation) if one.code}

    @property
    def analysis(self) -> set[str]:
        """The same of the analysis's code."""
        registered = {self.registration.analysis} if self.registration else set()
        return registered | {one.analysis for one in self.of(StudyDeviation) if one.analysis}

    @property
    def data(self) -> list[Mapping[str, str]]:
        """Digests of data that runs may have."""
        registered = [self.registration.data] if self.registration else []
        return [*registered, *(one.data for one in self.of(StudyDeviation) if one.data is not None)]

    def deviates(self, run: StudyRun) -> bool:
        """Whether a run has other code or data than registered, or repeats another run."""
        registration = self.registration
        if registration is None:
            return False
        return run.repeated or run.code != registration.code or dict(run.data) != dict(registration.data)


def scores_name(*, seed: int, arm: str, number: int | None = None) -> str:
    """Path of a file of scores within the study; `number` of a repeated run."""
    return f"scores/seed-{seed}/{arm}{'' if number is None else f'.{number}'}.json"


def scores_digest(digests: Mapping[str, str]) -> str:
    """Digest of the digests of all files of scores, by path."""
    return canonical_json.digest(dict(digests))


def _opened(envelope: Envelope, *, keys: Mapping[str, PublicKey], where: str) -> StudyStatement:
    for kind in KINDS:
        if kind.media_type() == envelope.payloadType:
            try:
                return open_envelope(envelope, expected=kind, keys=keys)
            except EnvelopeError as error:
                raise StudyError(f"{where} {error}") from None
    raise StudyError(f"{where} is of type {envelope.payloadType[:60]!r}, which is none of a study")


def _texts(value: canonical_json.JsonValue, *, name: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(
        isinstance(text, str) and len(text) <= _LONGEST_TASK and len(key) <= _LONGEST_TASK
        for key, text in value.items()
    ):
        raise StudyError(f"{name} is no object of texts")
    return {key: str(text) for key, text in value.items()}
