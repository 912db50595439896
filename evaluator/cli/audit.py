"""The command `planarena audit`: how much a planner scores that tries to score without solving."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic_core import to_json

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag, OutputFile
from evaluator.core.commands.usage import chosen_suite, log, out, usage_error, write_bytes, write_json
from evaluator.core.suites.audits import MOST_POINTS, Audit, AuditedAttack, published_file
from evaluator.core.suites.base import Suite
from evaluator.episodes.base import SettingError
from evaluator.episodes.options import ExecutionSettings, setting_of

if TYPE_CHECKING:
    from evaluator.studies.audit.measuring import Progress


def audit(
    suite: Annotated[str, typer.Argument(help="Slug of a suite.")] = "",
    is_quick: Annotated[bool, typer.Option("--quick", help="Few tasks, and no slow attacks.")] = False,
    tasks: Annotated[int, typer.Option(min=0, help="Number of tasks, drawn by --seed; 0: as many as usual.")] = 0,
    samples: Annotated[int, typer.Option(min=1, help="Data points per task where plans are executed.")] = 2,
    seed: Annotated[int, typer.Option(help="Draws the tasks and the hidden requests.")] = 0,
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    store: Annotated[str, typer.Option(help="Store of artefacts: a folder, or s3://bucket/prefix.")] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    is_published: Annotated[
        bool, typer.Option("--publish", help="Also write the audit where the pages of suites read it (docs/audit.md).")
    ] = False,
    is_outdated: Annotated[
        bool, typer.Option("--outdated", help="Instead of a suite: each whose published audit is not of today.")
    ] = False,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Attack a suite: planners that try to score without solving, by class of flaw.

    Attacks the hidden requests of suites that have any, drawn from a seed of the audit. Prints the best attack of each
    class, and its distance to the best floor in points. Exit code 0 if no class earns more than two points.
    """
    if is_published and (is_quick or tasks):
        raise usage_error("--publish needs the whole audit, without --quick and --tasks")
    if bool(suite) is is_outdated:
        raise usage_error("name a suite, or give --outdated")
    settings = ExecutionSettings(profile=profile, split="", samples=samples, device=device, store=store)
    from evaluator.studies.audit.published import audited_suites, outdated

    passes = True
    for slug in [suite] if suite else [slug for slug in audited_suites() if outdated(slug)]:
        chosen = chosen_suite(slug)
        found = _measured(chosen, settings=settings, seed=seed, is_quick=is_quick, most_tasks=tasks or None)
        _report(found, is_published=is_published, as_json=as_json, output=output)
        passes = passes and found.passes
    if not passes:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _measured(suite: Suite, *, settings: ExecutionSettings, seed: int, is_quick: bool, most_tasks: int | None) -> Audit:
    from evaluator.studies.audit.measuring import audit as measured

    try:
        return measured(
            suite=suite, setting=setting_of(settings), seed=seed, is_quick=is_quick, most_tasks=most_tasks,
            listener=_say,
        )  # fmt: skip
    except SettingError as error:
        raise usage_error(error) from None


def _report(found: Audit, *, is_published: bool, as_json: bool, output: OutputFile) -> None:
    document = found.model_dump(mode="json")
    if is_published:
        file = published_file(found.suite)
        write_bytes(to_json(document, indent=1) + b"\n", file=file)
        log.print(f"planarena: wrote {file}", markup=False, highlight=False, soft_wrap=True)
    write_json(document, printed=as_json, file=output)
    if not as_json:
        for table in tables(found):
            table.show(out)
            out.print()
    if not found.passes and found.worst is not None:
        words = f"{found.worst.name} earns {found.worst.points:.1f} points, more than {MOST_POINTS:g}"
        log.print(f"planarena: {words}", markup=False, highlight=False, soft_wrap=True)


def tables(found: Audit) -> Iterator[Listing]:
    """The classes of flaws, and the floors."""
    title = f"Audit of {found.suite}, {found.tasks} tasks on the split {found.split}; gold {found.gold:.3f}"
    classes = Listing("class of flaws", "attacks", "best attack", "scores", "best floor", "points", title=title)
    for flaw in found.flaws:
        best = flaw.best
        cells = ("none applies", "", "", "") if best is None else _cells(best)
        classes.add_row(flaw.title, str(len(flaw.attacks)), *cells)
    yield classes
    floors = Listing("floor", "knows", "scores", title="Floors")
    for floor in found.floors:
        floors.add_row(floor.name, floor.knows, f"{floor.score:.3f}")
    yield floors


def _cells(attack: AuditedAttack) -> tuple[str, str, str, str]:
    note = attack.breach or attack.inherent
    name = f"{attack.name}: {note}" if note else attack.name
    return name, f"{attack.score:.3f}", attack.floor, f"{attack.points:+.1f}"


def _say(progress: "Progress") -> None:
    log.print(f"{progress.score:.3f}  {progress.name}", markup=False, highlight=False, soft_wrap=True)
