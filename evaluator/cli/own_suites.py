"""The commands `planarena check suite` and `planarena new suite`, for suites of packages of one's own."""

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag
from evaluator.core.commands.usage import chosen_suite, out, print_json, usage_error, write_text
from evaluator.core.provenance import SHIPPED
from evaluator.core.suites.registry import SLUG, package_with, suite_names
from evaluator.workbench.own_tasks import OwnTaskError, checked_task, suite_of_tasks

_NAME = "suite_plug_in"
TEMPLATE = SHIPPED / _NAME if SHIPPED.is_dir() else Path(__file__).resolve().parents[2] / "examples" / _NAME
"""A complete package, whose suite is `parcels`."""


_OF_TASKS = '''"""Requests of the workbench with accepted plans: each line of `metadata/parcels.jsonl` is a task."""

from pathlib import Path

from evaluator.workbench.own_tasks import suite_entry

SUITES = (suite_entry("parcels", file=Path(__file__).parent / "metadata" / "parcels.jsonl"),)
'''
_DATASHEET = """## Motivation

To compare planners on requests of one's own.

## Composition

{tasks} requests in English with {tools} tools; {with_gold} have an accepted plan.

The suite's digest is `{digest}` (version {version}).

## Collection process

Asked on a workbench of PlanArena.

## Preprocessing, cleaning, labelling

A plan that ran to the end was accepted as right for each request.

## Uses

To compare planners. Another plan may be right, too.

## Distribution

Private.

## Maintenance

A changed request or plan changes the digest and begins a new board.
"""


def check_suite(
    suite: Annotated[str, typer.Argument(help="Slug of the suite, as `suites list` has it.")],
    profile: Annotated[str, typer.Option(help="Profile whose experts run the plans.")] = "lilliput",
    samples: Annotated[int, typer.Option(min=1, help="Data points per task, where plans are executed.")] = 2,
    as_json: JsonFlag = False,
) -> None:
    """Check a suite: gold plans, floors, repeated runs, leakage, licence and datasheet.

    The suite's code runs in this process and in one that it starts.

    Exit code 0 if everything holds, 1 if something does not, 2 for bad usage.
    """
    from evaluator.episodes.base import Setting
    from evaluator.execution.engine.store import MemoryStore
    from evaluator.planners.suite_conformance import conformance

    chosen = chosen_suite(suite).slug
    setting = Setting(profile=profile, samples=samples, open_store=MemoryStore)
    found = list(conformance(chosen, setting=setting))
    package = package_with(chosen)
    holds = all(one.holds for one in found)
    if as_json:
        facts = package and {"name": package.package, "version": package.version, "digest": package.digest}
        print_json({"suite": chosen, "package": facts, "holds": holds, "checks": [asdict(one) for one in found]})
    else:
        origin = f" of {package}" if package else ""
        table = Listing("check", "holds", "found", title=f"{chosen}{origin}", prose="found")
        for one in found:
            table.add_row(one.check, "yes" if one.holds else "no", one.detail)
        table.show(out)
    if not holds:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def new_suite(
    folder: Annotated[Path, typer.Argument(help="Folder of the package, which must not exist.")],
    name: Annotated[str, typer.Option(help="Slug of the suite; default: the name of the folder.")] = "",
    task: Annotated[
        list[Path] | None, typer.Option(help="A run that was downloaded as a task; may be repeated.")
    ] = None,
) -> None:
    """Write a package with a small suite that passes `check suite`, to be changed."""
    slug = name or folder.resolve().name
    if not SLUG.fullmatch(slug):
        raise usage_error(
            f"{slug!r} is no slug: give --name 2 to 40 lower-case letters, digits and hyphens, beginning with a letter"
        )
    if slug in suite_names():
        raise usage_error(f"there is a suite {slug!r} already; choose another --name")
    if folder.exists():
        raise usage_error(f"{folder} exists; name a folder that does not")
    tasks = [_task(file) for file in task or ()]
    if tasks:
        try:
            suite_of_tasks(slug, text="\n".join(tasks))
        except OwnTaskError as error:
            raise usage_error(str(error).rstrip(".")) from None
    for path in sorted(TEMPLATE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            target = _renamed(path.relative_to(TEMPLATE).as_posix(), slug=slug)
            text = path.read_text(encoding="utf-8")
            if tasks:
                text = {"suite.py": _OF_TASKS, "parcels.md": _DATASHEET}.get(path.name, text)
            write_text(_renamed(text, slug=slug), file=folder / target)
    if tasks:
        lines = "".join(f"{one}\n" for one in tasks)
        write_text(lines, file=folder / _renamed("src/parcels_suite/metadata/parcels.jsonl", slug=slug))
    sys.stdout.write(
        f"{folder}\n\nNow install it, and check it after every change:\n\n"
        f"    pip install --editable {folder}\n    planarena check suite {slug}\n"
    )


def _task(file: Path) -> str:
    """A task in one line."""
    try:
        text = file.read_text(encoding="utf-8")
        return json.dumps(checked_task(text, where=str(file)))
    except (OSError, UnicodeDecodeError) as error:
        raise usage_error(f"{file} cannot be read: {error}") from None
    except OwnTaskError as error:
        raise usage_error(str(error).rstrip(".")) from None


def _renamed(text: str, *, slug: str) -> str:
    """The template with another name for its suite."""
    module = slug.replace("-", "_")
    names = {
        "parcels_suite": f"{module}_suite",
        "parcels-suite": f"{slug}-suite",
        "def parcels": f"def {module}",
        "build=parcels": f"build={module}",
        "Parcels": slug.replace("-", " ").capitalize(),
        "parcels": slug,
    }
    return re.sub("|".join(names), lambda found: names[found[0]], text)
