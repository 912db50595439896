"""The commands `planarena shortcuts`: train the shortcuts of suites, and measure them."""

import time
from typing import Annotated, Any

import typer

from evaluator.core.canonical_json import JsonValue
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.options import JsonFlag, OutputFile
from evaluator.core.commands.usage import chosen_suite, log, out, usage_error, write_json
from evaluator.core.suites.hidden import HIDDEN
from evaluator.planners.bundled import shortcuts_of
from evaluator.planners.shortcuts import DRAWS, examples_of
from evaluator.planners.shortcuts.planners import TRAINED, shortcut_named

SEEDS = 3
app = typer.Typer(no_args_is_help=True)


@app.callback()
def shortcuts() -> None:
    """Planners that know the words of public requests instead of their meanings."""


@app.command()
def measure(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="Slug of a suite.", show_default=False)],
    seeds: Annotated[int, typer.Option(min=1, help="Hidden splits that are drawn.")] = SEEDS,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Measure gold plans, floors and shortcuts on the public split, and on hidden splits of fixed seeds.

    Plans that are executed on boards are compared with gold plans or judged instead, so that no expert runs. Exit code
    0 if the best shortcut of a hidden split scores at most 60 % of what gold plans score.
    """
    from evaluator.studies.validity.shortcuts import ALLOWED, measure_shortcuts

    chosen = chosen_suite(suite)
    report = measure_shortcuts(chosen.slug, seeds=seeds)
    write_json(report.to_json(), printed=as_json, file=output)
    if not as_json:
        names = [f"{name} ({split.tasks} tasks)" for name, split in report.splits.items()]
        table = Listing("planner", *names, title=f"{report.suite}, counted as {report.counted}")
        for name in report.splits["public"].means:
            table.add_row(name, *(f"{split.means[name]:.3f}" for split in report.splits.values()))
        show_all([table], console=out)
    hidden = report.splits.get(HIDDEN)
    if hidden is not None and (hidden.share or 0.0) > ALLOWED:
        log.print(f"planarena: {hidden.best} scores {hidden.share:.0%} of the gold plans on the hidden split")
        raise typer.Exit(ExitCode.CHECK_FAILED)


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
