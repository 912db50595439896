"""The commands `planarena suites ...`."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.listing import Listing
from evaluator.cli.usage import JsonFlag, chosen_suite, out, print_json, usage_error
from evaluator.suites import suite_names, suite_of
from evaluator.suites.registry import command_modules

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
    suite: Annotated[str, typer.Argument(help="Slug of the suite, as `suites list` has it.")],
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
    what: Annotated[str, typer.Argument(help="Name of the benchmark: controlllm.")],
    folder: Annotated[
        Path | None, typer.Option("--from", help="Read the files from this folder instead of downloading them.")
    ] = None,
) -> None:
    """Download the released files of a benchmark that PlanArena does not ship, and verify them."""
    released = {
        name: fetch
        for module in command_modules()
        for name, fetch in getattr(import_module(module), "RELEASED", {}).items()
    }
    if what not in released:
        raise usage_error(f"there is nothing to fetch for {what!r}; it must be {' or '.join(released)}")
    for path, digest in released[what](folder).items():
        out.print(f"{path}  SHA-256 {digest}", markup=False, highlight=False, soft_wrap=True)
