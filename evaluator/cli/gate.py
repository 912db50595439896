"""`planarena gate`: has a planner become worse than its baseline?"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.client.errors import UsageError
from evaluator.client.gating import Gated, baseline_of, document, exit_code, gated_on_site, markdown
from evaluator.client.options import PatienceOption, SummaryFile, UrlOption, client_of
from evaluator.client.output import append_text, exit_codes, say, write_json
from evaluator.client.verdict import verdict_of
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import printable
from evaluator.core.commands.options import JsonFlag, OutputFile

_MOST_BYTES = 512 * 1024 * 1024


def gate(
    candidate: Annotated[
        str,
        typer.Argument(
            metavar="CANDIDATE",
            help="Id of a submission or an evaluation, a report of `submit --output`, or a report of `evaluate`.",
        ),
    ],
    baseline: Annotated[
        str,
        typer.Option(
            metavar="REV",
            help="A version of the same planner (`submit --planner-version`), an id, or a report of `evaluate`.",
        ),
    ],
    max_regression: Annotated[
        float,
        typer.Option(min=0, metavar="NUMBER", help="By how much the candidate may be worse, in the metric's unit."),
    ] = 0.0,
    suite: Annotated[
        list[str] | None, typer.Option(metavar="SLUG", help="Only this suite of the submission; may be repeated.")
    ] = None,
    metric: Annotated[
        str, typer.Option(metavar="KEY", help="Metric that decides; default: the one that the board ranks by.")
    ] = "",
    allow_undecided: Annotated[
        bool, typer.Option("--allow-undecided", help="Exit code 0 instead of 5 if the tasks are too few to tell.")
    ] = False,
    summary: SummaryFile = None,
    as_json: JsonFlag = False,
    output: OutputFile = None,
    url: UrlOption = "",
    patience: PatienceOption = 600.0,
) -> None:
    """Compare a planner with its baseline task by task, and say whether it has become worse.

    The verdict is better, not worse, worse, or cannot tell, then with the number of tasks that would tell.

    Exit codes: 0 better or not worse, 1 worse, 2 bad usage, 3 fault of the planner, 4 infrastructure, 5 cannot tell.
    """
    with exit_codes():
        report = _report(candidate)
        if report.get("version") == "evaluation/1":
            gated = [_gated_reports(candidate, baseline=baseline, metric=metric, max_regression=max_regression)]
        else:
            wanted = str(report.get("submission", "")) if report else candidate
            gated = _gated_submission(
                wanted, baseline=baseline, only=suite or (), metric=metric, max_regression=max_regression, url=url,
                patience=patience,
            )  # fmt: skip
        code = exit_code(gated, allow_undecided=allow_undecided)
        write_json(document(gated, code=code, max_regression=max_regression), printed=as_json, file=output)
        if summary is not None:
            append_text(summary, markdown(gated))
    if not as_json:
        for one in gated:
            sys.stdout.write(printable(f"{one.suite}: {one.judgement.sentence}") + "\n")
            sys.stdout.write(f"{one.difference.wins} fixed, {one.difference.losses} broken\n")
    say(f"exit code {int(code)}")
    raise typer.Exit(code)


def _gated_submission(
    any_id: str, *, baseline: str, only: Any, metric: str, max_regression: float, url: str, patience: float
) -> list[Gated]:
    """The verdict on each suite of a submission.

    Raises:
        typer.Exit: an evaluation has not completed, which is the exit code; standard error says why.
    """
    with client_of(url=url, patience=patience) as client:
        candidates = [one for one in client.find(any_id) if not only or one.suite in only]
        if not candidates:
            raise UsageError(f"the submission has no evaluation on {' or '.join(only)}")
        if running := [one for one in candidates if not one.rests]:
            raise UsageError(f"the evaluation on {running[0].suite} is {running[0].state}: wait for its end")
        ended = verdict_of(evaluations=candidates, thresholds=[], metrics={})
        if ended.code is not ExitCode.PASSED:
            for sentence in ended.sentences:
                say(sentence)
            raise typer.Exit(ended.code)
        suites = {one.slug: one for one in client.suites()}
        return [
            gated_on_site(
                one, baseline=baseline_of(one, named=baseline, client=client), metric=metric,
                max_regression=max_regression, client=client, suites=suites,
            )
            for one in candidates
        ]  # fmt: skip


def _report(text: str) -> dict[str, Any]:
    """The report in a file; empty if the text names no file.

    Raises:
        UsageError: the file is no report.
    """
    file = Path(text)
    try:
        if not file.is_file():
            return {}
        if file.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{file} is larger than {_MOST_BYTES // 2**20} MiB")
        document = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    if not isinstance(document, dict) or document.get("version") not in {"evaluation/1", "submission-report/1"}:
        raise UsageError(f"{file} is a report neither of `planarena submit` nor of `planarena evaluate`")
    return document


def _gated_reports(candidate: str, *, baseline: str, metric: str, max_regression: float) -> Gated:
    # Needs the suites and numpy, which pipelines that only ask a site do not install.
    from evaluator.cli.comparison import ReportError, gated_reports

    try:
        return gated_reports(
            candidate=Path(candidate), baseline=Path(baseline), metric=metric, max_regression=max_regression
        )
    except ReportError as error:
        raise UsageError(str(error)) from None
