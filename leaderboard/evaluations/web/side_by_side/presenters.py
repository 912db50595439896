"""What the page of one task across planners shows: no reader sees more of a plan than on the page of its task."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.core.records import ResultRecord, SampleResult
from evaluator.core.suites.base import Panel
from leaderboard.catalog.models import Task
from leaderboard.evaluations.gold import Withheld, withheld_from
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.badges import badge_of
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.results.task_filters import PENDING
from leaderboard.evaluations.visibility import Reader
from leaderboard.evaluations.web.compare.services import LETTERS
from leaderboard.evaluations.web.side_by_side.aligning import AlignedStep, aligned
from leaderboard.evaluations.web.side_by_side.candidates import Candidates, candidates
from leaderboard.evaluations.web.side_by_side.turns import Episodes, episodes
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading
from leaderboard.evaluations.web.tasks.grids_shown import GridsPage
from leaderboard.evaluations.web.tasks.plan_differences import flows
from leaderboard.evaluations.web.tasks.plan_graph import Graph, draw
from leaderboard.evaluations.web.tasks.plan_reading import DIFFERING, Marks
from leaderboard.evaluations.web.tasks.samples_shown import ShownSample, ShownStep, samples_page
from leaderboard.evaluations.web.tasks.task_presenters import known_task, task_grids
from leaderboard.evaluations.web.tasks.transcript_shown import ShownTranscript, shown_transcript


class Side(NamedTuple):
    """One planner's column."""

    letter: str
    evaluation: Evaluation
    outcome: str
    """As a badge."""
    reason: str
    """Why there is no plan or no score, in words; empty if that is withheld."""
    score: float | None
    withheld: Withheld
    record: ResultRecord | None
    """Without what is withheld."""
    graph: Graph | None

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """The steps of the plan, as `plan/1`."""
        return steps_of(self.record)


class SampleRow(NamedTuple):
    """The scores of one sample."""

    number: int
    scores: tuple[float | None, ...]
    best: float | None
    """The best of them; None where all are equal."""
    is_shown: bool


class StepCell(NamedTuple):
    """One plan's step."""

    id: str
    inputs: tuple[tuple[str, str], ...]
    """Names and values, as the plan gives them."""
    shown: ShownStep | None
    """What it made of the sample; None if it did not run."""


class StepRow(NamedTuple):
    """Steps beside each other."""

    tool: str
    is_in_all: bool
    cells: tuple[StepCell | None, ...]


class SideBySide(NamedTuple):
    """Everything on the page."""

    sides: tuple[Side, ...]
    samples: tuple[SampleRow, ...]
    sample: int
    """Number of the sample whose pictures and texts are shown; 0 without any."""
    shown: tuple[ShownSample | None, ...]
    """This sample of each planner."""
    given: ShownSample | None
    """The sample with its inputs and reference, which all planners share."""
    rows: tuple[StepRow, ...]
    """Empty where the steps are those of episodes and no sample has anything of them."""
    sentences: tuple[str, ...]
    """How the plans differ, in words."""
    episodes: Episodes | None
    """Of suites in turns: the episode of each planner on the sample."""
    candidates: Candidates | None
    """Of suites with grids."""
    withheld: Withheld
    """What is withheld of all evaluations, which have the same split."""
    has_plans: bool
    """Whether a plan is drawn, or is the only thing that could be shown."""


def side_by_side(
    *, task: Task, evaluations: Sequence[Evaluation], reader: Reader, sample: str | None = None
) -> SideBySide:
    """Gather the page: one query for the results, and a record of the store for each.

    Args:
        task: of the suite of all evaluations.
        evaluations: two to four that the reader sees.
        reader: for whom.
        sample: its number, as the query string has it.
    """
    found = {one.evaluation_id: one for one in TaskResult.objects.filter(task=task, evaluation__in=evaluations)}
    sides = [
        _side(letter=letter, evaluation=one, result=found.get(one.pk), reader=reader)
        for letter, one in zip(LETTERS, evaluations, strict=False)
    ]
    rows = aligned([[str(step["tool"]) for step in side.steps] for side in sides])
    sides = [side._replace(graph=_graph(task, side=side, rows=rows, place=n)) for n, side in enumerate(sides)]
    samples = sample_rows(records=[side.record for side in sides], asked=sample)
    number = next((row.number for row in samples if row.is_shown), 0)
    shown = tuple(_sample(task, side=side, number=number) for side in sides)
    acted = episodes([_transcript(side, number=number) for side in sides])
    made = candidates([_grids(task, side=side) for side in sides], letters=[side.letter for side in sides])
    return SideBySide(
        sides=tuple(sides),
        samples=samples,
        sample=number,
        shown=shown,
        given=next((one for one in shown if one is not None), None),
        rows=tuple(_row(row, sides=sides, shown=shown) for row in rows) if acted is None or any(shown) else (),
        sentences=tuple(_sentences(task, rows=rows, sides=sides)),
        episodes=acted,
        candidates=made,
        withheld=Withheld(*map(all, zip(*(side.withheld for side in sides), strict=True))),
        has_plans=any(side.graph for side in sides) or (acted is None and made is None),
    )


def steps_of(record: ResultRecord | None) -> Sequence[Mapping[str, Any]]:
    """The steps of a record's plan; none where there is no plan."""
    steps = record.plan.get("steps") if record is not None and isinstance(record.plan, dict) else None
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []


