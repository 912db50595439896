"""Reports of a command: JUnit for the pipeline's test page, JSON for programs. Pure."""

import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from evaluator.client.shapes import Causes, Evaluation, TaskRow
from evaluator.client.tables import Suites, in_words, label_of, ordered
from evaluator.client.verdict import Check, Verdict
from evaluator.core.transcripts import EpisodeFigures, figures_of
from evaluator.scoring.readability import Reading

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(
    *,
    evaluations: Sequence[Evaluation],
    results: Mapping[str, Sequence[TaskRow]],
    checks: Sequence[Check],
    task_threshold: float | None = None,
) -> str:
    """One test suite for each evaluation with a test case for each task, and one for the thresholds.

    A `planner_fault` and a score below `task_threshold` are failures, an `infra_fault` or a cancelled task an error, a
    task that cannot run is skipped.
    """
    root = ET.Element("testsuites", name="planarena")
    for evaluation in evaluations:
        cases = [
            _task_case(row=row, suite=evaluation.suite, threshold=task_threshold)
            for row in results.get(evaluation.id, ())
        ]
        _add_suite(root, name=evaluation.suite, cases=cases)
    if checks:
        _add_suite(root, name="thresholds", cases=[_check_case(check) for check in checks])
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def document(
    *,
    submission: str,
    evaluations: Sequence[Evaluation],
    results: Mapping[str, Sequence[TaskRow]],
    verdict: Verdict | None,
) -> dict[str, Any]:
    """Everything about a submission as one JSON object, `submission-report/1`."""
    return {
        "version": "submission-report/1",
        "submission": submission,
        "exit_code": None if verdict is None else int(verdict.code),
        "verdict": None if verdict is None else verdict.code.name.lower(),
        "reasons": [] if verdict is None else list(verdict.sentences),
        "thresholds": [
            {
                "suite": check.suite,
                "metric": check.metric,
                "wanted": check.wanted,
                "measured": check.measured,
                "passed": check.passed,
            }
            for check in (verdict.checks if verdict else ())
        ],
        "evaluations": [
            {
                **evaluation.model_dump(mode="json"),
                "episodes": _episodes(results.get(evaluation.id, ())),
                "results": [row.model_dump(mode="json") for row in results.get(evaluation.id, ())],
            }
            for evaluation in evaluations
        ],
    }


def _task_case(*, row: TaskRow, suite: str, threshold: float | None) -> ET.Element:
    case = ET.Element("testcase", classname=_clean(suite), name=_clean(row.task), time=f"{row.seconds:.3f}")
    if row.outcome == "scored":
        score = "none" if row.score is None else f"{row.score:.4f}"
        if threshold is not None and (row.score is None or row.score < threshold):
            message = f"score {score}, below {threshold:g}"
            ET.SubElement(case, "failure", type="below_task_threshold", message=message)
        ET.SubElement(case, "system-out").text = _clean(f"{row.metric} {score}; {row.plan_summary}")
        return case
    kind = {"planner_fault": "failure", "not_run": "skipped"}.get(row.outcome, "error")
    attributes = {"message": _clean(row.reason_text or row.outcome)}
    if kind != "skipped":
        attributes["type"] = _clean(row.reason or row.outcome)
    ET.SubElement(case, kind, attributes)
    return case


def _check_case(check: Check) -> ET.Element:
    case = ET.Element("testcase", classname="thresholds", name=_clean(f"{check.suite}:{check.metric}"), time="0")
    if not check.passed:
        ET.SubElement(case, "failure", type="below_threshold", message=_clean(check.sentence()))
    return case


def _add_suite(root: ET.Element, *, name: str, cases: Sequence[ET.Element]) -> None:
    counts = {
        plural: str(sum(case.find(kind) is not None for case in cases))
        for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped"))
    }
    suite = ET.SubElement(root, "testsuite", {"name": _clean(name), "tests": str(len(cases)), **counts})
    suite.extend(cases)


