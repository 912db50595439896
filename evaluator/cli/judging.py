"""The commands `planarena score-decompositions` (DeAcc) and `planarena judge-plans` (GPT-Score)."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.cli.usage import JsonFlag, chosen_suite, log, out, print_json, usage_error
from evaluator.metrics.decomposition import Verdict, deacc, judge_decomposition
from evaluator.metrics.judge import (
    Case,
    EndpointJudge,
    JudgedPlan,
    JudgeError,
    JudgeSettings,
    judge_plan,
    summarise_votes,
)
from evaluator.plan_scores import PlanFileError, PlanLine, read_lines, task_at
from evaluator.suites import Suite
from evaluator.suites.toolbench.suite import ToolTask, is_tool_suite

EXIT_INFRASTRUCTURE = 4

Lines = Annotated[Path, typer.Argument(help="One JSON object a line; - reads standard input.")]
SuiteOption = Annotated[str, typer.Option(help="tool100, tool2k or toolmini.")]


def score_decompositions(file: Lines, suite: SuiteOption, as_json: JsonFlag = False) -> None:
    """DeAcc: share of correct decompositions in {"task": ..., "decomposition": ...} lines; missing ones are wrong."""
    chosen = _judging_suite(suite)
    predictions = _predictions(suite=chosen, rows=_objects(file))
    tasks = {task.key: task for task in chosen.tasks if isinstance(task, ToolTask) and task.decomposition is not None}
    if not set(predictions) & set(tasks):
        raise usage_error(f"no line of {file} names a task of {suite} that has a gold decomposition")
    verdicts = {key: _verdict(task=task, predicted=predictions.get(key)) for key, task in tasks.items()}
    share = deacc(verdicts.values())
    if as_json:
        rows = [{"task": key, "right": verdict.right, "why": list(verdict.why)} for key, verdict in verdicts.items()]
        print_json({"DeAcc": share.mean, "interval": [share.low, share.high], "count": share.count, "tasks": rows})
        return
    out.print(f"DeAcc {share.mean:.4f}, 95 % interval {share.in_words()}, {share.count} requests")
    out.print(f"{len(set(tasks) - set(predictions))} requests without a decomposition count as wrong", highlight=False)


def judge_plans(
    file: Lines,
    suite: SuiteOption,
    url: Annotated[str, typer.Option(help="An OpenAI-compatible endpoint, without /chat/completions.")],
    model: Annotated[str, typer.Option(help="The exact name that the endpoint answers with.")],
    key_env: Annotated[str, typer.Option(help="Environment variable that holds the API key.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """GPT-Score: three votes of a pinned judge on each {"task": ..., "plan": ...} line. Never used for ranking."""
    chosen = _judging_suite(suite)
    settings = JudgeSettings(url=url, model=model, api_key=os.environ.get(key_env, "") if key_env else "")
    judge = EndpointJudge(settings)
    try:
        read = list(read_lines(_text(file).split("\n")))
        lines = [line for line in read if task_at(suite=chosen, key=line.task) is not None]
        if len(lines) < len(read):
            log.print(f"planarena: {len(read) - len(lines)} lines name no task of {suite}", highlight=False)
        judged = {line.number: judge_plan(judge=judge, case=_case(suite=chosen, line=line)) for line in lines}
    except PlanFileError as error:
        raise usage_error(f"{file}: {error}") from None
    except JudgeError as error:
        log.print(f"planarena: {error}", markup=False, highlight=False)
        raise typer.Exit(EXIT_INFRASTRUCTURE) from None
    if not judged:
        raise usage_error(f"no line of {file} names a task of {suite}")
    _print_votes(settings=settings, lines=lines, judged=judged, as_json=as_json)


def _print_votes(
    *, settings: JudgeSettings, lines: list[PlanLine], judged: Mapping[int, JudgedPlan], as_json: bool
) -> None:
    summary = summarise_votes(judged.values())
    if as_json:
        rows = [
            {"task": line.task, "votes": list(judged[line.number].votes), "score": judged[line.number].score}
            for line in lines
        ]
        print_json({"judge": settings.identity(), **asdict(summary), "tasks": rows})
        return
    score, alpha = summary.score, summary.alpha
    mean = "no plan was scored" if score is None else f"{score.mean:.2f}, 95 % interval {score.in_words(form='.2f')},"
    agreement = "not defined" if alpha is None else f"{alpha:.2f}"
    out.print(f"GPT-Score {mean} by {settings.model}; Krippendorff's alpha {agreement}", highlight=False)
    out.print(f"{summary.unscored} plans without a score; {summary.unparsable} answers were no vote", highlight=False)


def _predictions(*, suite: Suite, rows: list[dict[str, Any]]) -> dict[str, object]:
    """Decompositions by task key. The first line of a task counts; warns of further ones and of unknown tasks."""
    found: dict[str, object] = {}
    for row in rows:
        task = task_at(suite=suite, key=str(row["task"]))
        if task is None:
            log.print(f"planarena: {suite.slug} has no task {row['task']!r}", markup=False, highlight=False)
        elif task.key in found:
            log.print(f"planarena: {task.key} has more than one line; the first counts", markup=False, highlight=False)
        else:
            found[task.key] = row["decomposition"]
    return found


def _verdict(*, task: ToolTask, predicted: object) -> Verdict:
    assert task.decomposition is not None
    if predicted is not None and not isinstance(predicted, str):
        predicted = f"<Solution>{json.dumps(predicted)}</Solution>"
    return judge_decomposition(predicted=predicted, gold=task.decomposition)


def _case(*, suite: Suite, line: PlanLine) -> Case:
    plan = line.plans[0] if line.plans else ""
    signatures = [
        f"{tool.name}({', '.join(f'{name}: {kind}' for name, kind in tool.inputs.items())})"
        f" -> {', '.join(f'{name}: {kind}' for name, kind in tool.outputs.items())}"
        for tool in suite.catalogue.tools.values()
    ]
    text = plan if isinstance(plan, str) else json.dumps(plan, ensure_ascii=False)
    task = task_at(suite=suite, key=line.task)
    assert task is not None
    return Case(instruction=task.text, tools=signatures, plan=text)


def _judging_suite(slug: str) -> Suite:
    suite = chosen_suite(slug)
    if not is_tool_suite(suite):
        raise usage_error(f"{slug} executes plans; this command is for tool100, tool2k and toolmini")
    return suite


def _objects(file: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(_text(file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise usage_error(f"{file}: line {number} is not valid JSON") from None
        if not isinstance(row, dict) or "task" not in row or "decomposition" not in row:
            raise usage_error(f'{file}: line {number} must be an object with "task" and "decomposition"')
        rows.append(row)
    return rows


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise usage_error(f"{file} cannot be read: {error}") from None
