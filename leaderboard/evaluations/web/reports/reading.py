"""Reports of `planarena evaluate` (`evaluation/1`), which are files of strangers: checked as a whole before anything is
shown, and refused with a sentence that says what is wrong, where, and what would be right.

Means are computed from the checked records; a report's own summary is compared with them.
"""

import json
import os
import stat
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from evaluator.core.canonical_json import JsonValue
from evaluator.core.naming import did_you_mean
from evaluator.core.records import ResultRecord
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.registry import suite_names, suite_of
from evaluator.scoring.causes.taxonomy import Finding
from evaluator.scoring.metrics.aggregate import TaskScore, summarise
from evaluator.scoring.readability import Reading, keys_of
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import suite_row
from leaderboard.evaluations.results.records import problem_of

FORMAT = "evaluation/1"
MOST_BYTES = 256 * 1024 * 1024
"""Of a report. A record of 32 samples takes 60 kB; the largest suite has 2,000 tasks."""
MOST_RECORD_BYTES = 8 * 1024 * 1024
"""Of one record as JSON, as a site accepts it."""
_MOST_SAMPLES = 10_000
_LONGEST_NAME = 200
_LONGEST_TEXT = 200
_MOST_FINDINGS = 200
"""Of one task."""
_MOST_FACTS = 50_000
"""Characters of provenance and the planner's identity as JSON."""
_SAME = 1e-6
"""Tolerance between the means of a report and those of its records."""
_NOT_PART = ("results", "causes", "summary", "version", "suite", "planner", "reliability", "runs")
"""Members of a report that are shown elsewhere than under its provenance."""


class ReportError(Exception):
    """A file that cannot be shown; the message is a sentence for its reader."""


class Report(NamedTuple):
    """A checked report."""

    path: Path
    name: str
    """Of the planner."""
    library: LibrarySuite
    suite: Suite
    """An unsaved row."""
    records: Mapping[str, ResultRecord]
    """By task, in the suite's order."""
    findings: Mapping[str, list[dict[str, JsonValue]]] | None
    """Causes by task as rows have them; None if the report has none."""
    summary: Mapping[str, Any]
    """Computed from the records."""
    contradiction: str
    """A sentence if the report's own means do not follow from its records; else empty."""
    profile: str
    """Name of the experts' profile; `none` without one."""
    profile_digest: str
    """Of the profile, or of the rules that plans are judged by; empty if the report does not say."""
    split: str
    samples: int
    """Of each task, at most."""
    provenance: Mapping[str, Any]


