"""`planarena validity` on suites whose plans are judged: anchors, and gold plans against damaged ones."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.usage import log, out, usage_error, write_json
from evaluator.core.suites.base import Suite
from evaluator.episodes.base import Setting, episode_of

if TYPE_CHECKING:
    from evaluator.studies.validity.judged import JudgedReport


def compare_judged(
    *, suite: Suite, tasks: Sequence[str], seed: str, markdown: bool, as_json: bool, output: Path | None
) -> None:
    """Measure, and print tables, Markdown or JSON.

    Raises:
        typer.Exit: the suite has none of the indicators that are compared, or gold plans are not above some damage.
    """
    from evaluator.studies.validity.judged import NotComparableError, measure_judged

    evaluator = episode_of(suite.slug).evaluator(suite=suite, setting=Setting())
    try:
        report = measure_judged(
            suite=suite,
            evaluate=lambda planner, keys: evaluator.run(planner=planner, tasks=keys),
            tasks=tasks,
            seed=seed,
        )
    except NotComparableError as error:
        raise usage_error(error) from None
    write_json(report.to_json(), printed=as_json, file=output)
    if markdown and not as_json:
        sys.stdout.write(f"{as_markdown(tables(report))}\n")
    elif not as_json:
        show_all([*tables(report), kinds_of_damage()], console=out)
    if report.failures:
        log.print(f"planarena: gold plans are not above: {', '.join(report.failures)}", highlight=False)
        raise typer.Exit(ExitCode.CHECK_FAILED)


def tables(report: "JudgedReport") -> Iterator[Listing]:
    """The anchors, and the kinds of damage."""
    indicators = list(report.anchors[0].shares)
    anchors = Listing("planner", *indicators, title=f"Anchors on {report.suite}, {report.judged} requests")
    for row in report.anchors:
        found = row.shares.values()
        anchors.add_row(row.name, *(f"{one.mean:.3f} ({one.in_words(form='.2f')})" for one in found))
    yield anchors
    damages = Listing(
        "damage", "requests", *indicators, "must worsen", "gold better by", "95 % interval",
        title=f"Damaged gold plans on {report.suite}",
    )  # fmt: skip
    for kind in report.damages:
        gain = ("", "") if kind.gain is None else (f"{kind.gain.mean:+.3f}", kind.gain.in_words(form="+.3f"))
        damages.add_row(
            kind.name,
            str(kind.tasks),
            *(_change(kind.gold, kind.damaged, key=key) for key in indicators),
            kind.indicator,
            *gain,
        )
    yield damages


def as_markdown(listings: Iterable[Listing]) -> str:
    """Several lists as Markdown."""
    return "\n\n".join(listing.markdown() for listing in listings)


def kinds_of_damage() -> Listing:
    """What the kinds of damage are."""
    from evaluator.studies.validity.damages import DAMAGES

    table = Listing("damage", "what is done", "exceptions", prose="what is done")
    for damage in DAMAGES:
        table.add_row(damage.name, damage.description, damage.rule)
    return table


def _change(gold: Mapping[str, float], damaged: Mapping[str, float], *, key: str) -> str:
    """The mean of the damaged plans; with that of gold before it if they differ."""
    if not gold:
        return ""
    before, after = f"{gold[key]:.3g}", f"{damaged[key]:.3f}"
    return f"{before}" if gold[key] == damaged[key] else f"{before} → {after}"
