"""`planarena regrade`: the stored answers of evaluations, scored under today's judge or scorers."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from evaluator.client.errors import UsageError
from evaluator.client.options import PatienceOption, UrlOption, client_of
from evaluator.client.output import exit_codes, only_one, say
from evaluator.core.commands.options import OutputFile
from evaluator.core.commands.usage import usage_error


def regrade(
    evaluation: Annotated[
        str,
        typer.Argument(
            metavar="EVALUATION",
            help="Id of an evaluation or a submission, or a report of `evaluate`; with --board, a suite.",
        ),
    ],
    judge: Annotated[bool, typer.Option("--judge", help="Allow another judge.")] = False,
    scorers: Annotated[bool, typer.Option("--scorers", help="Allow other experts, scorers, samples or data.")] = False,
    suite_version: Annotated[bool, typer.Option("--suite-version", help="Allow another version of the suite.")] = False,
    is_board: Annotated[bool, typer.Option("--board", help="Regrade every published evaluation of a suite.")] = False,
    arbiter: Annotated[
        str, typer.Option(help="Arbiter for a report, named as in `evaluate`; default: the report's own, if any.")
    ] = "",
    output: OutputFile = None,
    url: UrlOption = "",
    patience: PatienceOption = 60.0,
) -> None:
    """Score stored answers under today's judge, scorers and version of the suite, as new evaluations.

    Planners are not asked, and nobody is charged. Without --judge, --scorers and --suite-version each of these may
    differ from the first run; with one of them, a difference in another is an error.

    Of a report, --output names the file of the new one, which lists what changed. Otherwise it is for operators of a
    site, and prints the id of each new evaluation and the address of its page of changes.
    """
    allowed = [
        name for name, is_set in {"judge": judge, "scorers": scorers, "suite_version": suite_version}.items() if is_set
    ]
    if not is_board and Path(evaluation).is_file():
        # Needs the suites, which those who only ask a site do not install.
        from evaluator.cli.regraded_reports import regrade_report

        with exit_codes():
            if output is None:
                raise UsageError("--output names the file for the new report")
            for line in regrade_report(Path(evaluation), allowed=allowed, output=output, arbiter=arbiter):
                say(line)
        return
    if arbiter:
        raise usage_error("--arbiter is for reports: a site has an arbiter of its own")
    with exit_codes(), client_of(url=url, patience=patience, needs_token=True) as client:
        if not is_board:
            made = client.regrade(only_one(client.find(evaluation)).id, allow=allowed)
            sys.stdout.write(f"{made.id}\t{made.url}changes/\n")
            return
        if allowed:
            raise UsageError("--board moves all evaluations to today's rules: leave out " + ", ".join(allowed))
        count = 0
        refused: list[str] = []
        while True:
            done = client.regrade_board(evaluation, skip=refused)
            for one in done.queued:
                sys.stdout.write(f"{one}\n")
            for other in done.refused:
                say(f"{other.evaluation}: {other.why}")
            count += len(done.queued)
            refused += [other.evaluation for other in done.refused]
            if not done.left:
                break
        say(f"{count} evaluations are scored again, {len(refused)} were refused")
