"""Context of the task page: the stored record of one task, with its plan as a drawing and its artefacts."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from evaluator.core.plans.abstaining import reason_received
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import ABSTENTION, Panel
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.base import Task as LibraryTask
from evaluator.core.suites.facets import MODALITY, STRUCTURE
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import StopReason
from evaluator.scoring.readability import Label, split_notes
from leaderboard.catalog.models import Task
from leaderboard.evaluations.causes import RAN, read_findings
from leaderboard.evaluations.results.figures import sentence_in_place_of_steps
from leaderboard.evaluations.results.filters import in_words
from leaderboard.evaluations.results.task_rows import modality_of, raw_values, words_of
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading
from leaderboard.evaluations.web.tasks.faults_shown import Faults, ShownFault, faults_of
from leaderboard.evaluations.web.tasks.grids_shown import GridsPage, grids_page
from leaderboard.evaluations.web.tasks.marks_shown import given_marks
from leaderboard.evaluations.web.tasks.plan_graph import Differences, Graph, Marks, differences, draw
from leaderboard.evaluations.web.tasks.planning_presenters import (
    CallLine,
    NoteBlock,
    PlanningPage,
    calls,
    further_figures,
    note_blocks,
    planning_page,
    step_problems,
)
from leaderboard.evaluations.web.tasks.samples_shown import (
    SamplesPage,
    StepTotal,
    samples_page,
    score_in_words,
    step_totals,
)
from leaderboard.evaluations.web.tasks.transcript_shown import (
    MOST_TRANSCRIPTS,
    GoldSolution,
    ShownTranscript,
    gold_solution,
    shown_transcripts,
    with_faults,
)
from leaderboard.evaluations.withheld import Withheld

MAX_RECEIVED = 20_000
"""Maximum number of characters of the planner's response on the page; the record has all of it."""
FAILED_WHEN_RUN = "failed when run"
_TYPE_CONFLICTS = frozenset({"type_conflict", "answer_type"})


class TaskPage(NamedTuple):
    """The part of the page that depends on the record."""

    facts: tuple[tuple[str, str], ...]
    """Facts about the task: label and words."""
    record: ResultRecord | None
    labels: tuple[Label, ...]
    """What was tolerated around the plan."""
    tolerated: tuple[str, ...]
    """What else was tolerated, in free texts."""
    record_missing: bool
    """Whether the row names a record that the store does not have."""
    graph: Graph | None
    """None without a plan, or if there is nothing to draw."""
    no_steps: str
    """A sentence in place of the plan's steps, if it has none."""
    abstention_reason: str
    """Why the planner abstained, in its own words; empty if it did not, or gave no reason."""
    gold: Graph | None
    differences: Differences | None
    """Differences from the gold plan, if both plans are shown."""
    samples: SamplesPage | None
    steps: tuple[StepTotal, ...]
    """Totals of the steps over all samples."""
    faults: Faults | None
    """Why it is below the gold score, by place; empty at the gold score. None if it is not known, and for tasks that
    have not run."""
    explains: bool
    """Whether there are faults of the planner to show; those of the site are a notice."""
    calls: tuple[CallLine, ...]
    """The steps of the plan as text, each with its faults; empty if the drawing shows all."""
    figures: tuple[tuple[str, str, str], ...]
    """For suites that execute plans: names and values of further figures of the plan."""
    score_words: str
    """How the score follows from the samples."""
    received: str
    received_left_out: int
    """Number of characters of the planner's response that are not shown."""
    withheld: Withheld
    hides_plans: bool
    """Whether plans are withheld because of the suite rather than the planner."""
    record_url: str
    """URL of the record; empty if it is withheld."""
    planning: PlanningPage | None
    """For suites that judge plans."""
    grids: GridsPage | None
    """For suites with grids."""
    transcripts: tuple[ShownTranscript, ...]
    """For suites in turns."""
    transcripts_left_out: int
    gold_solution: GoldSolution | None
    """For suites in turns, if the reader may see it."""
    notes: tuple[NoteBlock, ...]
    """How a strategy came to the plan. As public as the plan: a planner never sees the data of a sample."""


class TaskOutcome(Protocol):
    """What the page needs of a task's row."""

    @property
    def outcome(self) -> str:
        """An `Outcome`."""
        ...

    @property
    def causes(self) -> Any:
        """`StoredFindings`; None if they are not known."""
        ...


