"""The command `planarena judge-plans`: GPT-Score of the plans in a file."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from evaluator.cli.program.exit_codes import ExitCode
from evaluator.cli.program.options import JsonFlag
from evaluator.cli.usage import LinesArgument, chosen_suite, lines_text, log, out, print_json, usage_error
from evaluator.metrics.judge import (
    Case,
    EndpointJudge,
    JudgedPlan,
    JudgeError,
    JudgeSettings,
    judge_plan,
    summarise_votes,
)
from evaluator.plan_lines import PlanFileError, PlanLine, read_lines, task_at
from evaluator.suites import Suite


def judge_plans(
    file: LinesArgument,
    suite: Annotated[str, typer.Option(help="Slug of the suite whose requests the plans answer.")],
    url: Annotated[str, typer.Option(help="An OpenAI-compatible endpoint, without /chat/completions.")],
    model: Annotated[str, typer.Option(help="The exact name that the endpoint answers with.")],
    key_env: Annotated[str, typer.Option(help="Environment variable that holds the API key.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """GPT-Score: three votes of a pinned judge on each {"task": ..., "plan": ...} line. Never used for ranking."""
    chosen = chosen_suite(suite)
    settings = JudgeSettings(url=url, model=model, api_key=os.environ.get(key_env, "") if key_env else "")
    judge = EndpointJudge(settings)
    try:
        read = list(read_lines(lines_text(file).split("\n")))
        lines = [line for line in read if task_at(suite=chosen, key=line.task) is not None]
        if len(lines) < len(read):
            log.print(f"planarena: {len(read) - len(lines)} lines name no task of {suite}", highlight=False)
        judged = {line.number: judge_plan(judge=judge, case=_case(suite=chosen, line=line)) for line in lines}
    except PlanFileError as error:
        raise usage_error(f"{file}: {error}") from None
    except JudgeError as error:
        log.print(f"planarena: {error}", markup=False, highlight=False)
        raise typer.Exit(ExitCode.INFRASTRUCTURE) from None
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
