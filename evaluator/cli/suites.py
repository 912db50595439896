"""The commands `planarena suites ...`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.listing import Listing
from evaluator.cli.usage import JsonFlag, chosen_suite, out, print_json, usage_error
from evaluator.suites import suite_names, suite_of
from evaluator.suites.toolbench import source

app = typer.Typer(help="The benchmark suites.", no_args_is_help=True)


@app.command("list")
def list_suites(as_json: JsonFlag = False) -> None:
    """List the suites."""
    suites = [suite_of(name) for name in suite_names()]
    if as_json:
        print_json(
            [
                {
                    "slug": suite.slug,
                    "version": suite.version,
                    "tasks": len(suite.tasks),
                    "title": suite.title,
                    "digest": suite.digest,
                }
                for suite in suites
            ]
        )
        return
    table = Listing("suite", "version", "tasks", "title", "digest")
    for suite in suites:
        table.add_row(suite.slug, suite.version, str(len(suite.tasks)), suite.title, suite.digest[:12])
    table.show(out)


@app.command("show")
def show_suite(
    suite: Annotated[str, typer.Argument(help="Slug of the suite, for example openagi.")],
    as_json: JsonFlag = False,
) -> None:
    """Print the tasks of a suite with their gold plans."""
    tasks = chosen_suite(suite).tasks
    if as_json:
        print_json([task.to_json() for task in tasks])
        return
    table = Listing("id", "request", "structure", "metric", "gold plan", prose="request")
    for task in tasks:
        table.add_row(
            task.key,
            task.text,
            task.structure,
            task.metric,
            ", ".join(task.gold.tools()) if task.gold is not None else "unknown",
        )
    table.show(out)


@app.command("fetch")
def fetch_suite(
    what: Annotated[str, typer.Argument(help="Benchmark: controlllm (for tool100 and tool2k).")],
    folder: Annotated[
        Path | None, typer.Option("--from", help="Read the files from this folder instead of downloading them.")
    ] = None,
) -> None:
    """Download the released files of a benchmark that PlanArena does not ship, and verify them."""
    if what != "controlllm":
        raise usage_error(f"there is nothing to fetch for {what!r}; it must be controlllm")
    target = source.suite_folder()
    try:
        digests = fetch_released(target) if folder is None else source.take(folder=folder, target=target)
    except source.FetchError as error:
        raise usage_error(error) from None
    for name, digest in digests.items():
        out.print(f"{target / name}  SHA-256 {digest}", markup=False, highlight=False, soft_wrap=True)


def fetch_released(target: Path) -> Mapping[str, str]:
    """Download the released files into a folder.

    Raises:
        FetchError: the download failed, or the digests differ from the released ones; nothing was written.
    """
    # Imported here: no other command of this module needs a network client.
    from evaluator.downloads import DownloadError, download

    def released(file: source.PublicFile) -> bytes:
        try:
            return download(url=file.url, most_bytes=2 * file.bytes)
        except DownloadError as error:
            raise source.FetchError(f"{error}; --from DIR takes the files from a folder") from None

    return source.fetch(download=released, target=target)
