"""Reports of `planarena evaluate`, scored again: the recorded answers under today's judge, scorers and suite."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from evaluator.cli.evaluate import evaluation_document
from evaluator.client.errors import UsageError
from evaluator.core.canonical_json import JsonValue
from evaluator.core.commands.usage import write_json
from evaluator.core.recorded_answers import RecordedAnswers, RecordedTurns, answer_in, has_answer
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Evaluator, SettingError, episode_of
from evaluator.episodes.options import ExecutionSettings, setting_of
from evaluator.scoring.arbiters.base import THRESHOLD
from evaluator.scoring.causes.command import causes_document
from evaluator.scoring.changes import Changes, Graded, changes_between

_SAMPLES = 32
"""Of `evaluate`, where a report has none: suites that judge plans."""
_MOST_SHOWN = 10
_ASKED_OTHERWISE = "The report's run asked for this task in other words."
_CONDITIONS = (
    ("suite_version", "version of the suite", ("suite", "version")),
    ("suite_version", "digest of the suite", ("suite", "digest")),
    ("judge", "digest of the judging rules", ("judge",)),
    ("scorers", "digest of the profile", ("profile", "digest")),
    ("scorers", "digest of the data", ("data", "digest")),
)
"""What may change, a condition in words, and its place in a report."""


class Difference(NamedTuple):
    """A condition that differs between a report and today."""

    change: str
    """`judge`, `scorers` or `suite_version`."""
    name: str
    before: str
    after: str


def regrade_report(file: Path, *, allowed: Sequence[str], output: Path, arbiter: str = "") -> list[str]:
    """Score the answers of a report again, and write the new report. Nobody is asked.

    Args:
        file: the report.
        allowed: what may differ from today: `judge`, `scorers`, `suite_version`; empty: each of them.
        output: the new report, with the field `regrade`: the digest of the first one, the conditions that differ, and
            the tasks that score otherwise.
        arbiter: settles pairs in place of the report's own; empty: that of the report, if any.

    Returns:
        What changed, in sentences.

    Raises:
        UsageError: it is not a report, its arbiter cannot be opened, nothing would change, or a condition differs that
            must not.
    """
    data, report, records = _read(file)
    suite = suite_of(report["suite"]["slug"])
    samples = int((report.get("data") or {}).get("samples") or _SAMPLES)
    name, threshold = _arbiter_of(report, named=arbiter)
    setting = setting_of(
        ExecutionSettings(
            profile=str((report.get("profile") or {}).get("name") or "lilliput"),
            split=str((report.get("data") or {}).get("split") or "public"),
            samples=samples,
            arbiter=name,
            arbiter_threshold=threshold,
        )
    )
    episode = episode_of(suite.slug)
    try:
        evaluator = episode.evaluator(suite=suite, setting=setting)
    except SettingError as error:
        raise UsageError(str(error)) from None
    found = _differences(report, now=_today(suite, facts=evaluator.facts()))
    _check(found, allowed=allowed)
    again = _scored_again(records, evaluator=evaluator, in_turns=episode.in_turns)
    changes = changes_between(before=_graded(records), after=_graded(again), columns=suite.metrics)
    document = evaluation_document(
        evaluator=evaluator, planner=str(report["planner"]), identity=report.get("planner_identity") or {},
        keys=[record.task for record in again], records=again, samples=samples,
    )  # fmt: skip
    kept = {"imported": report["imported"]} if "imported" in report else {}
    regraded = {
        "of": hashlib.sha256(data).hexdigest(),
        "conditions": [difference._asdict() for difference in found],
        "changes": _in_json(changes),
    }
    causes = causes_document(suite=suite, records=again, samples=samples)
    write_json({**document, **kept, "regrade": regraded, "causes": causes}, printed=False, file=output)
    return [*(f"{one.name}: {one.before[:12]}, now {one.after[:12]}" for one in found), *_sentences(changes)]


def _read(file: Path) -> tuple[bytes, dict[str, Any], list[ResultRecord]]:
    try:
        data = file.read_bytes()
        report = json.loads(data)
        if report["version"] != "evaluation/1":
            raise ValueError("another version")
        records = [ResultRecord.model_validate(record) for record in report["results"]]
        suite_of(report["suite"]["slug"])
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, RecursionError, ValidationError) as error:
        raise UsageError(f"{file} is not a report from `planarena evaluate`: {type(error).__name__}") from None
    return data, report, records


def _arbiter_of(report: Mapping[str, Any], *, named: str) -> tuple[str, float]:
    """Name and threshold of the arbiter, as the options of `evaluate` have them; an empty name: there was none.

    Reports have no addresses and folders of arbiters: only one of a model hub follows from its identity.
    """
    identity = report.get("arbiter") or {}
    found = identity if isinstance(identity, Mapping) else {"name": str(identity)}
    threshold = found.get("threshold")
    least = float(threshold) if isinstance(threshold, float) else THRESHOLD
    if named or not found:
        return named, least
    if found.get("revision") is None:
        raise UsageError(
            f"the arbiter {found.get('name')} settled pairs of the report, which does not say where it is: name it by "
            "--arbiter, as for `evaluate`"
        )
    return f"hub:{found.get('name')}@{found['revision']}", least


def _today(suite: Suite, *, facts: Mapping[str, JsonValue]) -> dict[str, Any]:
    return {"suite": {"version": suite.version, "digest": suite.digest}, **facts}


def _differences(report: Mapping[str, Any], *, now: Mapping[str, Any]) -> list[Difference]:
    pairs = [
        Difference(change, name, _at(report, place), _at(now, place)) for change, name, place in _CONDITIONS
    ]  # fmt: skip
    return [pair for pair in pairs if pair.before != pair.after]


def _at(value: Any, place: Sequence[str]) -> str:
    for name in place:
        value = value.get(name) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


def _check(found: Sequence[Difference], *, allowed: Sequence[str]) -> None:
    if not found:
        raise UsageError("nothing would change: it was scored under today's rules, data and version of the suite")
    if allowed and (excluded := [one for one in found if one.change not in allowed]):
        one = excluded[0]
        raise UsageError(
            f"the {one.name} differs too ({one.before[:12]}, now {one.after[:12]}): allow "
            f"--{one.change.replace('_', '-')} as well"
        )


def _scored_again(records: Sequence[ResultRecord], *, evaluator: Evaluator, in_turns: bool) -> list[ResultRecord]:
    """Today's records of the tasks that the suite still has, in the order of the report. What has no answer stays."""
    texts = {task.key: task.text for task in evaluator.suite.tasks}
    known = [record for record in records if record.task in texts]
    left_out = {record.task: record for record in known if not has_answer(record)}
    for record in known:
        if record.request != texts[record.task] and record.task not in left_out:
            update = {"outcome": Outcome.NOT_RUN, "reason": Reason.NOT_IN_RUN, "reason_text": _ASKED_OTHERWISE}
            left_out[record.task] = answer_in(record).model_copy(update=update)
    answers = {record.task: answer_in(record) for record in known if record.task not in left_out}
    planner = (RecordedTurns if in_turns else RecordedAnswers)(answers, suite=evaluator.suite)
    ran = evaluator.run(planner=planner, tasks=list(answers)) if answers else ()
    scored = {record.task: record for record in ran}
    return [left_out.get(record.task) or scored[record.task] for record in known]