def _clean(text: str) -> str:
    """The text with characters that XML forbids replaced by `?`."""
    return _NOT_IN_XML.sub("?", text)


def episode_figures(rows: Sequence[TaskRow]) -> EpisodeFigures | None:
    """Figures of the episodes of a suite in turns; None for other suites, and if unknown."""
    return figures_of(row.episodes for row in rows if row.episodes is not None)


def _episodes(rows: Sequence[TaskRow]) -> dict[str, Any] | None:
    figures = episode_figures(rows)
    return None if figures is None else figures.to_json()


MOST_CAUSES = 3
"""Causes listed per evaluation."""
MOST_TASKS = 20
"""Faulty tasks listed per evaluation."""
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~@-])")


def markdown(
    *,
    evaluations: Sequence[Evaluation],
    results: Mapping[str, Sequence[TaskRow]],
    verdict: Verdict | None,
    causes: Mapping[str, Causes] = MappingProxyType({}),
    suites: Suites = MappingProxyType({}),
) -> str:
    """The verdict with its reasons, then metrics, causes and faulty tasks of each evaluation. All texts are escaped.

    Args:
        evaluations: of a submission.
        results: tasks of each evaluation.
        verdict: of the submission; None: there is none.
        causes: of each evaluation, where they are known.
        suites: of the site, with the order and labels of their metrics.
    """
    lines = [] if verdict is None else _of_verdict(verdict)
    for evaluation in evaluations:
        lines += ["", *_of_evaluation(evaluation, suites=suites)]
        if evaluation.id in causes:
            lines += ["", *(f"- {escaped(line)}" for line in causes[evaluation.id].explanation[: MOST_CAUSES + 1])]
        lines += _faults(results.get(evaluation.id, ()))
    return "\n".join(lines).strip() + "\n\n"


def _of_verdict(verdict: Verdict) -> list[str]:
    said = verdict.code.name.lower().replace("_", " ")
    return [f"## PlanArena: {said}", "", *(f"- {escaped(sentence)}" for sentence in verdict.sentences)]


def _of_evaluation(evaluation: Evaluation, *, suites: Suites) -> Iterator[str]:
    name = escaped(evaluation.planner_name or "planner")
    link = f"[{escaped(evaluation.suite)}]({evaluation.url})" if is_address(evaluation.url) else evaluation.suite
    yield f"### {name} on {link}: {escaped(evaluation.state)}"
    yield ""
    if evaluation.reason_text:
        yield from (escaped(evaluation.reason_text), "")
    found = evaluation.summary.metrics if evaluation.summary else {}
    if found:
        yield from ("| metric | mean | 95 % interval | tasks |", "|---|---|---|---|")
    suite = suites.get(evaluation.suite)
    for key in ordered(found, suite=suite):
        measured = found[key]
        mean, interval = ("not measured", "") if measured is None else in_words(measured)
        label = escaped(label_of(key, suite=suite))
        yield f"| {label} | {mean} | {interval} | {0 if measured is None else measured.tasks} |"
    reading = Reading.from_json(evaluation.summary.reading) if evaluation.summary else None
    if reading is not None and reading.sentences:
        yield from ("", escaped(" ".join(reading.sentences)))


def _faults(rows: Sequence[TaskRow]) -> list[str]:
    faults = [row for row in rows if row.outcome not in {"scored", "not_run"}]
    if not faults:
        return []
    lines = ["", "| task | outcome | reason |", "|---|---|---|"]
    lines += [
        f"| {escaped(row.task)} | {escaped(row.outcome)} | {escaped(row.reason_text)} |" for row in faults[:MOST_TASKS]
    ]
    if len(faults) > MOST_TASKS:
        lines += ["", f"and {len(faults) - MOST_TASKS} more tasks without a score"]
    return lines


def is_address(text: str) -> bool:
    """Whether a text is an address that Markdown may link to."""
    return re.fullmatch(r"https?://[\w.:/?&=-]+", text) is not None


def escaped(text: str) -> str:
    """The text in one line, as Markdown that shows it as it is."""
    return _MARKUP.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))
