"""The command `planarena mcp`: an agent on standard input and output, evaluated on a suite in turns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.evaluate import evaluation_document
from evaluator.core.commands.options import OutputFile, VerboseOption
from evaluator.core.commands.usage import chosen_suite, log, usage_error, write_json
from evaluator.core.suites.registry import suite_names
from evaluator.episodes.base import Evaluator, SettingError, episode_of
from evaluator.episodes.options import ExecutionSettings, selected_tasks, setting_of


# Long: one line for each option.
def mcp(
    suite: Annotated[str, typer.Option(help="Slug of a suite in turns.")],
    tasks: Annotated[str, typer.Option(help="Only these tasks: ids and ranges, such as 0-14,16,19.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="Limit of the number of tasks; 0: all.")] = 0,
    split: Annotated[str, typer.Option(help="Split of the data: public, validation or hidden.")] = "public",
    profile: Annotated[str, typer.Option(help="Profile of the experts: lilliput or paper.")] = "lilliput",
    run: Annotated[
        str, typer.Option(help="Name of the run; an interrupted run continues under its name; default: a new run.")
    ] = "",
    silence: Annotated[float, typer.Option(min=1, help="Seconds that the agent may hold a task without a call.")] = 24
    * 3600.0,
    store: Annotated[
        str, typer.Option(help="Store of artefacts, kept between runs: a folder, or s3://bucket/prefix.")
    ] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    output: OutputFile = None,
    verbose: VerboseOption = False,  # noqa: ARG001 - read by `evaluator.cli.main.main`
) -> None:
    """Let an agent that speaks the Model Context Protocol solve a suite in turns.

    Agents start this command themselves: standard input and output carry the protocol.
    See docs/submitting.md#agents-over-mcp.

    The report is written when all tasks are done or the agent disconnects.
    """
    chosen = chosen_suite(suite)
    if not episode_of(chosen.slug).in_turns:
        raise usage_error(f"{chosen.slug} asks for whole plans; agents need a suite in turns: {_suites_in_turns()}")
    keys = selected_tasks(suite=chosen, text=tasks)[: limit or None]
    settings = ExecutionSettings(profile=profile, split=split, samples=1, device=device, store=store)
    try:
        evaluator = episode_of(chosen.slug).evaluator(suite=chosen, setting=setting_of(settings))
    except SettingError as error:
        raise usage_error(error) from None
    _serve(evaluator=evaluator, keys=keys, run=run, silence=silence, output=output)


def _serve(*, evaluator: Evaluator, keys: Sequence[str], run: str, silence: float, output: Path | None) -> None:
    # Imported when needed: no other command uses the protocol.
    from evaluator.core.planner import offered_tools
    from evaluator.planners.agents.evaluation import AgentEvaluation
    from evaluator.planners.agents.mailbox import Mailbox
    from evaluator.planners.agents.server import serve
    from evaluator.planners.agents.tools import agent_tools

    mailbox = Mailbox(tasks=len(keys), silence_seconds=silence)

    def write() -> None:
        document = evaluation_document(
            evaluator=evaluator, planner="agent", identity={}, keys=keys, records=evaluation.records, samples=1
        )
        write_json(document, printed=False, file=output)

    evaluation = AgentEvaluation(evaluator=evaluator, mailbox=mailbox, tasks=keys, run=run, done=write)
    serve(evaluation=evaluation, mailbox=mailbox, tools=agent_tools(offered_tools(evaluator.suite.catalogue)))
    if evaluation.error is not None:
        raise evaluation.error
    if len(evaluation.records) < len(keys):
        write()
        log.print(f"planarena: the agent left after {len(evaluation.records)} of {len(keys)} tasks", highlight=False)


def _suites_in_turns() -> str:
    return ", ".join(name for name in suite_names() if episode_of(name).in_turns) or "none is fetched here"
