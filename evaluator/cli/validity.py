"""The command `planarena validity`: do the scores distinguish gold plans from degraded ones?"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.options import JsonFlag, OutputFile
from evaluator.core.commands.usage import chosen_suite, log, out, usage_error, write_json
from evaluator.core.suites.base import Panel, Suite
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.options import ExecutionSettings, prepare, selected_tasks

if TYPE_CHECKING:
    from evaluator.episodes.executed import Prepared
    from evaluator.studies.validity.executed_plans import AgreementReport
    from evaluator.studies.validity.floors import Floors
    from evaluator.studies.validity.images import ImageReport
    from evaluator.studies.validity.judged import JudgedReport
    from evaluator.studies.validity.variants import ValidityReport


AnySuiteOption = Annotated[
    str, typer.Option(help="Slug of a suite; default: the first one whose plans are executed.", show_default=False)
]


def validity(
    published: Annotated[
        str, typer.Argument(metavar="[SUITE]", help="Print what is published on this suite.", show_default=False)
    ] = "",
    suite: AnySuiteOption = "",
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    split: Annotated[str, typer.Option(help="Split of the data: public or validation.")] = "public",
    data: Annotated[str, typer.Option(help="The papers' data, for the profile paper: folder:PATH or hub[:PATH].")] = "",
    samples: Annotated[int, typer.Option(min=1, help="Data points per task.")] = 20,
    tasks: Annotated[str, typer.Option(help="Only these tasks: ids and ranges, such as 0-14,16,19.")] = "",
    store: Annotated[str, typer.Option(help="Store of artefacts: a folder, or s3://bucket/prefix.")] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    seed: Annotated[str, typer.Option(help="Draws the damage where plans are judged.")] = "",
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables of a suite whose plans are judged as Markdown.")
    ] = False,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Print what a suite's figures mean, or compare gold plans with worse ones.

    With a SUITE: what its ranking score estimates, its floors, shortcuts and headroom, contamination, and what the
    figures do not show, as Markdown, from scores that `planarena shortcuts measure` measured. Without one, compare gold
    plans with worse ones; all options are for that.

    Where plans are executed: with plans that lack a step, reorder the restorations, or have no step. Also compare the
    image score with measures that were not trained on degradations, and measure floors. Exit code 0 if every
    independent image measure ranks gold plans first, and the gold plan wins in 19 of 20 tasks with a text score.

    Where plans are judged: with each kind of damage, such as a dropped step or swapped files. Also judge the anchors.
    Only --tasks, --seed, --markdown, --json and --output apply. Exit code 0 if gold plans are better than each kind of
    damage in the indicator that it must worsen.

    Where plans are both: whether plans that are judged to solve a request produce good results. Exit code 0 if they do
    so more often than the others.
    """
    if published:
        _print_published(published, has_other=bool(suite))
        return
    chosen = chosen_suite(suite)
    if not episode_of(chosen.slug).executes:
        keys = selected_tasks(suite=chosen, text=tasks)
        compare_judged(suite=chosen, tasks=keys, seed=seed, markdown=markdown, as_json=as_json, output=output)
        return
    settings = ExecutionSettings(profile=profile, split=split, data=data, samples=samples, device=device, store=store)
    # Suites whose plans are both executed and judged.
    if Panel.INDICATORS in chosen.panels:
        prepared = prepare(suite=chosen, settings=settings)
        keys = selected_tasks(suite=chosen, text=tasks)
        compare_with_execution(
            prepared=prepared, tasks=keys, seed=seed, markdown=markdown, as_json=as_json, output=output
        )
        return
    if markdown or seed:
        raise usage_error(f"--markdown and --seed are for suites whose plans are judged; {chosen.slug} executes plans")
    _compare_executed(suite=chosen, settings=settings, tasks=tasks, as_json=as_json, output=output)


def _print_published(slug: str, *, has_other: bool) -> None:
    from evaluator.studies.validity.published import section

    if has_other:
        raise usage_error("--suite names the suite whose gold plans are compared; SUITE prints what is published")
    try:
        sys.stdout.write(f"{section(slug)}\n")
    except LookupError as error:
        raise usage_error(error) from None


