"""`planarena regrade`: the stored plans of a site's evaluations, scored under today's judge or scorers."""

import sys
from typing import Annotated

import typer

from evaluator.client.errors import UsageError
from evaluator.client.options import PatienceOption, UrlOption, client_of
from evaluator.client.output import exit_codes, only_one, say


def regrade(
    evaluation: Annotated[
        str, typer.Argument(metavar="EVALUATION", help="Id of an evaluation or a submission; with --board, a suite.")
    ],
    judge: Annotated[bool, typer.Option("--judge", help="Allow another judge.")] = False,
    scorers: Annotated[bool, typer.Option("--scorers", help="Allow other experts, scorers, samples or data.")] = False,
    suite_version: Annotated[bool, typer.Option("--suite-version", help="Allow another version of the suite.")] = False,
    is_board: Annotated[bool, typer.Option("--board", help="Regrade every published evaluation of a suite.")] = False,
    url: UrlOption = "",
    patience: PatienceOption = 60.0,
) -> None:
    """Score stored plans under today's judge, scorers and version of the suite, as new evaluations.

    Planners are not asked, and nobody is charged. Without --judge, --scorers and --suite-version each of these may
    differ from the first run; with one of them, a difference in another is an error.

    For operators of a site. Prints the id of each new evaluation and the address of its page of changes.
    """
    allowed = [
        name for name, is_set in {"judge": judge, "scorers": scorers, "suite_version": suite_version}.items() if is_set
    ]
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
