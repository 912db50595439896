"""One task across two to four planners: plans, steps, episodes, grids and scores of samples beside each other.

No reader sees more of a plan than on the page of its task.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evaluator.core.records import ResultRecord, SampleResult
from evaluator.core.suites.base import Panel
from leaderboard.boards.contents import content_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.gold import Withheld, check_tasks, not_shared, withheld_from
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.figures import badge_of
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.results.task_rows import PENDING
from leaderboard.evaluations.visibility import Reader
from leaderboard.evaluations.web.compare.services import (
    LETTERS,
    NotComparableError,
    best_of_board,
    read_evaluations,
    read_ids,
)
from leaderboard.evaluations.web.presenters import for_readers_of
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading, ShownValue
from leaderboard.evaluations.web.tasks.grids_shown import DrawnGrid, GridsPage, Pair, ShownCandidate, Verdict
from leaderboard.evaluations.web.tasks.plan_graph import DIFFERING, Graph, Marks, draw, flows
from leaderboard.evaluations.web.tasks.samples_shown import ShownSample, ShownStep, samples_page
from leaderboard.evaluations.web.tasks.task_presenters import known_task, task_grids
from leaderboard.evaluations.web.tasks.transcript_shown import ShownAction, ShownTranscript, ShownTurn, shown_transcript

MOST = 4
"""Most planners beside each other."""
USUAL = 3
"""The first rows of the board, if the address names no evaluations."""


class AlignedStep(NamedTuple):
    """Steps of the same tool that stand beside each other."""

    tool: str
    places: tuple[int | None, ...]
    """Place in each plan; None where a plan has no such step."""

    @property
    def is_in_all(self) -> bool:
        """Whether every plan has it."""
        return None not in self.places


def aligned(plans: Sequence[Sequence[str]]) -> list[AlignedStep]:
    """The steps of several plans, one row for each step that they share in this order.

    The longest runs of equal tools are matched first (Ratcliff and Metzener's gestalt matching), plan after plan
    against the rows so far.

    Args:
        plans: the tools of each plan, in the order of its steps.

    Returns:
        Rows in which each step of each plan comes once, and in the order of its plan.
    """
    rows: list[AlignedStep] = []
    for number, tools in enumerate(plans):
        rows = _with(rows, tools=tools, before=number)
    return rows


def _with(rows: Sequence[AlignedStep], *, tools: Sequence[str], before: int) -> list[AlignedStep]:
    matcher = SequenceMatcher(None, [row.tool for row in rows], list(tools), autojunk=False)
    found: list[AlignedStep] = []
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            pairs = zip(rows[start:end], range(first, last), strict=True)
            found += [AlignedStep(row.tool, (*row.places, place)) for row, place in pairs]
            continue
        found += [AlignedStep(row.tool, (*row.places, None)) for row in rows[start:end]]
        found += [AlignedStep(tools[place], (*(None,) * before, place)) for place in range(first, last)]
    return found


class ActionCell(NamedTuple):
    """One planner's action."""

    action: ShownAction | None
    """None in the first row of a turn that has other actions, or none."""
    turn: ShownTurn | None
    """Set in the first row of the turn only, where its subgoals and errors are shown."""


class ActionRow(NamedTuple):
    """Actions beside each other."""

    title: str
    differs: bool
    """Whether planners whose episodes are shown act differently."""
    cells: tuple[ActionCell | None, ...]


class Episodes(NamedTuple):
    """One episode of each planner."""

    transcripts: tuple[ShownTranscript | None, ...]
    """None where there is none, or where it is withheld."""
    rows: tuple[ActionRow, ...]
    left_out: int
    """Most turns of an episode that are not shown."""
    expected: ShownValue | None
    """The right answer."""
    sentence: str
    """Where the actions differ first; empty for fewer than two episodes."""


def episodes(transcripts: Sequence[ShownTranscript | None]) -> Episodes | None:
    """Lay out episodes on the same sample; None if there is no episode."""
    found = [one for one in transcripts if one is not None]
    if not found:
        return None
    rows: list[ActionRow] = []
    first = 0
    for number in range(1, max(len(one.turns) for one in found) + 1):
        rows += _rows_of_turn(transcripts, number=number)
        first = first or (number if any(row.differs for row in rows) else 0)
    return Episodes(
        transcripts=tuple(transcripts),
        rows=tuple(rows),
        left_out=max(one.turns_left_out for one in found),
        expected=next((one.expected for one in found if one.expected is not None), None),
        sentence=""
        if len(found) < 2
        else f"The actions first differ in turn {first}."
        if first
        else "All planners take the same actions.",
    )


def _rows_of_turn(transcripts: Sequence[ShownTranscript | None], *, number: int) -> list[ActionRow]:
    turns = [None if one is None or len(one.turns) < number else one.turns[number - 1] for one in transcripts]
    rows = aligned([[action.tool for action in turn.actions] if turn else [] for turn in turns])
    # Turns without any action have a row too: they may have errors.
    rows = rows or [AlignedStep("", (None,) * len(turns))]
    return [
        ActionRow(
            title=f"Turn {number}" if len(rows) == 1 else f"Turn {number}, action {place}",
            differs=_differs(transcripts, turns=turns, row=row),
            cells=tuple(_turn_cell(turn, at=at, opens=place == 1) for turn, at in zip(turns, row.places, strict=True)),
        )
        for place, row in enumerate(rows, start=1)
    ]


def _differs(
    transcripts: Sequence[ShownTranscript | None], *, turns: Sequence[ShownTurn | None], row: AlignedStep
) -> bool:
    """Whether two episodes have not the same action here, or one has ended. White space does not count."""
    actions = {
        None if turn is None else "" if place is None else " ".join(turn.actions[place].text.split())
        for transcript, turn, place in zip(transcripts, turns, row.places, strict=True)
        if transcript is not None
    }
    return len(actions) > 1


def _turn_cell(turn: ShownTurn | None, *, at: int | None, opens: bool) -> ActionCell | None:
    if turn is None or (at is None and not opens):
        return None
    return ActionCell(None if at is None else turn.actions[at], turn if opens else None)


class CandidateRow(NamedTuple):
    """Candidates beside each other."""

    title: str
    differs: bool
    """Whether planners that have one give different grids."""
    cells: tuple[ShownCandidate | None, ...]
    """Without the right outputs, which are shown once."""


class Candidates(NamedTuple):
    """The grids of a task, and of the results of several planners."""

    demonstrations: tuple[Pair, ...]
    tests: tuple[Pair, ...]
    key: Sequence[tuple[int, str]]
    """Each colour with its letter in programs."""
    expected: tuple[tuple[str, DrawnGrid], ...]
    """The right output of each test, by its name, where it is known."""
    final: tuple[CandidateRow, ...]
    tried: tuple[CandidateRow, ...]
    tried_left_out: int


def candidates(pages: Sequence[GridsPage | None], *, letters: Sequence[str]) -> Candidates | None:
    """Lay out the grids of several results; None if no result has any.

    Args:
        pages: of each planner, as the page of its task has them.
        letters: of the planners.
    """
    found = [page for page in pages if page is not None]
    if not found:
        return None
    given = next((page for page in found if page.demonstrations), found[0])
    tests = [one for page in found for candidate in page.final for one in candidate.tests]
    return Candidates(
        demonstrations=given.demonstrations,
        tests=given.tests,
        key=given.key,
        expected=tuple({one.name: one.expected for one in tests if one.expected is not None}.items()),
        final=_rows([page.final if page else () for page in pages], letters=letters, noun="Candidate"),
        tried=_rows([page.tried if page else () for page in pages], letters=letters, noun="Try"),
        tried_left_out=max(page.tried_left_out for page in found),
    )


def _rows(
    columns: Sequence[Sequence[ShownCandidate]], *, letters: Sequence[str], noun: str
) -> tuple[CandidateRow, ...]:
    return tuple(
        _board_row(
            [column[place] if place < len(column) else None for column in columns],
            letters=letters,
            title=f"{noun} {place + 1}",
        )
        for place in range(max(map(len, columns)))
    )


def _board_row(cells: Sequence[ShownCandidate | None], *, letters: Sequence[str], title: str) -> CandidateRow:
    outcomes = {tuple(_made(one.demonstrations, one.tests)) for one in cells if one is not None}
    return CandidateRow(
        title=title,
        differs=len(outcomes) > 1,
        cells=tuple(
            None if one is None else _shown(one, title=f"{letter}, {one.title}")
            for letter, one in zip(letters, cells, strict=False)
        ),
    )


def _made(*verdicts: Sequence[Verdict]) -> Iterable[tuple[str, str]]:
    """The outcome of each input, with the grid."""
    for one in (one for group in verdicts for one in group):
        yield one.status, one.output.text if one.output else ""


def _shown(candidate: ShownCandidate, *, title: str) -> ShownCandidate:
    return candidate._replace(
        title=title,
        demonstrations=tuple(one._replace(expected=None) for one in candidate.demonstrations),
        tests=tuple(one._replace(expected=None) for one in candidate.tests),
    )


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


@require_safe
def task_across(request: HttpRequest, suite: str, key: str) -> HttpResponse:
    """One task across the evaluations that the address names, or the best ones of the board."""
    try:
        evaluations = _evaluations(request.GET.getlist("e"), suite=suite, reader=request.user)
    except NotComparableError as error:
        return render(request, "evaluations/compare/refused.html", {"problems": error.problems}, status=400)
    first = evaluations[0]
    task = get_object_or_404(Task.objects.select_related("suite"), suite=first.suite_id, key=key)
    for one in evaluations:
        check_tasks(reader=request.user, of=one)
    page = side_by_side(task=task, evaluations=evaluations, reader=request.user, sample=request.GET.get("sample"))
    offered = [row for row in best_of_board(first) if row["evaluation"] not in {str(one.pk) for one in evaluations}]
    context = {"suite": first.suite, "task": task, "page": page, "offered": offered, "most": MOST}
    response = render(request, "evaluations/side_by_side.html", context)
    for one in evaluations:
        for_readers_of(one.submission, response=response)
        not_shared(response, suite=one.suite, split=one.split)
    return response


def _evaluations(texts: list[str], *, suite: str, reader: Reader) -> list[Evaluation]:
    """The named evaluations, or the first rows of the suite's board.

    Raises:
        Http404: none is named, and the board has no rows, or they are of another suite.
        NotComparableError: they cannot be shown beside each other.
    """
    ids = read_ids([text for text in texts if text]) or _best(suite)
    if not ids:
        raise Http404("nothing was published on this board yet")
    if len(ids) > MOST:
        raise NotComparableError([f"These are {len(ids)} evaluations; at most {MOST} can be beside each other."])
    found = read_evaluations(ids, reader=reader)
    if found[0].suite.slug != suite:
        raise Http404("these evaluations are of another suite")
    return found


def _best(slug: str) -> list[UUID]:
    suite = get_object_or_404(Suite, slug=slug, current=True)
    snapshot = latest_snapshot(suite=suite)
    rows = () if snapshot is None else content_of(snapshot).rows
    return [UUID(row["evaluation"]) for row in rows[:USUAL]]