def _compare_executed(
    *, suite: Suite, settings: ExecutionSettings, tasks: str, as_json: bool, output: Path | None
) -> None:
    prepared = prepare(suite=suite, settings=settings)
    evaluator = prepared.evaluator()
    from evaluator.scoring.metrics.scorers.loading import load_scorer
    from evaluator.studies.validity.floors import measure_floors
    from evaluator.studies.validity.images import Images, measure_images
    from evaluator.studies.validity.variants import measure_validity

    keys = selected_tasks(suite=suite, text=tasks)
    images = Images(value=evaluator.engine.value)
    report = measure_validity(
        suite=suite,
        evaluate=lambda planner, keys: evaluator.run(planner=planner, tasks=keys),
        tasks=keys,
        samples=settings.samples,
        on_record=images.add,
    )
    compared = measure_images(images=images, profile=prepared.profile)
    floors = measure_floors(
        suite=suite, tasks=keys, samples=prepared.samples, count=prepared.count,
        scorer=lambda name: load_scorer(name=name, profile=prepared.profile, device=prepared.device),
    )  # fmt: skip
    document = {
        **report.to_json(),
        "images": None if compared is None else asdict(compared),
        "floors": {**asdict(floors), "constant_score": floors.constant_score},
    }
    write_json(document, printed=as_json, file=output)
    if not as_json:
        show_all([*_tables(report), *_image_tables(compared), *_floor_tables(floors)], console=out)
        for row in report.metrics:
            for loss in row.losses:
                words = f"{loss.variant} scores {loss.other:.4f}, gold {loss.gold:.4f}"
                out.print(f"task {loss.task} ({row.metric}): {words}")
    if not is_valid(report=report, images=compared):
        log.print("planarena: the scores do not distinguish the gold plans from degraded ones")
        raise typer.Exit(ExitCode.CHECK_FAILED)


TEXT_TASKS_WON = 0.95
"""Share of the tasks with a text score in which the gold plan must beat every plan that lacks a step."""


def is_valid(*, report: "ValidityReport", images: "ImageReport | None") -> bool:
    """Whether gold plans rank first by every independent image measure, and win often enough by text scores.

    The order of the image score is only printed, since it was trained on the degradations that it ranks.
    """
    texts = [row for row in report.metrics if row.metric == "BERT"]
    others = [row for row in report.metrics if row.metric not in {"BERT", "ViT"}]
    return (
        all(measure.ranks_gold_first for measure in (images.measures if images is not None else ()))
        and all(row.won >= TEXT_TASKS_WON * row.tasks for row in texts)
        and all(row.margin.mean > 0 for row in others)
    )


def _image_tables(images: "ImageReport | None") -> Iterator[Listing]:
    if images is None:
        return
    kinds = list(images.measures[0].means)
    table = Listing("measure", *kinds, title="mean by kind of plan, by measures not trained on degradations")
    for measure in images.measures:
        table.add_row(measure.measure, *(f"{measure.means[kind]:.4f}" for kind in kinds))
    yield table
    title = f"rank correlation (Spearman) of the ViT score, {images.images} images of {images.scenes} scenes"
    table = Listing("measure", "all images", "within a scene", title=title)
    for measure in images.measures:
        table.add_row(measure.measure, f"{measure.correlation:+.3f}", f"{measure.within:+.3f}")
    yield table


def _floor_tables(floors: "Floors") -> Iterator[Listing]:
    if floors.constants:
        table = Listing("answer", "tasks", "BERT", "right", "text", title="best constant answer")
        for answer in floors.constants:
            right = "" if answer.right is None else f"{answer.right:.1%}"
            table.add_row(answer.kind, str(answer.tasks), f"{answer.score:.4f}", right, answer.text)
        table.add_row(
            "all", str(sum(answer.tasks for answer in floors.constants)), f"{floors.constant_score:.4f}", "", ""
        )
        yield table
    if floors.untouched:
        table = Listing("degradations", "tasks", "ViT", title="images handed back untouched")
        for row in floors.untouched:
            table.add_row(str(row.degradations), str(row.tasks), f"{row.score:.4f}")
        yield table


def _tables(report: "ValidityReport") -> Iterator[Listing]:
    if report.ranking:
        table = Listing(
            "plan",
            "mean ViT score (trained on degradations)",
            "95 % interval",
            title=f"{report.samples} samples per task",
        )
        for kind, interval in report.ranking.items():
            table.add_row(kind, f"{interval.mean:.4f}", interval.in_words())
        yield table
        table = Listing("difference", "mean", "95 % interval")
        for pair, interval in report.steps.items():
            table.add_row(pair, f"{interval.mean:+.4f}", interval.in_words(form="+.4f"))
        yield table
    table = Listing("metric", "tasks", "gold wins", "gold minus others", "95 % interval")
    for row in report.metrics:
        interval = row.margin
        won = f"{row.won} ({row.won / row.tasks:.1%})" if row.tasks else "0"
        table.add_row(row.metric, str(row.tasks), won, f"{interval.mean:+.4f}", interval.in_words(form="+.4f"))
    yield table


