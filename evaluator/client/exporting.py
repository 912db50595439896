"""`planarena export`: results in the formats of other platforms."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.client.api import Client
from evaluator.client.errors import RefusedError, UsageError
from evaluator.client.options import PatienceOption, UrlOption, client_of
from evaluator.client.output import exit_codes, say, write_file
from evaluator.client.reports import junit
from evaluator.client.shapes import Evaluation, SuiteInfo
from evaluator.core.commands.options import writable_folder
from evaluator.interop.exports.atif import atif
from evaluator.interop.exports.every_eval_ever import every_eval_ever
from evaluator.interop.exports.hugging_face import hugging_face
from evaluator.interop.exports.source import (
    ExportedEvaluation,
    ExportError,
    exported_metrics,
    of_report,
    signature_text,
    verifying_command,
)

_CONDITIONS = ("profile", "profile_digest", "split", "data_digest", "device_class")
JUNIT = "junit"
TRACKERS = {"mlflow": "mlflow_runs", "wandb": "wandb_runs"}
"""Module of each experiment tracker, whose package is needed only for it. They write runs and no files."""
FORMATS = ("hf-eval-results", "every-eval-ever", "atif", JUNIT, *TRACKERS)


def export(
    evaluation: Annotated[
        str,
        typer.Argument(
            metavar="EVALUATION",
            help="Id of an evaluation or a submission, or a report of `evaluate`; with --board, a suite.",
        ),
    ],
    form: Annotated[str, typer.Option("--format", metavar="|".join(FORMATS), help="Format of the files.")],
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the files; export by default.", callback=writable_folder),
    ] = None,
    dataset: Annotated[
        str, typer.Option(metavar="ORG/NAME", help="For hf-eval-results: data set of the suite on the hub.")
    ] = "",
    is_board: Annotated[bool, typer.Option("--board", help="Export every row of the board of a suite.")] = False,
    url: UrlOption = "",
    patience: PatienceOption = 60.0,
) -> None:
    """Write results as other platforms read them, with intervals where the format has room.

    Each file has the row's signature and the command that verifies it. Paths of written files are printed. For mlflow
    and wandb, their own clients write a run where their settings say, and its id or address is printed.
    """
    with exit_codes():
        if form not in FORMATS:
            raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
        if (form == "hf-eval-results") != bool(dataset):
            raise UsageError("--dataset is for hf-eval-results, which needs it: the data set of the suite on the hub")
        if form in TRACKERS and output is not None:
            raise UsageError(f"--output is for files: the settings of {form} say where it writes runs")
        try:
            if form in TRACKERS:
                log_run = _tracker(form)
                with _sources(evaluation, is_board=is_board, url=url, patience=patience) as sources:
                    for source in sources:
                        sys.stdout.write(f"{log_run(source)}\n")
                return
            files = _files(evaluation, form=form, dataset=dataset, is_board=is_board, url=url, patience=patience)
        except ExportError as error:
            raise UsageError(str(error)) from None
        folder = output or Path("export")
        for name, data in files.items():
            write_file(folder / name, data)
            sys.stdout.write(f"{folder / name}\n")
        say(f"{len(files)} files")


def _tracker(form: str) -> Callable[[ExportedEvaluation], str]:
    """The function that writes a run by the client of a tracker.

    Raises:
        UsageError: its package is not installed.
    """
    try:
        module = import_module(f"evaluator.interop.exports.{TRACKERS[form]}")
    except ModuleNotFoundError as error:
        if error.name != form:
            raise
        raise UsageError(f"--format {form} needs its package: pip install {form}") from None
    log_run: Callable[[ExportedEvaluation], str] = module.log_run
    return log_run


@contextmanager
def _sources(evaluation: str, *, is_board: bool, url: str, patience: float) -> Iterator[Iterator[ExportedEvaluation]]:
    """The evaluations to export, one after the other."""
    if not is_board and Path(evaluation).is_file():
        yield iter([of_report(Path(evaluation))])
        return
    with client_of(url=url, patience=patience) as client:
        found = client.board(evaluation) if is_board else client.find(evaluation)
        suites = {suite.slug: suite for suite in client.suites()}
        yield (of_site(client, evaluation=one, suite=suites.get(one.suite)) for one in found)


def _files(evaluation: str, *, form: str, dataset: str, is_board: bool, url: str, patience: float) -> dict[str, bytes]:
    """The files by their path."""
    if not is_board and Path(evaluation).is_file():
        if form == JUNIT:
            raise UsageError("junit is written for evaluations of a site")
        return written(of_report(Path(evaluation)), form=form, dataset=dataset)
    with client_of(url=url, patience=patience) as client:
        found = client.board(evaluation) if is_board else client.find(evaluation)
        suites = {suite.slug: suite for suite in client.suites()}
        files: dict[str, bytes] = {}
        for one in found:
            if form == JUNIT:
                rows = {one.id: list(client.results(one.id))}
                made = {f"{one.suite}-{one.id[:8]}.xml": junit(evaluations=[one], results=rows, checks=[]).encode()}
            else:
                made = written(of_site(client, evaluation=one, suite=suites.get(one.suite)), form=form, dataset=dataset)
            # Formats whose names do not tell evaluations apart get a folder for each.
            prefix = f"{one.suite}-{one.id[:8]}/" if len(found) > 1 and form in {"hf-eval-results", "atif"} else ""
            files |= {f"{prefix}{name}": data for name, data in made.items()}
        return files


def written(exported: ExportedEvaluation, *, form: str, dataset: str = "") -> dict[str, bytes]:
    """The files of an evaluation by their path.

    Args:
        exported: the evaluation.
        form: one of `FORMATS`, except JUnit and trackers.
        dataset: for `hf-eval-results`.
    """
    writers: Mapping[str, Callable[[], dict[str, bytes]]] = {
        "hf-eval-results": lambda: hugging_face(exported, dataset=dataset),
        "every-eval-ever": lambda: every_eval_ever(exported),
        "atif": lambda: atif(exported),
    }
    return writers[form]()


def of_site(client: Client, *, evaluation: Evaluation, suite: SuiteInfo | None) -> ExportedEvaluation:
    """A completed evaluation of a site.

    Raises:
        ExportError: it has not completed.
        RefusedError: its tasks are secret.
    """
    if evaluation.state != "completed" or evaluation.summary is None:
        raise ExportError(f"evaluation {evaluation.id} is {evaluation.state}: only completed ones are exported")
    more: Mapping[str, Any] = evaluation.model_extra or {}
    planner = evaluation.planner if isinstance(evaluation.planner, Mapping) else {}
    tasks = [row.task for row in client.results(evaluation.id)]
    records = [record for task in tasks if (record := client.record(evaluation.id, task=task)) is not None]
    signature, verify = _signature(client, evaluation=evaluation)
    code = (more.get("provenance") or {}).get("code") or {}
    return ExportedEvaluation(
        id=evaluation.id,
        address=evaluation.url,
        planner=evaluation.planner_name,
        model=str(planner.get("model_name") or ""),
        open_weights=planner.get("open_weights"),
        suite=evaluation.suite,
        suite_title=str((suite.model_extra or {}).get("title") or evaluation.suite) if suite else evaluation.suite,
        suite_version=str(more.get("suite_version", "")),
        suite_digest=str(more.get("suite_digest", "")),
        conditions={name: more[name] for name in _CONDITIONS if more.get(name)} | {"samples": evaluation.samples},
        finished=evaluation.finished,
        metrics=exported_metrics(
            {key: one.model_dump() for key, one in evaluation.summary.metrics.items() if one is not None},
            columns=suite.metrics if suite else (),
        ),
        records=records,
        library=str(code.get("commit") or "unknown"),
        signature=signature,
        verify=verify,
    )


def _signature(client: Client, *, evaluation: Evaluation) -> tuple[str, str]:
    """The signed statement on an evaluation, and the command that verifies its board."""
    try:
        signature = signature_text(client.proof(evaluation.id).get("signature"))
    except RefusedError as error:
        return f"unsigned: {error}", ""
    return signature, verifying_command(address=evaluation.url, suite=evaluation.suite, signature=signature)