def read_report(path: Path) -> Report:
    """Read and check a report.

    Raises:
        ReportError: it is none, or one that this release cannot show.
    """
    document = _document(path)
    version = document.get("version")
    if version != FORMAT:
        raise ReportError(f"{path} {_other_format(document)}")
    library = _suite(document.get("suite"), path=path)
    suite = suite_row(library)
    facts = {name: value for name, value in document.items() if name not in _NOT_PART}
    if len(json.dumps(facts)) > _MOST_FACTS:
        raise ReportError(
            f"{path}: its provenance has more than {_MOST_FACTS} characters; evaluate writes a few hundred"
        )
    name = document.get("planner")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        raise ReportError(f'{path}: "planner" must be the name of a planner, a text of 1 to {_LONGEST_NAME} characters')
    data = _object(document, "data")
    samples = data.get("samples", 1)
    if type(samples) is not int or not 1 <= samples <= _MOST_SAMPLES:
        raise ReportError(f'{path}: "data.samples" must be a number of samples from 1 to {_MOST_SAMPLES}')
    records = _records(document.get("results"), path=path, library=library, suite=suite, samples=samples)
    reading = Reading.of((record, keys_of(record.tolerated)) for record in records.values())
    summary = summarise(suite=library, results=map(TaskScore.of, records.values()), samples=samples)
    summary = {**summary, "reading": reading.to_json()}
    profile = _object(document, "profile")
    digest = profile.get("digest") or document.get("judge") or document.get("environment") or ""
    return Report(
        path=path,
        name=name,
        library=library,
        suite=suite,
        records=records,
        findings=_findings(document.get("causes"), path=path, records=records),
        summary=summary,
        contradiction=_contradiction(stated=document.get("summary"), computed=summary),
        profile=str(profile.get("name") or "none")[:_LONGEST_NAME],
        profile_digest=digest[:64] if isinstance(digest, str) else "",
        split=str(data.get("split") or "public")[:_LONGEST_NAME],
        samples=samples,
        provenance=facts,
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        # A pipe or a device would block or never end.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
                raise ReportError(f"{path} is {what}; give the file that evaluate --output wrote")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                data = file.read(MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise ReportError(f"{path} has more than {MOST_BYTES // 1024**2} MiB; evaluate fewer tasks with --tasks")
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number, object_pairs_hook=_sorted_object)
    except RecursionError:
        raise ReportError(f"{path} is nested too deeply for a report of planarena evaluate") from None
    except (UnicodeDecodeError, ValueError) as error:
        raise ReportError(f"{path} {_not_json(data, error=error)}") from None
    if not isinstance(document, dict):
        raise ReportError(f"{path} is not a report but a JSON {_kind(document)}; a report is an object")
    return document


def _sorted_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in the order of stored records, so that pages show arguments in the order of a site."""
    return dict(sorted(pairs))


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number of JSON")


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "text" if isinstance(value, str) else "value"


def _not_json(data: bytes, *, error: Exception) -> str:
    start = data[:200].lstrip()
    if start.startswith((b"#", b"|")):
        return (
            "is not a report but Markdown, such as the summary for a CI job that --summary writes; give the file that "
            "evaluate --output wrote"
        )
    if start.startswith(b"<"):
        return "is not a report but XML or HTML, such as a JUnit file; give the file that evaluate --output wrote"
    if start.startswith(b'{"version":"result/1"') and b"\n{" in data[:MOST_RECORD_BYTES]:
        return (
            "has the records of an interrupted evaluation, a line for each; run the same evaluate again, and it "
            "continues from its store"
        )
    where = f": {error.msg} in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else f": {error}"
    return f"is not a report: it is not JSON{where}"


def _other_format(document: Mapping[str, Any]) -> str:
    """Why an object with another version is not shown, as the rest of a sentence."""
    version = document.get("version")
    right = f"planarena view shows the {FORMAT} that evaluate --output writes"
    if isinstance(version, str) and version.startswith("evaluation/") and version[11:].isdecimal():
        if int(version[11:][:6]) < int(FORMAT[11:]):
            return f"has the older format {version[:40]}; {right}. Evaluate the planner again with this release"
        return f"has the newer format {version[:40]}; this release reads {FORMAT}. Install the release that wrote it"
    if isinstance(version, str) and version.startswith("result/"):
        return f"is the record of one task; {right}"
    if "evaluations" in document or "submission" in document:
        return f"is a site's answer about a submission, whose pages are on the site; {right}"
    if version is None:
        return f'is not a report: it has no "version"; {right}'
    return f"is not a report: its format is {json.dumps(version)[:60]}; {right}"


def _suite(value: Any, *, path: Path) -> LibrarySuite:
    slug = value.get("slug") if isinstance(value, dict) else None
    digest = value.get("digest") if isinstance(value, dict) else None
    if not isinstance(slug, str) or not isinstance(digest, str):
        raise ReportError(f'{path}: "suite" must be an object with the texts "slug", "version" and "digest"')
    if slug not in suite_names():
        raise ReportError(
            f"{path}: there is no suite {slug[:60]!r} in this release.{did_you_mean(slug, suite_names())} Suites of "
            "your own are named by PLANARENA_SUITES, as for evaluate"
        )
    suite = suite_of(slug)
    if suite.digest != digest:
        raise ReportError(
            f"{path} is about {slug} {str(value.get('version'))[:20]} ({digest[:12]}), and this release has {slug} "
            f"{suite.version} ({suite.digest[:12]}). Install the release that wrote it, or evaluate again"
        )
    return suite


def _object(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _records(
    value: Any, *, path: Path, library: LibrarySuite, suite: Suite, samples: int
) -> Mapping[str, ResultRecord]:
    places = {task.key: place for place, task in enumerate(library.tasks)}
    if not isinstance(value, list) or not value:
        raise ReportError(f'{path}: "results" must be a list with a record for each task')
    if len(value) > len(places):
        raise ReportError(f"{path}: it has {len(value)} results; {library.slug} has {len(places)} tasks")
    records: dict[str, ResultRecord] = {}
    for number, item in enumerate(value):
        where = f"{path}: results[{number}]"
        if isinstance(item, dict) and isinstance(item.get("task"), str):
            where += f" (task {item['task'][:60]})"
        if len(json.dumps(item)) > MOST_RECORD_BYTES:
            raise ReportError(f"{where} has more than {MOST_RECORD_BYTES // 1024**2} MiB")
        try:
            record = ResultRecord.model_validate(item)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))[:100] or "it"
            raise ReportError(f"{where}: {place}: {first['msg'][:1].lower()}{first['msg'][1:][:200]}") from None
        except RecursionError:
            raise ReportError(f"{where} is nested too deeply") from None
        if record.suite != library.slug:
            raise ReportError(f"{where} is of the suite {record.suite[:60]!r}; the report is about {library.slug}")
        if record.task not in places:
            raise ReportError(f"{where}: {library.slug} has no such task")
        if record.task in records:
            raise ReportError(f"{where}: the task has two results")
        if problem := problem_of(record, suite=suite, samples=samples):
            raise ReportError(f"{where}: {problem[:300]}")
        if not all(map(isfinite, record.indicators.values())):
            raise ReportError(f"{where}: its indicators must be finite numbers")
        records[record.task] = record
    return dict(sorted(records.items(), key=lambda pair: places[pair[0]]))


def _findings(
    value: Any, *, path: Path, records: Mapping[str, ResultRecord]
) -> Mapping[str, list[dict[str, JsonValue]]] | None:
    if value is None:
        return None
    findings = value.get("findings") if isinstance(value, dict) else None
    if not isinstance(findings, dict):
        raise ReportError(f'{path}: "causes" must be an object with "findings" by task')
    checked: dict[str, list[dict[str, JsonValue]]] = {task: [] for task in records}
    for task, items in findings.items():
        where = f'{path}: "causes.findings" of task {task[:60]}'
        if task not in records:
            raise ReportError(f"{where}: the report has no result of this task")
        if not isinstance(items, list) or len(items) > _MOST_FINDINGS:
            raise ReportError(f"{where} must be a list of at most {_MOST_FINDINGS} findings")
        checked[task] = [_finding(item, where=where) for item in items]
    return checked


def _finding(item: Any, *, where: str) -> dict[str, JsonValue]:
    if not isinstance(item, dict) or not all(isinstance(text, str) for text in item.values()):
        raise ReportError(f"{where}: a finding must be an object of texts")
    short = {name: text[:_LONGEST_TEXT] for name, text in item.items()}
    try:
        return Finding.from_json(short).to_json()
    except (ValueError, KeyError, TypeError):
        raise ReportError(f"{where}: {json.dumps(short)[:120]} is not a finding of this release") from None


def _contradiction(*, stated: Any, computed: Mapping[str, Any]) -> str:
    """Whether the report's own means are those of its records."""
    metrics = stated.get("metrics") if isinstance(stated, dict) else None
    if not isinstance(metrics, dict):
        return "The report has no summary. The figures here are computed from its records."
    different: Sequence[str] = [
        f"{name} {_mean(metrics.get(name))} instead of {_mean(value)}"
        for name, value in computed["metrics"].items()
        if not _agree(metrics.get(name), value)
    ]
    if not different:
        return ""
    listed = ", ".join(different[:3]) + (f" and {len(different) - 3} more" if len(different) > 3 else "")
    return f"The report's summary does not follow from its records ({listed}). The figures here are computed from them."


def _agree(stated: Any, computed: Mapping[str, Any]) -> bool:
    mean = stated.get("mean") if isinstance(stated, dict) else None
    return isinstance(mean, int | float) and abs(mean - computed["mean"]) <= _SAME


def _mean(value: Any) -> str:
    mean = value.get("mean") if isinstance(value, dict) else None
    return f"{mean:.3f}" if isinstance(mean, int | float) and not isinstance(mean, bool) else "no number"
