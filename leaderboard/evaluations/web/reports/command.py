"""The command `planarena view`."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.lazy import PlainCommand, unwrapped
from evaluator.core.commands.usage import log, usage_error
from evaluator.episodes.kept_artefacts import folder_beside

PORT = 8710
_MOST_REPORTS = 20


def view(
    reports: Annotated[list[Path], typer.Argument(metavar="REPORT", help="Files that evaluate --output wrote.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of 127.0.0.1; 0: any free one.")] = PORT,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    bundle: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the pages as files into DIR instead of serving them.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --bundle: replace the files of an earlier bundle in DIR.")
    ] = False,
    artefacts: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with the artefacts; by default the one beside each report that evaluate --artefacts filled.",
        ),
    ] = None,
) -> None:
    """Show reports of evaluate in a browser, with the pages of a site.

    The pages need no database and no account. Only this machine can read them. With --bundle they become files for the
    appendix of a paper, which a browser shows without a server and without scripts.
    """
    from leaderboard.evaluations.web.reports import serving

    if len(reports) > _MOST_REPORTS:
        raise usage_error(f"view shows at most {_MOST_REPORTS} reports, and {len(reports)} were given")
    serving.set_up()
    # After the set-up: these import models.
    from leaderboard.evaluations.web.reports.artefacts import FolderArtefacts
    from leaderboard.evaluations.web.reports.bundle import BundleError, write_bundle
    from leaderboard.evaluations.web.reports.reading import ReportError, read_report

    if artefacts is not None and not (artefacts / "objects").is_dir():
        raise usage_error(f"--artefacts: {artefacts} has no folder objects, as a store of artefacts has")
    try:
        read = [(read_report(path), FolderArtefacts(artefacts or folder_beside(path))) for path in reports]
        serving.show(read)
        if bundle is None:
            serving.serve(port=port, opens=opens, announce=_announce)
        else:
            counts = write_bundle(bundle, force=force)
            log.print(f"planarena: {counts.sentence(bundle)}", markup=False, highlight=False, soft_wrap=True)
    except (ReportError, BundleError, serving.NotServedError) as error:
        raise usage_error(error) from None


def _announce(address: str) -> None:
    log.print(f"planarena: {address} until Ctrl-C", markup=False, highlight=False, soft_wrap=True)


def application() -> typer.Typer:
    """The command as a program."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command("view", cls=PlainCommand, help=unwrapped(view.__doc__ or ""))(view)
    return app


def main(arguments: list[str]) -> NoReturn:
    """Run the command and exit.

    Args:
        arguments: after `planarena view`.
    """
    try:
        application()(args=arguments, prog_name="planarena view")
    except KeyboardInterrupt:
        raise SystemExit(ExitCode.INTERRUPTED) from None
    raise AssertionError("the program exits")