_MOST_LISTED = 40


def _write_report(
    report: "AgreementReport | JudgedReport", *, tables: Iterable[Listing], appendix: Listing, markdown: bool,
    as_json: bool, file: Path | None,
) -> None:  # fmt: skip
    """Write JSON, and print it, Markdown, or tables with the appendix."""
    write_json(report.to_json(), printed=as_json, file=file)
    if markdown and not as_json:
        sys.stdout.write(f"{as_markdown(tables)}\n")
    elif not as_json:
        show_all([*tables, appendix], console=out)


def compare_with_execution(
    *, prepared: "Prepared", tasks: Sequence[str], seed: str, markdown: bool, as_json: bool, output: Path | None
) -> None:
    """Measure, and print tables, Markdown or JSON.

    Raises:
        typer.Exit: plans that are judged to solve a request do not produce good results more often than others.
    """
    evaluator = prepared.evaluator()
    from evaluator.studies.validity.executed_plans import measure_agreement

    try:
        report = measure_agreement(
            suite=evaluator.suite,
            evaluate=lambda planner, keys: evaluator.run(planner=planner, tasks=keys),
            tasks=tasks,
            seed=seed,
        )
    except ValueError as error:
        raise usage_error(error) from None
    disagreements = Listing("request", "plan", "SE", "share of gold's score", title="Where SE and execution disagree")
    for plan in report.disagreements[:_MOST_LISTED]:
        disagreements.add_row(plan.task, plan.maker, str(int(plan.solves)), f"{plan.relative:.3f}")
    _write_report(
        report, tables=agreement_tables(report), appendix=disagreements, markdown=markdown, as_json=as_json, file=output
    )
    if report.good_if_solved.mean <= report.good_if_not.mean:
        log.print("planarena: plans with SE = 1 are not better than the others", highlight=False)
        raise typer.Exit(ExitCode.CHECK_FAILED)


def agreement_tables(report: "AgreementReport") -> Iterator[Listing]:
    """Agreement of SE and execution, overall and by kind of plan."""
    table = Listing(
        "figure", "value", "95 % interval", title=f"SE and execution on {report.suite}, {report.plans} plans"
    )
    for name, interval in report.figures():
        table.add_row(name, f"{interval.mean:.3f}", interval.in_words(form=".3f"))
    yield table
    makers = Listing("plans", "executed", "mean SE", "share of gold's score", title="By kind of plan")
    for maker, (count, solved, relative) in report.by_maker.items():
        makers.add_row(maker, str(count), f"{solved:.3f}", f"{relative:.3f}")
    yield makers


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
    _write_report(
        report,
        tables=judged_tables(report),
        appendix=kinds_of_damage(),
        markdown=markdown,
        as_json=as_json,
        file=output,
    )
    if report.failures:
        log.print(f"planarena: gold plans are not above: {', '.join(report.failures)}", highlight=False)
        raise typer.Exit(ExitCode.CHECK_FAILED)


def judged_tables(report: "JudgedReport") -> Iterator[Listing]:
    """The anchors, and the kinds of damage."""
    indicators = list(report.anchors[0].shares)
    anchors = Listing("planner", *indicators, title=f"Anchors on {report.suite}, {report.judged} requests")
    for row in report.anchors:
        shares = (f"{share.mean:.3f} ({share.in_words(form='.2f')})" for share in row.shares.values())
        anchors.add_row(row.name, *shares)
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
    """A table of the kinds of damage."""
    from evaluator.studies.validity.damages import DAMAGES

    table = Listing("damage", "what is done", "exceptions", prose="what is done")
    for damage in DAMAGES:
        table.add_row(damage.name, damage.description, damage.rule)
    return table


def _change(gold: Mapping[str, float], damaged: Mapping[str, float], *, key: str) -> str:
    """The mean of the damaged plans, after that of gold if they differ."""
    if not gold:
        return ""
    before, after = f"{gold[key]:.3g}", f"{damaged[key]:.3f}"
    return f"{before}" if gold[key] == damaged[key] else f"{before} → {after}"
