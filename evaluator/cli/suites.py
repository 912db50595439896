"""The commands `planarena suites ...`."""

import json
import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from evaluator.core.canonical_json import JsonValue
from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag, writable_folder
from evaluator.core.commands.usage import (
    chosen_suite,
    in_short_lines,
    out,
    print_json,
    usage_error,
    write_bytes,
    write_text,
)
from evaluator.core.process import as_printable_json
from evaluator.core.suites.base import Suite, Task
from evaluator.core.suites.facets import STRUCTURE, Facet
from evaluator.core.suites.registry import (
    fetching_modules,
    judged_suites,
    package_with,
    refused_packages,
    suite_names,
    suite_of,
)

_MOST_LISTED = 50
"""Fetched files."""
_TASKSET = """from evaluator.interop.harnesses.verifiers_taskset import PlanArenaEnv, PlanArenaHarness, taskset_of

PlanArenaTaskset = taskset_of("{slug}")

__all__ = ["PlanArenaEnv", "PlanArenaHarness", "PlanArenaTaskset"]
"""
"""A module with the taskset of a suite."""
_DISTRIBUTION = """[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "planarena-tasksets"
version = "{version}"
dependencies = ["planarena", "verifiers"]

[tool.setuptools]
py-modules = {modules}
"""
"""pyproject.toml of the modules."""

app = typer.Typer(no_args_is_help=True)


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
                    "idle_tools": list(suite.idle_tools),
                    "package": str(package_with(suite.slug) or ""),
                }
                for suite in suites
            ]
        )
        return
    table = Listing("suite", "version", "tasks", "title", "digest")
    for suite in suites:
        table.add_row(suite.slug, suite.version, str(len(suite.tasks)), suite.title, suite.digest[:12])
    table.show(out)
    for sentence in refused_packages():
        sys.stderr.write(f"planarena: {sentence}\n")