def sample_rows(*, records: Sequence[ResultRecord | None], asked: str | None) -> tuple[SampleRow, ...]:
    """The scores of all samples that some record has, in their order. The sample that is asked for is shown, or the
    one on which the scores differ most."""
    scores: dict[int, list[float | None]] = {}
    for place, record in enumerate(records):
        for index, score in () if record is None else _scores(record):
            scores.setdefault(index, [None] * len(records))[place] = score
    wanted = int(asked) - 1 if asked and asked.isascii() and asked.isdigit() and len(asked) < 9 else -1
    if wanted not in scores and scores:
        wanted = max(scores, key=lambda index: (_spread(scores[index]), -index))
    return tuple(
        SampleRow(
            number=index + 1,
            scores=tuple(values),
            best=max(_known(values)) if _spread(values) > 0 else None,
            is_shown=index == wanted,
        )
        for index, values in sorted(scores.items())
    )


def _scores(record: ResultRecord) -> list[tuple[int, float | None]]:
    """Index and score of each sample; of episodes without samples, of each episode."""
    if record.samples:
        return [(one.index, one.score) for one in record.samples]
    return [(one.sample, one.score) for one in record.transcripts]


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _spread(values: Sequence[float | None]) -> float:
    known = _known(values)
    return max(known) - min(known) if known else 0.0


def _side(*, letter: str, evaluation: Evaluation, result: TaskResult | None, reader: Reader) -> Side:
    withheld = withheld_from(reader=reader, evaluation=evaluation)
    digest = result.record_digest if result else ""
    read = read_record(digest=digest, store=server_store(split=evaluation.split)) if digest else None
    outcome = badge_of(outcome=result.outcome, plan_summary=result.plan_summary) if result else PENDING
    return Side(
        letter=letter,
        evaluation=evaluation,
        outcome=result.outcome if result and withheld.plan else outcome,
        reason=result.reason_text if result and not withheld.plan else "",
        score=result.score if result else None,
        withheld=withheld,
        record=read and read.model_copy(update=withheld.without()),
        graph=None,
    )


def _graph(task: Task, *, side: Side, rows: Sequence[AlignedStep], place: int) -> Graph | None:
    if side.record is None or not isinstance(side.record.plan, dict):
        return None
    suite, known = known_task(task)
    differing = {row.places[place]: DIFFERING for row in rows if not row.is_in_all}
    drawn = draw(
        plan=side.record.plan,
        catalogue=suite.catalogue if suite else None,
        resources={} if known is None else {name: str(kind) for name, kind in known.resources.items()},
        marks=Marks(differing={step: mark for step, mark in differing.items() if step is not None}),
        texts_inside=task.suite.has(Panel.INDICATORS),
    )
    return drawn if drawn.nodes else None


def _sample(task: Task, *, side: Side, number: int) -> ShownSample | None:
    found: list[SampleResult] = []
    if side.record is not None and not side.withheld.data:
        found = [one for one in side.record.samples if one.index == number - 1]
    if not found:
        return None
    suite, _ = known_task(task)
    split = side.evaluation.split
    reading = Reading(store=server_store(split=split), split=split)
    catalogue = suite.catalogue if suite else None
    return samples_page(samples=found, number=None, reading=reading, catalogue=catalogue).samples[0]


def _transcript(side: Side, *, number: int) -> ShownTranscript | None:
    """The episode on a sample."""
    found = [] if side.record is None else [one for one in side.record.transcripts if one.sample == number - 1]
    return shown_transcript(found[0], label=f"{side.letter}, ") if found else None


def _grids(task: Task, *, side: Side) -> GridsPage | None:
    return task_grids(task=task, record=side.record, split=side.evaluation.split, withheld=side.withheld)


def _row(row: AlignedStep, *, sides: Sequence[Side], shown: Sequence[ShownSample | None]) -> StepRow:
    cells = tuple(
        None if place is None else _cell(side.steps[place], sample=sample)
        for side, sample, place in zip(sides, shown, row.places, strict=True)
    )
    return StepRow(row.tool, row.is_in_all, cells)


def _cell(step: Mapping[str, Any], *, sample: ShownSample | None) -> StepCell:
    runs = {one.run.step: one for one in (sample.steps if sample else ())}
    inputs = step.get("inputs")
    named = inputs.items() if isinstance(inputs, dict) else ()
    return StepCell(str(step.get("id", "")), tuple((str(k), str(v)) for k, v in named), runs.get(str(step.get("id"))))


def _sentences(task: Task, *, rows: Sequence[AlignedStep], sides: Sequence[Side]) -> list[str]:
    if not any(side.steps for side in sides):
        return []
    if all(row.is_in_all for row in rows):
        _, known = known_task(task)
        resources = {} if known is None else {name: str(kind) for name, kind in known.resources.items()}
        plans = [side.record.plan for side in sides if side.record and isinstance(side.record.plan, dict)]
        first, *others = (flows(plan, resources=resources) for plan in plans)
        how = "connected in the same way" if all(one == first for one in others) else "connected in different ways"
        return [f"All plans have the same steps in the same order, {how}."]
    found = []
    for place, side in enumerate(sides):
        own = [row.tool for row in rows if row.places[place] is not None and not row.is_in_all]
        words = ", ".join(own) if own else "no step that another plan lacks" if side.steps else "no steps"
        found.append(f"{side.letter}: {words}.")
    return ["Steps that not every plan has.", *found]