def task_page(
    *,
    task: Task,
    result: TaskOutcome | None,
    record: ResultRecord | None,
    record_url: str,
    reading: Reading,
    split: str,
    withheld: Withheld,
    samples: str | None = None,
    has_present_rules: bool = False,
) -> TaskPage:
    """Assemble the page without withheld parts and without anything that would reveal them: without the gold plan there
    are no goal, reasons of the judge or differences, and without the data no scores of samples.

    Args:
        task: of the suite.
        result: its outcome; None before it has one.
        record: of the result; None without one, or if it is lost.
        record_url: URL of the record; empty if there is none.
        reading: reads the record's artefacts.
        split: of the evaluation.
        withheld: parts that the reader may not see.
        samples: number of the page of samples from the query string.
        has_present_rules: whether plans were judged by the rules and the network of this release.
    """
    is_lost = bool(record_url) and record is None
    record = record and record.model_copy(update=withheld.without())
    open_record = None if withheld.data else record
    judged = task.suite.has(Panel.INDICATORS)
    library, library_task = known_task(task)
    drawing = _Drawing(suite=library, task=library_task, judged=judged)
    gold = None if withheld.gold else task.gold
    differs = drawing.differences(record=record, gold=gold)
    received, no_steps, reason = "", "", None
    figures: tuple[tuple[str, str, str], ...] = ()
    if record is not None:
        sent = record.plan_received
        received = sent if isinstance(sent, str) else json.dumps(sent, indent=2, ensure_ascii=False)
        if not (judged or withheld.gold):
            figures = further_figures(suite=task.suite, indicators=record.indicators, explanations=record.explanations)
        if isinstance(record.plan, dict):
            # In turns there may be no action for many reasons; the transcript gives them.
            may_abstain = not record.transcripts or record.transcripts[0].stop is StopReason.ABSTAINED
            if may_abstain and not (record.plan.get("steps") or withheld.data or withheld.plan):
                # The reason of an abstention, perhaps empty; None if the planner did not abstain.
                reason = reason_received(record.plan_received)
            if may_abstain:
                no_steps = sentence_in_place_of_steps(
                    plan=record.plan,
                    outcome=record.outcome or "",
                    judged=judged,
                    abstained=reason is not None,
                    is_right=record.metric == ABSTENTION,
                )
    sample_page = None
    if open_record is not None and open_record.samples:
        sample_page = samples_page(
            samples=open_record.samples,
            number=samples,
            reading=reading,
            catalogue=library.catalogue if library else None,
            marks=given_marks(library_task.values_given) if library_task is not None and split != HIDDEN else {},
        )
    transcripts = shown_transcripts(record) if record else ()
    plan: Mapping[str, Any] = record.plan if record is not None and isinstance(record.plan, dict) else {}
    known = read_findings(result.causes, withheld=withheld) if result is not None and result.outcome in RAN else None
    faults = None
    if known is not None:
        steps = {step["id"] for step in plan.get("steps") or ()}
        faults = faults_of(known, steps=steps, turns=max((len(one.turns) for one in transcripts), default=0))
    by_step = faults.by_step if faults is not None else {}
    labels, tolerated = split_notes(record.tolerated if record is not None else ())
    return TaskPage(
        facts=tuple(_facts(task=task, modality="" if library_task is None else modality_of(library_task))),
        record=record,
        labels=labels,
        tolerated=tolerated,
        record_missing=is_lost,
        graph=drawing.plan(record=record, differs=differs, faults=by_step),
        no_steps=no_steps,
        abstention_reason=reason or "",
        gold=drawing.gold(gold=gold, differs=differs),
        differences=differs,
        samples=sample_page,
        steps=step_totals(open_record) if open_record else (),
        faults=faults,
        explains=bool(known) and result is not None and result.outcome != Outcome.INFRA_FAULT,
        calls=calls(plan, faults=by_step) if judged or by_step else (),
        figures=figures,
        score_words=score_in_words(open_record) if open_record else "",
        received=received[:MAX_RECEIVED],
        received_left_out=max(0, len(received) - MAX_RECEIVED),
        withheld=withheld,
        hides_plans=withheld.data and (judged or task.suite.has(Panel.GRIDS)),
        record_url=record_url if open_record and not withheld.plan else "",
        planning=_planning(
            task=task, result=result, record=record, withheld=withheld, has_present_rules=has_present_rules
        )
        if judged
        else None,
        grids=task_grids(task=task, record=record, split=split, withheld=withheld),
        transcripts=with_faults(transcripts, faults=faults) if faults is not None else transcripts,
        transcripts_left_out=max(0, len(record.transcripts) - MOST_TRANSCRIPTS) if record else 0,
        gold_solution=gold_solution(gold) if record and record.transcripts else None,
        notes=note_blocks(record.planner_notes) if record else (),
    )