@app.command("show")
def show_suite(
    suite: Annotated[str, typer.Argument(help="Slug of the suite, as `suites list` has it.")],
    task: Annotated[str, typer.Argument(help="Print only this one, with what is given with it.")] = "",
    view: Annotated[str, typer.Option(help="Show what is given in this way; a wrong one lists all.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Print the tasks of a suite with their gold plans, or one of them with what is given with it."""
    chosen = chosen_suite(suite)
    if task or view:
        _show_task(task, suite=chosen, view=view, as_json=as_json)
        return
    tasks = chosen.tasks
    if as_json:
        print_json([task.to_json() for task in tasks])
        return
    table = Listing("id", "request", "structure", "metric", "gold plan", prose="request")
    for one in tasks:
        table.add_row(
            one.key,
            one.text,
            one.structure,
            one.metric,
            ", ".join(one.gold.tools()) if one.gold is not None else "unknown",
        )
    table.show(out)
    if idle := chosen.idle_tools:
        out.print(
            f"{len(idle)} of {len(chosen.catalogue.tools)} tools are relevant in no request: {', '.join(idle)}",
            highlight=False,
        )


def _show_task(key: str, *, suite: Suite, view: str, as_json: bool) -> None:
    task = next((one for one in suite.tasks if one.key == key), None)
    if task is None:
        first = ", ".join(one.key for one in suite.tasks[:3])
        raise usage_error(f"{suite.slug} has no task {key!r}; its tasks are {first}, ...")
    found: JsonValue
    if not view:
        found = task.to_json()
    elif suite.views is None:
        raise usage_error(f"{suite.slug} shows its tasks in one way only; leave out --view")
    else:
        try:
            found = suite.views(task, view)
        except LookupError as error:
            raise usage_error(error.args[0]) from None
    if as_json:
        print_json(found)
        return
    if not view:
        out.print(task.text, markup=False, highlight=False)
    out.print(in_short_lines(found), markup=False, highlight=False, soft_wrap=True)


@app.command("sample")
def sample_suite(
    suite: Annotated[str, typer.Argument(help="Slug of the suite, as `suites list` has it.")],
    count: Annotated[int, typer.Option(min=1, help="How many requests.")] = 20,
    seed: Annotated[str, typer.Option(help="Any text; the same seed prints the same requests.")] = "0",
    as_json: JsonFlag = False,
) -> None:
    """Print requests of a suite, drawn at random, with the groups that they belong to."""
    chosen = chosen_suite(suite)
    rng = random.Random(f"{chosen.slug} {seed}")  # noqa: S311 - not for secrets
    places = sorted(rng.sample(range(len(chosen.tasks)), min(count, len(chosen.tasks))))
    drawn = [chosen.tasks[place] for place in places]
    if as_json:
        print_json([{"id": task.key, "text": task.text, "groups": _groups(task, suite=chosen)} for task in drawn])
        return
    facets = _shown_facets(chosen)
    table = Listing("id", "request", *(facet.label.lower() for facet in facets), prose="request")
    for task in drawn:
        groups = _groups(task, suite=chosen)
        table.add_row(task.key, task.text, *(groups.get(facet.name, "") for facet in facets))
    table.show(out)


def _shown_facets(suite: Suite) -> list[Facet]:
    """The facets whose values tasks have themselves and that tell nothing about the gold plan."""
    return [facet for facet in suite.facets.filters if not facet.tells_gold and (facet.attribute or facet == STRUCTURE)]


def _groups(task: Task, *, suite: Suite) -> dict[str, str]:
    """The values of the suite's facets in words, by the facet's name."""
    found = {}
    for facet in _shown_facets(suite):
        value = task.structure if facet == STRUCTURE else task.attributes.get(facet.attribute)
        values = value if isinstance(value, list) else [value]
        words = [facet.words.get(str(one), str(one).replace("_", " ")) for one in values if one is not None]
        if words:
            found[facet.name] = " and ".join(words)
    return found


@app.command("croissant")
def describe_suite(
    suite: Annotated[str, typer.Argument(help="Slug of the suite, as `suites list` has it.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write croissant.json and the requests into this folder instead.", callback=writable_folder
        ),
    ] = None,
    url: Annotated[str, typer.Option(help="Page of the data set; default: that of its release.")] = "",
) -> None:
    """Print a suite's metadata as a data set: Croissant 1.0, JSON-LD."""
    from evaluator.core.suites.metadata import REQUESTS, as_text, croissant, metadata_of, request_lines

    chosen = chosen_suite(suite)
    try:
        described = croissant(suite=chosen, url=url)
    except LookupError as error:
        raise usage_error(error) from None
    if folder is None:
        sys.stdout.write(as_printable_json(as_text(described)))
        return
    write_text(as_text(described), file=folder / "croissant.json")
    if not metadata_of(chosen.slug).files:
        write_bytes(request_lines(chosen), file=folder / REQUESTS)
    out.print(f"{folder / 'croissant.json'}", markup=False, highlight=False, soft_wrap=True)


@app.command("lm-eval")
def write_lm_eval_tasks(
    folder: Annotated[Path, typer.Argument(help="Folder for the files; missing folders are made.")],
) -> None:
    """Write the judged suites as tasks of lm-evaluation-harness, for its option --include_path.

    Prints the folder. The tasks are called planarena_SUITE, with underscores.
    """
    for slug in sorted(set(judged_suites()) & set(suite_names())):
        name = f"planarena_{slug.replace('-', '_')}"
        task = f"task: {name}\nclass: !function planarena_tasks.PlanArenaTask\nsuite: {slug}\n"
        write_text(task, file=folder / f"{name}.yaml")
    module = 'from evaluator.interop.harnesses.lm_eval_tasks import PlanArenaTask\n\n__all__ = ["PlanArenaTask"]\n'
    write_text(module, file=folder / "planarena_tasks.py")
    out.print(f"{folder}", markup=False, highlight=False, soft_wrap=True)


@app.command("verifiers")
def write_verifiers_tasksets(
    folder: Annotated[Path, typer.Argument(help="Folder for the files; missing folders are made.")],
) -> None:
    """Write a Python package with a taskset of verifiers for each suite, for `pip install` or PYTHONPATH.

    Prints the folder. The tasksets are called planarena-SUITE, for `vf-eval` and prime-rl.
    """
    from evaluator import __version__

    modules = []
    for slug in sorted(suite_names()):
        modules.append(f"planarena_{slug.replace('-', '_')}")
        write_text(_TASKSET.format(slug=slug), file=folder / f"{modules[-1]}.py")
    write_text(_DISTRIBUTION.format(version=__version__, modules=json.dumps(modules)), file=folder / "pyproject.toml")
    out.print(f"{folder}", markup=False, highlight=False, soft_wrap=True)


@app.command("datasheet")
def print_datasheet(
    suite: Annotated[str, typer.Argument(help="Slug of the suite, as `suites list` has it.")],
) -> None:
    """Print the datasheet of a suite, in Markdown."""
    from evaluator.core.suites.metadata import datasheet

    chosen = chosen_suite(suite)
    try:
        text = datasheet(chosen)
    except LookupError as error:
        raise usage_error(error) from None
    out.print(f"# Datasheet of {chosen.title}\n\n{text}", markup=False, highlight=False, soft_wrap=True, end="")


@app.command("fetch")
def fetch_suite(
    what: Annotated[str, typer.Argument(help="Name of the benchmark, such as controlllm; a wrong one lists all.")],
    folder: Annotated[
        Path | None, typer.Option("--from", help="Read the files from this folder instead of downloading them.")
    ] = None,
) -> None:
    """Download the released files of a benchmark that PlanArena does not ship, and verify them."""
    released = {
        name: fetch
        for module in fetching_modules()
        for name, fetch in getattr(import_module(module), "RELEASED", {}).items()
    }
    if what not in released:
        raise usage_error(f"there is nothing to fetch for {what!r}; it must be {' or '.join(released)}")
    files = released[what](folder)
    if len(files) > _MOST_LISTED:
        first = next(iter(files))
        out.print(f"{len(files)} files, all with their SHA-256, such as {first}", highlight=False, soft_wrap=True)
        return
    for path, digest in files.items():
        out.print(f"{path}  SHA-256 {digest}", markup=False, highlight=False, soft_wrap=True)
