"""`planarena import`: runs of other harnesses."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.core.commands.options import JsonFlag, OutputFile
from evaluator.core.commands.usage import chosen_suite, log, out, usage_error, write_json
from evaluator.interop.imports.planner import import_document
from evaluator.interop.imports.run import RunError


def import_run(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="An Inspect log, a folder of a Harbor job, traces of verifiers, or a plans file."
        ),
    ],
    suite: Annotated[str, typer.Option(metavar="SLUG", help="Suite whose tasks the run answers.")],
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Read plans, token usage, model and conditions of a run of another harness; its scores are ignored.

    `evaluate --planner imported:FILE` executes and scores the plans, and `--against` and `gate` compare them.
    """
    try:
        document = import_document(run, suite=chosen_suite(suite))
    except RunError as error:
        raise usage_error(error) from None
    write_json(document, printed=as_json, file=output)
    if as_json:
        return
    source = document["source"]
    producer, model = source["producer"] or "an unknown producer", source["model"] or "unknown"
    lines = [
        f"{source['format']} run of {producer}, model {model}",
        f"{len(document['plans'])} plans; {len(document['missing'])} tasks of {suite} have none and will be not_run",
        *(f"{task}: {why}" for task, why in list(document["lacking"].items())[:5]),
    ]
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    for line in document["ignored"]:
        log.print(f"planarena: {line}", markup=False, highlight=False, soft_wrap=True)
    if output is not None:
        next_step = f"planarena evaluate --suite {suite} --planner imported:{output} --output report.json"
        out.print(f"Score it with: {next_step}", markup=False, highlight=False, soft_wrap=True)
