"""One task across two to four planners: plans, steps, episodes, grids and scores of samples side by side.

Plans are withheld as on the page of their task.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evaluator.core.records import ResultRecord
from evaluator.core.suites.base import Panel
from evaluator.scoring.task_comparison import PENDING
from leaderboard.boards.contents import content_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.figures import badge_of
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.visibility import Reader, check_tasks, not_shared, withheld_from
from leaderboard.evaluations.web.compare.services import (
    LETTERS,
    NotComparableError,
    best_of_board,
    read_evaluations,
    read_ids,
)
from leaderboard.evaluations.web.tasks.artefacts_shown import ShownValue
from leaderboard.evaluations.web.tasks.grids_shown import DrawnGrid, GridsPage, Pair, ShownCandidate
from leaderboard.evaluations.web.tasks.plan_graph import DIFFERING, Graph, Marks, draw, flows
from leaderboard.evaluations.web.tasks.samples_shown import ShownSample, ShownStep, samples_page
from leaderboard.evaluations.web.tasks.stored_tasks import stored_reading
from leaderboard.evaluations.web.tasks.task_presenters import known_task, task_grids
from leaderboard.evaluations.web.tasks.transcript_shown import ShownAction, ShownTranscript, ShownTurn, shown_transcript
from leaderboard.evaluations.web.visibility_panel import for_readers_of
from leaderboard.evaluations.withheld import Withheld

MOST = 4
"""Maximum number of planners."""
USUAL = 3
"""Rows of the board that are shown if the query string names no evaluations."""


class AlignedStep(NamedTuple):
    """A row of matching steps."""

    tool: str
    places: tuple[int | None, ...]
    """Index of the step in each plan; None where a plan lacks it."""

    @property
    def is_in_all(self) -> bool:
        return None not in self.places


def aligned(plans: Sequence[Sequence[str]]) -> list[AlignedStep]:
    """Align the steps of several plans: one row per step that they share in this order.

    The longest runs of equal tools are matched first (Ratcliff and Metzener's gestalt matching), plan after plan
    against the rows so far.

    Args:
        plans: the tools of each plan, in the order of its steps.

    Returns:
        Rows that contain each step of each plan once, in the order of its plan.
    """
    rows: list[AlignedStep] = []
    for number, tools in enumerate(plans):
        matcher = SequenceMatcher(None, [row.tool for row in rows], list(tools), autojunk=False)
        extended: list[AlignedStep] = []
        for kind, start, end, first, last in matcher.get_opcodes():
            if kind == "equal":
                pairs = zip(rows[start:end], range(first, last), strict=True)
                extended += [AlignedStep(row.tool, (*row.places, place)) for row, place in pairs]
                continue
            extended += [AlignedStep(row.tool, (*row.places, None)) for row in rows[start:end]]
            extended += [AlignedStep(tools[place], (*(None,) * number, place)) for place in range(first, last)]
        rows = extended
    return rows


class ActionCell(NamedTuple):
    """One planner's action."""

    action: ShownAction | None
    """None if the planner has no action in this row."""
    turn: ShownTurn | None
    """Set only in the first row of the turn, which shows its subgoals and errors."""


class ActionRow(NamedTuple):
    """A row of actions, one cell per planner."""

    title: str
    differs: bool
    """Whether planners whose episodes are shown act differently."""
    cells: tuple[ActionCell | None, ...]


class Episodes(NamedTuple):
    """One episode of each planner."""

    transcripts: tuple[ShownTranscript | None, ...]
    """None where it is missing or withheld."""
    rows: tuple[ActionRow, ...]
    left_out: int
    """Maximum number of turns of an episode that are not shown."""
    expected: ShownValue | None
    sentence: str
    """Where the actions first differ; empty for fewer than two episodes."""


def episodes(transcripts: Sequence[ShownTranscript | None]) -> Episodes | None:
    """Lay out episodes on the same sample; None if there is no episode."""
    known = [transcript for transcript in transcripts if transcript is not None]
    if not known:
        return None
    rows: list[ActionRow] = []
    first = 0
    for number in range(1, max(len(transcript.turns) for transcript in known) + 1):
        rows += _rows_of_turn(transcripts, number=number)
        first = first or (number if any(row.differs for row in rows) else 0)
    sentence = f"The actions first differ in turn {first}." if first else "All planners take the same actions."
    return Episodes(
        transcripts=tuple(transcripts),
        rows=tuple(rows),
        left_out=max(transcript.turns_left_out for transcript in known),
        expected=next((transcript.expected for transcript in known if transcript.expected is not None), None),
        sentence="" if len(known) < 2 else sentence,
    )


def _rows_of_turn(transcripts: Sequence[ShownTranscript | None], *, number: int) -> list[ActionRow]:
    turns = [
        None if transcript is None or len(transcript.turns) < number else transcript.turns[number - 1]
        for transcript in transcripts
    ]
    steps = aligned([[action.tool for action in turn.actions] if turn else [] for turn in turns])
    # Turns without actions have a row too: they may have errors.
    steps = steps or [AlignedStep("", (None,) * len(turns))]
    rows = []
    for row, step in enumerate(steps, start=1):
        actions = [
            turn.actions[place] if turn is not None and place is not None else None
            for turn, place in zip(turns, step.places, strict=True)
        ]
        # None stands for an ended episode. White space does not count.
        texts = {
            None if turn is None else " ".join(action.text.split()) if action else ""
            for transcript, turn, action in zip(transcripts, turns, actions, strict=True)
            if transcript is not None
        }
        cells = tuple(
            None if turn is None or (action is None and row > 1) else ActionCell(action, turn if row == 1 else None)
            for turn, action in zip(turns, actions, strict=True)
        )
        title = f"Turn {number}" if len(steps) == 1 else f"Turn {number}, action {row}"
        rows.append(ActionRow(title, len(texts) > 1, cells))
    return rows


class CandidateRow(NamedTuple):
    """A row of candidates, one cell per planner."""

    title: str
    differs: bool
    """Whether the planners that have a candidate give different grids."""
    cells: tuple[ShownCandidate | None, ...]
    """Without the right outputs, which are shown once."""


class Candidates(NamedTuple):
    """The grids of a task, and of the results of several planners."""

    demonstrations: tuple[Pair, ...]
    tests: tuple[Pair, ...]
    key: Sequence[tuple[int, str]]
    """Each colour with its letter in programs."""
    expected: tuple[tuple[str, DrawnGrid], ...]
    """Name and right output of each test, where it is known."""
    final: tuple[CandidateRow, ...]
    tried: tuple[CandidateRow, ...]
    tried_left_out: int


def candidates(pages: Sequence[GridsPage | None], *, letters: Sequence[str]) -> Candidates | None:
    """Lay out the grids of several results; None if no result has any.

    Args:
        pages: the grids of each planner's task page.
        letters: of the planners.
    """
    known = [page for page in pages if page is not None]
    if not known:
        return None
    source = next((page for page in known if page.demonstrations), known[0])
    tests = [test for page in known for candidate in page.final for test in candidate.tests]
    return Candidates(
        demonstrations=source.demonstrations,
        tests=source.tests,
        key=source.key,
        expected=tuple({test.name: test.expected for test in tests if test.expected is not None}.items()),
        final=_candidate_rows([page.final if page else () for page in pages], letters=letters, noun="Candidate"),
        tried=_candidate_rows([page.tried if page else () for page in pages], letters=letters, noun="Try"),
        tried_left_out=max(page.tried_left_out for page in known),
    )


def _candidate_rows(
    columns: Sequence[Sequence[ShownCandidate]], *, letters: Sequence[str], noun: str
) -> tuple[CandidateRow, ...]:
    rows = []
    for number, candidates in enumerate(zip_longest(*columns), start=1):
        outcomes = {
            tuple((test.status, test.output.text if test.output else "") for test in (*one.demonstrations, *one.tests))
            for one in candidates
            if one is not None
        }
        cells = tuple(
            candidate
            and candidate._replace(
                title=f"{letter}, {candidate.title}",
                demonstrations=tuple(pair._replace(expected=None) for pair in candidate.demonstrations),
                tests=tuple(pair._replace(expected=None) for pair in candidate.tests),
            )
            for letter, candidate in zip(letters, candidates, strict=False)
        )
        rows.append(CandidateRow(f"{noun} {number}", len(outcomes) > 1, cells))
    return tuple(rows)


class Side(NamedTuple):
    """One planner's column."""

    letter: str
    evaluation: Evaluation
    outcome: str
    reason: str
    """Why there is no plan or no score, in words; empty if that is withheld."""
    score: float | None
    withheld: Withheld
    record: ResultRecord | None
    """Without withheld parts."""
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
    """None if all are equal."""
    is_shown: bool


class StepCell(NamedTuple):
    """A step of one plan."""

    inputs: tuple[tuple[str, str], ...]
    """Names and values from the plan."""
    shown: ShownStep | None
    """Its run on the sample; None if it did not run."""


class StepRow(NamedTuple):
    """A row of steps, one cell per planner."""

    tool: str
    is_in_all: bool
    cells: tuple[StepCell | None, ...]


class SideBySide(NamedTuple):
    """Everything on the page."""

    sides: tuple[Side, ...]
    samples: tuple[SampleRow, ...]
    sample: int
    """Number of the sample whose pictures and texts are shown; 0 without samples."""
    shown: tuple[ShownSample | None, ...]
    """This sample of each planner."""
    given: ShownSample | None
    """The sample with its inputs and reference, which all planners share."""
    rows: tuple[StepRow, ...]
    """Empty for episodes without data on the sample."""
    sentences: tuple[str, ...]
    """How the plans differ, in words."""
    episodes: Episodes | None
    """For suites in turns: the episode of each planner on the sample."""
    candidates: Candidates | None
    """For suites with grids."""
    withheld: Withheld
    """Parts that are withheld for all evaluations, which have the same split."""
    has_plans: bool
    """Whether a plan is drawn, or there is nothing else to show."""


def side_by_side(
    *, task: Task, evaluations: Sequence[Evaluation], reader: Reader, sample: str | None = None
) -> SideBySide:
    """Assemble the page with one query for the results and one stored record for each.

    Args:
        task: of the suite of all evaluations.
        evaluations: two to four that the reader sees.
        reader: who opens the page.
        sample: number of the sample from the query string.
    """
    results = {result.evaluation_id: result for result in task.results.filter(evaluation__in=evaluations)}
    sides = [
        _side(letter=letter, evaluation=evaluation, result=results.get(evaluation.pk), reader=reader)
        for letter, evaluation in zip(LETTERS, evaluations, strict=False)
    ]
    rows = aligned([[str(step["tool"]) for step in side.steps] for side in sides])
    sides = [side._replace(graph=_graph(task, side=side, rows=rows, place=n)) for n, side in enumerate(sides)]
    samples = sample_rows(records=[side.record for side in sides], sample=sample)
    number = next((row.number for row in samples if row.is_shown), 0)
    shown = tuple(_sample(task, side=side, number=number) for side in sides)
    acted = episodes([_transcript(side, number=number) for side in sides])
    grids = candidates(
        [
            task_grids(task=task, record=side.record, split=side.evaluation.split, withheld=side.withheld)
            for side in sides
        ],
        letters=[side.letter for side in sides],
    )
    return SideBySide(
        sides=tuple(sides),
        samples=samples,
        sample=number,
        shown=shown,
        given=next((sample for sample in shown if sample is not None), None),
        rows=tuple(_row(row, sides=sides, shown=shown) for row in rows) if acted is None or any(shown) else (),
        sentences=tuple(_sentences(task, rows=rows, sides=sides)),
        episodes=acted,
        candidates=grids,
        withheld=Withheld(*map(all, zip(*(side.withheld for side in sides), strict=True))),
        has_plans=any(side.graph for side in sides) or (acted is None and grids is None),
    )


def steps_of(record: ResultRecord | None) -> Sequence[Mapping[str, Any]]:
    """The steps of a record's plan; none where there is no plan."""
    steps = record.plan.get("steps") if record is not None and isinstance(record.plan, dict) else None
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []


def sample_rows(*, records: Sequence[ResultRecord | None], sample: str | None) -> tuple[SampleRow, ...]:
    """The scores of all samples in the records, in order.

    Shows the requested sample or else the one on which the scores differ most.
    """
    scores: dict[int, list[float | None]] = {}
    for place, record in enumerate(records):
        pairs: Iterable[tuple[int, float | None]] = ()
        if record is not None:
            episodes = ((episode.sample, episode.score) for episode in record.transcripts)
            pairs = ((sample.index, sample.score) for sample in record.samples) if record.samples else episodes
        for index, score in pairs:
            scores.setdefault(index, [None] * len(records))[place] = score
    chosen = int(sample) - 1 if sample and sample.isascii() and sample.isdigit() and len(sample) < 9 else -1
    if chosen not in scores and scores:
        chosen = max(scores, key=lambda index: (_spread(scores[index]), -index))
    return tuple(
        SampleRow(
            number=index + 1,
            scores=tuple(values),
            best=max(value for value in values if value is not None) if _spread(values) > 0 else None,
            is_shown=index == chosen,
        )
        for index, values in sorted(scores.items())
    )


def _spread(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return max(known) - min(known) if known else 0.0


def _side(*, letter: str, evaluation: Evaluation, result: TaskResult | None, reader: Reader) -> Side:
    withheld = withheld_from(reader=reader, evaluation=evaluation)
    digest = result.record_digest if result else ""
    record = read_record(digest=digest, store=server_store(split=evaluation.split)) if digest else None
    outcome = badge_of(outcome=result.outcome, plan_summary=result.plan_summary) if result else PENDING
    return Side(
        letter=letter,
        evaluation=evaluation,
        outcome=result.outcome if result and withheld.plan else outcome,
        reason=result.reason_text if result and not withheld.plan else "",
        score=result.score if result else None,
        withheld=withheld,
        record=record and record.model_copy(update=withheld.without()),
        graph=None,
    )


def _graph(task: Task, *, side: Side, rows: Sequence[AlignedStep], place: int) -> Graph | None:
    if side.record is None or not isinstance(side.record.plan, dict):
        return None
    suite, known = known_task(task)
    differing = (row.places[place] for row in rows if not row.is_in_all)
    graph = draw(
        plan=side.record.plan,
        catalogue=suite.catalogue if suite else None,
        resources={} if known is None else {name: str(kind) for name, kind in known.resources.items()},
        marks=Marks(differing={step: DIFFERING for step in differing if step is not None}),
        texts_inside=task.suite.has(Panel.INDICATORS),
    )
    return graph if graph.nodes else None


def _sample(task: Task, *, side: Side, number: int) -> ShownSample | None:
    if side.record is None or side.withheld.data:
        return None
    samples = [sample for sample in side.record.samples if sample.index == number - 1]
    if not samples:
        return None
    suite, _ = known_task(task)
    reading = stored_reading(split=side.evaluation.split)
    catalogue = suite.catalogue if suite else None
    return samples_page(samples=samples, number=None, reading=reading, catalogue=catalogue).samples[0]


def _transcript(side: Side, *, number: int) -> ShownTranscript | None:
    for transcript in side.record.transcripts if side.record else ():
        if transcript.sample == number - 1:
            return shown_transcript(transcript, label=f"{side.letter}, ")
    return None


def _row(row: AlignedStep, *, sides: Sequence[Side], shown: Sequence[ShownSample | None]) -> StepRow:
    cells: list[StepCell | None] = []
    for side, sample, place in zip(sides, shown, row.places, strict=True):
        if place is None:
            cells.append(None)
            continue
        step = side.steps[place]
        inputs = step.get("inputs")
        named = inputs.items() if isinstance(inputs, dict) else ()
        runs = {ran.run.step: ran for ran in (sample.steps if sample else ())}
        cells.append(StepCell(tuple((str(k), str(v)) for k, v in named), runs.get(str(step.get("id")))))
    return StepRow(row.tool, row.is_in_all, tuple(cells))


def _sentences(task: Task, *, rows: Sequence[AlignedStep], sides: Sequence[Side]) -> list[str]:
    if not any(side.steps for side in sides):
        return []
    if all(row.is_in_all for row in rows):
        _, known = known_task(task)
        resources = {} if known is None else {name: str(kind) for name, kind in known.resources.items()}
        plans = [side.record.plan for side in sides if side.record and isinstance(side.record.plan, dict)]
        first, *others = (flows(plan, resources=resources) for plan in plans)
        how = "connected in the same way" if all(plan == first for plan in others) else "connected in different ways"
        return [f"All plans have the same steps in the same order, {how}."]
    sentences = ["Steps that not every plan has."]
    for place, side in enumerate(sides):
        own = [row.tool for row in rows if row.places[place] is not None and not row.is_in_all]
        words = ", ".join(own) if own else "no step that another plan lacks" if side.steps else "no steps"
        sentences.append(f"{side.letter}: {words}.")
    return sentences


@require_safe
def task_across(request: HttpRequest, suite: str, key: str) -> HttpResponse:
    """One task across the evaluations of the query string, or the best ones of the board."""
    try:
        evaluations = _evaluations(request.GET.getlist("e"), suite=suite, reader=request.user)
    except NotComparableError as error:
        return render(request, "evaluations/compare/refused.html", {"problems": error.problems}, status=400)
    first = evaluations[0]
    task = get_object_or_404(Task.objects.select_related("suite"), suite=first.suite_id, key=key)
    for evaluation in evaluations:
        check_tasks(reader=request.user, of=evaluation)
    page = side_by_side(task=task, evaluations=evaluations, reader=request.user, sample=request.GET.get("sample"))
    offered = [row for row in best_of_board(first) if row["evaluation"] not in {str(one.pk) for one in evaluations}]
    context = {"suite": first.suite, "task": task, "page": page, "offered": offered, "most": MOST}
    response = render(request, "evaluations/side_by_side.html", context)
    for evaluation in evaluations:
        for_readers_of(evaluation.submission, response=response)
        not_shared(response, suite=evaluation.suite, split=evaluation.split)
    return response


def _evaluations(texts: list[str], *, suite: str, reader: Reader) -> list[Evaluation]:
    """The evaluations with these ids, or the first rows of the suite's board.

    Raises:
        Http404: there are no ids and the board is empty, or the evaluations are of another suite.
        NotComparableError: they cannot be shown side by side.
    """
    ids = read_ids([text for text in texts if text])
    if not ids:
        snapshot = latest_snapshot(suite=get_object_or_404(Suite, slug=suite, current=True))
        rows = () if snapshot is None else content_of(snapshot).rows
        ids = [UUID(row["evaluation"]) for row in rows[:USUAL]]
    if not ids:
        raise Http404("nothing was published on this board yet")
    if len(ids) > MOST:
        raise NotComparableError([f"These are {len(ids)} evaluations; at most {MOST} can be shown side by side."])
    evaluations = read_evaluations(ids, reader=reader)
    if evaluations[0].suite.slug != suite:
        raise Http404("these evaluations are of another suite")
    return evaluations
