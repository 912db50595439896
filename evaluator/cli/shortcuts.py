"""The commands `planarena shortcuts`: train the shortcuts of suites."""

import time
from typing import Annotated, Any

import typer

from evaluator.core.canonical_json import JsonValue
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.options import JsonFlag
from evaluator.core.commands.usage import chosen_suite, out, usage_error, write_json
from evaluator.planners.bundled import shortcuts_of
from evaluator.planners.shortcuts import DRAWS, examples_of
from evaluator.planners.shortcuts.planners import TRAINED, shortcut_named

app = typer.Typer(no_args_is_help=True)


@app.callback()
def shortcuts() -> None:
    """Planners that know the words of public requests instead of their meanings."""


@app.command()
def build(
    suites: Annotated[list[str], typer.Argument(metavar="SUITE...", help="Slugs of suites.", show_default=False)],
    as_json: JsonFlag = False,
) -> None:
    """Train the shortcuts of suites from their public requests, and keep the models.

    Evaluations train them by themselves when no kept model has the suite's version. The same version gives the same
    models. Nothing of a hidden split is read.
    """
    rows: list[dict[str, JsonValue]] = []
    for slug in suites:
        suite = chosen_suite(slug)
        names = [name for name in shortcuts_of(suite.slug) if name in TRAINED]
        if not names:
            raise usage_error(f"{suite.slug} has no gold plans to learn from")
        count = len(examples_of(suite))
        for name in names:
            start = time.monotonic()
            shortcut = shortcut_named(name)
            models: list[Any] = shortcut.built(suite)
            path = shortcut.keep(models, suite=suite)
            rows.append({
                "suite": suite.slug, "shortcut": name, "examples": count,
                "is_drawn": suite.public_draws is not None, "models": len(models),
                "plans": max(len(model.skeletons) for model in models), "digest": shortcut.digest(suite),
                "bytes": path.stat().st_size, "seconds": round(time.monotonic() - start, 1), "path": str(path),
            })  # fmt: skip
    write_json({"draws": DRAWS, "models": list(rows)}, printed=as_json, file=None)
    if not as_json:
        table = Listing("suite", "shortcut", "examples", "plans", "kB", "seconds", "kept as")
        for row in rows:
            size = f"{int(str(row['bytes'])) / 1000:.0f}"
            table.add_row(*(str(row[name]) for name in ("suite", "shortcut", "examples", "plans")), size,
                          str(row["seconds"]), str(row["path"]))  # fmt: skip
        show_all([table], console=out)
