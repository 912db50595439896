"""The commands of LUMOS's suites: fetching, and writing training data."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.usage import out, usage_error
from evaluator.suites.lumos.maths import source as maths
from evaluator.suites.lumos.questions import source as questions
from evaluator.suites.lumos.sql import source as sql
from evaluator.suites.released_files import FetchError, Release


def _fetching(release: Release) -> Callable[[Path | None], Mapping[Path, str]]:
    """Fetches the files into the data folder: from another folder, or from the network if that is None."""

    def fetch(folder: Path | None) -> Mapping[Path, str]:
        target = release.folder
        try:
            if folder is None:
                # Imported here: no other command needs a network client.
                from evaluator.downloads import download_released

                digests = release.fetch(download=download_released, target=target)
            else:
                digests = release.take(folder=folder, target=target)
        except FetchError as error:
            raise usage_error(error) from None
        return {target / name: digest for name, digest in digests.items()}

    return fetch


def convert(
    folder: Annotated[Path, typer.Option("--out", help="Folder of the files.")] = Path(".data/lumos"),
    tasks: Annotated[int, typer.Option(min=1, help="Tasks of each group of lumos-mini's training split.")] = 1000,
    start: Annotated[int, typer.Option(min=0, help="Number of the first task of each group.")] = 0,
    profile: Annotated[str, typer.Option(help="Profile of the experts that the solutions are run with.")] = "lilliput",
) -> None:
    """Write LUMOS's training data: conversations of planning and grounding modules, iterative and one-pass, and of the
    baselines.

    The solutions of lumos-mini's training split are run, so that the conversations tell real results.
    """
    from evaluator.cli.execution_settings import ExecutionSettings, setting_of
    from evaluator.suites.lumos.mini.conversion import write_training_data

    setting = setting_of(ExecutionSettings(profile=profile, split="", samples=1))
    try:
        written = write_training_data(folder=folder, setting=setting, count=tasks, start=start)
    except OSError as error:
        raise usage_error(f"--out: {folder} cannot be written: {error}") from None
    for form, count in written.items():
        out.print(f"{folder / form}.jsonl: {count} conversations", markup=False, highlight=False, soft_wrap=True)


COMMANDS: Mapping[str, Callable[..., None]] = {"lumos convert": convert}
GROUPS = {"lumos": "Training data in LUMOS's formats."}
RELEASED = {release.name: _fetching(release) for release in (maths.RELEASE, questions.RELEASE, sql.RELEASE)}