def task_grids(*, task: Task, record: ResultRecord | None, split: str, withheld: Withheld) -> GridsPage | None:
    """The grids of a task and of its candidates. A hidden task has different grids from the public one of its key."""
    if not task.suite.has(Panel.GRIDS) or withheld.data or withheld.plan:
        return None
    suite, known = known_task(task)
    return grids_page(
        given=known.values_given if known is not None and split != HIDDEN else {},
        record=record,
        tools=suite.candidates.tools if suite is not None and suite.candidates is not None else (),
    )


def _planning(
    *,
    task: Task,
    result: TaskOutcome | None,
    record: ResultRecord | None,
    withheld: Withheld,
    has_present_rules: bool,
) -> PlanningPage:
    library, library_task = known_task(task)
    return planning_page(
        task=task,
        library=library_task,
        defined=library.defects if library else (),
        record=record,
        outcome=result.outcome if result is not None else "",
        shows_gold=not withheld.gold,
        has_present_rules=has_present_rules,
    )


def _facts(*, task: Task, modality: str) -> Iterator[tuple[str, str]]:
    known = {**task.attributes, STRUCTURE.name: task.structure, MODALITY.name: modality}
    for facet in task.suite.facets.named(task.suite.facets.facts):
        if values := raw_values(facet=facet, attributes=known):
            words = list(values) if facet.name == STRUCTURE.name else list(map(words_of(facet), values))
            label = f"{facet.label}s" if isinstance(known.get(facet.attribute), list) else facet.label
            yield label, ", ".join([words[0], *map(str.lower, words[1:])])


def known_task(task: Task) -> tuple[LibrarySuite | None, LibraryTask | None]:
    """Suite and task of this release; None if it does not have the registered version."""
    try:
        suite = suite_of(task.suite.slug)
        return suite, suite.task(task.key) if suite.digest == task.suite.digest else None
    except LookupError:
        return None, None


def drawn_plan(*, task: Task, record: ResultRecord) -> Graph | None:
    """An executed plan as its task page draws it, without comparison with a gold plan."""
    library, library_task = known_task(task)
    return _Drawing(suite=library, task=library_task, judged=False).plan(record=record, differs=None)


class _Drawing:
    """Draws the plans of one task."""

    def __init__(self, *, suite: LibrarySuite | None, task: LibraryTask | None, judged: bool) -> None:
        self._suite = suite
        self._judged = judged
        self._resources: dict[str, str] = {}
        self._expects = ""
        if task is not None:
            self._resources = {name: str(kind) for name, kind in task.resources.items()}
            self._expects = "" if task.expects is None else str(task.expects)

    def differences(self, *, record: ResultRecord | None, gold: Mapping[str, Any] | None) -> Differences | None:
        if record is None or not isinstance(record.plan, dict) or not gold:
            return None
        return differences(plan=record.plan, gold=gold, resources=self._resources)

    def plan(
        self,
        *,
        record: ResultRecord | None,
        differs: Differences | None,
        faults: Mapping[str, tuple[ShownFault, ...]] = MappingProxyType({}),
    ) -> Graph | None:
        if record is None or not isinstance(record.plan, dict):
            return None
        judged = step_problems(record=record, suite=self._suite) if self._judged and self._suite else {}
        # Steps, and None for the answer.
        conflicts = {step for step, problem in judged.items() if problem.is_type_conflict}
        conflicts |= {problem.step for problem in record.problems if problem.code in _TYPE_CONFLICTS}
        problems = {step: problem.words for step, problem in judged.items()}
        if not self._judged:
            # The first problem of each step, and whether it failed when it was run.
            for problem in record.problems:
                problems.setdefault(problem.step, in_words(problem.code))
            for sample in record.samples:
                problems |= {run.step: FAILED_WHEN_RUN for run in sample.steps if run.error}
        for step, (first, *_) in faults.items():
            problems.setdefault(step, first.label.lower())
        marks = Marks(
            problems=problems,
            conflicts=frozenset(conflicts),
            differing=differs.extra if differs else {},
            expects=self._expects,
        )
        graph = self._draw(record.plan, marks=marks)
        return graph if graph.nodes else None

    def gold(self, *, gold: Mapping[str, Any] | None, differs: Differences | None) -> Graph | None:
        return self._draw(gold, marks=Marks(differing=differs.missing if differs else {})) if gold else None

    def _draw(self, plan: Mapping[str, Any], *, marks: Marks) -> Graph:
        return draw(
            plan=plan,
            catalogue=self._suite.catalogue if self._suite else None,
            resources=self._resources,
            marks=marks,
            texts_inside=self._judged,
        )
