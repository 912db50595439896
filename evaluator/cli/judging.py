"""The command `planarena judge-plans`: GPT-Score of the plans in a file."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.options import JsonFlag
from evaluator.core.commands.usage import PlansArgument, chosen_suite, log, out, plans_of, print_json
from evaluator.scoring.metrics.judge import (
    EndpointJudge,
    JudgedPlan,
    JudgeError,
    JudgeSettings,
    case_of,
    judge_plan,
    summarise_votes,
)


def judge_plans(
    file: PlansArgument,
    suite: Annotated[str, typer.Option(help="Slug of the suite whose requests the plans answer.")],
    url: Annotated[str, typer.Option(help="An OpenAI-compatible endpoint, without /chat/completions.")],
    model: Annotated[str, typer.Option(help="Exact model name in the endpoint's answers.")],
    key_env: Annotated[str, typer.Option(help="Environment variable that holds the API key.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """GPT-Score: three votes of a pinned judge on each plan of a file. Never used for ranking."""
    chosen = chosen_suite(suite)
    settings = JudgeSettings(url=url, model=model, api_key=os.environ.get(key_env, "") if key_env else "")
    judge = EndpointJudge(settings)
    plans = plans_of(file, suite=chosen).plans
    try:
        judged = {
            key: judge_plan(
                judge=judge,
                case=case_of(request=chosen.task(key).text, tools=chosen.catalogue.tools.values(), plan=entry.plan),
            )
            for key, entry in plans.items()
        }
    except JudgeError as error:
        log.print(f"planarena: {error.for_operator}", markup=False, highlight=False)
        raise typer.Exit(ExitCode.INFRASTRUCTURE) from None
    _print_votes(settings=settings, judged=judged, as_json=as_json)
    if summarise_votes(judged.values()).score is None:
        raise typer.Exit(ExitCode.INFRASTRUCTURE)


def _print_votes(*, settings: JudgeSettings, judged: Mapping[str, JudgedPlan], as_json: bool) -> None:
    summary = summarise_votes(judged.values())
    if as_json:
        rows = [{"task": key, "votes": list(plan.votes), "score": plan.score} for key, plan in judged.items()]
        print_json({"judge": settings.identity(), **asdict(summary), "tasks": rows})
        return
    score, alpha = summary.score, summary.alpha
    mean = "no plan was scored" if score is None else f"{score.mean:.2f}, 95 % interval {score.in_words(form='.2f')},"
    agreement = "not defined" if alpha is None else f"{alpha:.2f}"
    out.print(f"GPT-Score {mean} by {settings.model}; Krippendorff's alpha {agreement}", highlight=False)
    out.print(f"{summary.unscored} plans without a score; {summary.unparsable} answers were no vote", highlight=False)