def _graded(records: Sequence[ResultRecord]) -> dict[str, Graded]:
    return {
        record.task: Graded(record.outcome.value, str(record.reason or ""), record.score, record.indicators)
        for record in records
    }


def _in_json(changes: Changes) -> dict[str, JsonValue]:
    """The changes; a task is named with both scores and outcomes."""
    return {
        "common": changes.common, "better": changes.better, "worse": changes.worse, "gained": changes.gained,
        "lost": changes.lost,
        "tasks": [
            {
                "task": change.key,
                "outcome": [change.before.outcome, change.after.outcome],
                "score": [change.before.score, change.after.score],
                "indicators": {mark.label: [mark.before, mark.after] for mark in change.marks},
            }
            for change in changes.tasks
        ],
    }  # fmt: skip


def _sentences(changes: Changes) -> list[str]:
    lines = [
        f"{changes.common} tasks: {changes.better} score higher, {changes.worse} lower; {changes.gained} have a score "
        f"only now, {changes.lost} only before"
    ]
    for change in changes.tasks[:_MOST_SHOWN]:
        before, after = (
            graded.outcome if graded.score is None else f"{graded.score:.4f}" for graded in change[1:3]
        )  # fmt: skip
        lines.append(f"{change.key}: {before}, now {after}")
    if len(changes.tasks) > _MOST_SHOWN:
        lines.append(f"and {len(changes.tasks) - _MOST_SHOWN} further tasks, in the report")
    return lines
