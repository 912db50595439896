"""The summary of a submission in Markdown, for the page of a pipeline's run. Pure."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence

from evaluator.client.shapes import Evaluation, TaskRow
from evaluator.client.tables import in_words
from evaluator.client.verdict import Verdict

MOST_TASKS = 20
"""Tasks that are listed of one evaluation."""
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~@-])")


def markdown(
    *, evaluations: Sequence[Evaluation], results: Mapping[str, Sequence[TaskRow]], verdict: Verdict | None
) -> str:
    """The verdict with its reasons, then metrics and faulty tasks of each evaluation. Texts of others are escaped."""
    lines = [] if verdict is None else _of_verdict(verdict)
    for evaluation in evaluations:
        lines += ["", *_of_evaluation(evaluation), *_faults(results.get(evaluation.id, ()))]
    return "\n".join(lines).strip() + "\n\n"


def _of_verdict(verdict: Verdict) -> list[str]:
    said = verdict.code.name.lower().replace("_", " ")
    return [f"## PlanArena: {said}", "", *(f"- {_escaped(sentence)}" for sentence in verdict.sentences)]


def _of_evaluation(evaluation: Evaluation) -> Iterator[str]:
    name = _escaped(evaluation.planner_name or "planner")
    link = f"[{_escaped(evaluation.suite)}]({evaluation.url})" if _is_address(evaluation.url) else evaluation.suite
    yield f"### {name} on {link}: {_escaped(evaluation.state)}"
    yield ""
    if evaluation.reason_text:
        yield from (_escaped(evaluation.reason_text), "")
    found = evaluation.summary.metrics if evaluation.summary else {}
    if found:
        yield from ("| metric | mean | 95 % interval | tasks |", "|---|---|---|---|")
    for key, measured in found.items():
        mean, interval = ("not measured", "") if measured is None else in_words(measured)
        yield f"| {_escaped(key)} | {mean} | {interval} | {0 if measured is None else measured.tasks} |"


def _faults(rows: Sequence[TaskRow]) -> list[str]:
    faults = [row for row in rows if row.outcome not in {"scored", "not_run"}]
    if not faults:
        return []
    lines = ["", "| task | outcome | reason |", "|---|---|---|"]
    lines += [
        f"| {_escaped(row.task)} | {_escaped(row.outcome)} | {_escaped(row.reason_text)} |"
        for row in faults[:MOST_TASKS]
    ]
    if len(faults) > MOST_TASKS:
        lines += ["", f"and {len(faults) - MOST_TASKS} more tasks without a score"]
    return lines


def _is_address(text: str) -> bool:
    return re.fullmatch(r"https?://[\w.:/-]+", text) is not None


def _escaped(text: str) -> str:
    """The text in one line, as Markdown that shows it as it is."""
    return _MARKUP.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))
