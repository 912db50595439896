"""In-memory records of reports, for the presenters and templates of the site's pages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from evaluator.core.records import ArtefactReference
from evaluator.scoring.metrics.aggregate import scores_of_samples
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.catalog.models import Suite, Task
from leaderboard.catalog.services import task_rows
from leaderboard.evaluations.results.figures import badge_of, mark_columns, never_ran
from leaderboard.evaluations.results.records import episodes_of, plan_summary, seconds_of
from leaderboard.evaluations.results.task_rows import (
    Result,
    Selection,
    TaskRow,
    modality_of,
    select,
    with_facts,
    with_result,
)
from leaderboard.evaluations.web.presenters import EvaluationPage, Gathered, Progress, gathered_from, page_of
from leaderboard.evaluations.web.reports.artefacts import FolderArtefacts
from leaderboard.evaluations.web.reports.reading import Report
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading, Shown
from leaderboard.evaluations.web.tasks.task_presenters import task_page
from leaderboard.evaluations.web.walk import query_of, walk_over
from leaderboard.evaluations.withheld import Withheld

NOT_KEPT = "(not kept with the report)"


@dataclass(frozen=True, slots=True)
class ReportPlanner:
    """The planner of a report, as the templates read one."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class ReportResult:
    """The result of a task, as the templates and `task_page` read one."""

    outcome: str
    reason: str
    reason_text: str
    score: float | None
    causes: Any
    plan_summary: str
    indicators: Mapping[str, float]
    record_digest: str = ""
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class ReportEvaluation:
    """The evaluation of a report, as the templates read one. It has ended."""

    pk: str
    """In addresses."""
    suite: Suite
    profile: str
    profile_digest: str
    split: str
    samples: int
    summary: Mapping[str, Any]
    state: str = "completed"
    get_state_display: str = "Completed"
    reason_text: str = ""


class IndexRow(NamedTuple):
    """A report in the list of reports."""

    pk: str
    planner: str
    suite: str
    label: str
    """Of the metric that boards rank by."""
    value: Mapping[str, Any] | None
    tasks: int
    file: str
    """Its name without folders."""


class _ReportReading(Reading):
    """Reads artefacts that a report may have been separated from."""

    def url(self, reference: ArtefactReference) -> str:
        return super().url(reference) if self.has(reference) else ""

    def show(
        self, *, name: str, reference: ArtefactReference, alt: str, over: ArtefactReference | None = None
    ) -> Shown:
        if self.has(reference):
            return super().show(name=name, reference=reference, alt=alt, over=over)
        return Shown(kind="text", name=name, url="", alt=alt, text=NOT_KEPT)

    def page(self, shown: Shown, *, reference: ArtefactReference) -> Shown:  # noqa: ARG002 - without frames
        """See `Reading`: pages of a report frame nothing."""
        return shown


@dataclass
class ShownReport:
    """A report with everything that its pages show."""

    pk: str
    """In addresses."""
    report: Report
    artefacts: FolderArtefacts
    url_of: Callable[[str], str]
    """Gives the URL of the artefact with a digest."""
    evaluation: ReportEvaluation = field(init=False)
    planner: ReportPlanner = field(init=False)

    def __post_init__(self) -> None:
        report = self.report
        self.planner = ReportPlanner(name=report.name)
        self.evaluation = ReportEvaluation(
            pk=self.pk,
            suite=report.suite,
            profile=report.profile,
            profile_digest=report.profile_digest,
            split=report.split,
            samples=report.samples,
            summary=report.summary,
        )

    @property
    def path(self) -> Path:
        """The file."""
        return self.report.path

    @property
    def index_row(self) -> IndexRow:
        """Its row in the list of reports."""
        column, summary = self.report.suite.ranking_column, self.report.summary
        return IndexRow(
            pk=self.pk,
            planner=self.report.name,
            suite=self.report.suite.title,
            label=column.label,
            value=ranged(metrics=summary["metrics"], column=column),
            tasks=len(self.report.records),
            file=self.path.name,
        )

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks of the report by key, in the suite's order, as unsaved rows."""
        rows = task_rows(self.report.library, row=self.report.suite)
        tasks = {row.key: row for row in rows if row.key in self.report.records}
        for task in tasks.values():
            task.gold = _as_stored(task.gold)
        return tasks

    @cached_property
    def lacks_artefacts(self) -> bool:
        """Whether plans were executed, but the folder has no artefacts of them."""
        samples = [sample for record in self.report.records.values() for sample in record.samples]
        return bool(samples) and not self.artefacts.exists()

    @cached_property
    def gathered(self) -> Gathered:
        """Everything that is computed from all tasks."""
        return gathered_from(self._rows, suite=self.report.suite, samples=self.report.samples)

    def page(self, parameters: Mapping[str, str]) -> EvaluationPage:
        """The page of the evaluation.

        Args:
            parameters: the query string: filters, `q`, `sort` and `page`.
        """
        gathered = self.gathered
        return page_of(
            gathered,
            selection=self._select(parameters),
            progress=Progress(done=gathered.done, total=gathered.total, counts=gathered.counts, is_moving=False),
            suite=self.report.suite,
            summary=self.report.summary,
            provenance=self.report.provenance,
            parameters=parameters,
        )

    def context(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The context of `evaluations/detail.html`."""
        return {
            **self._names,
            "page": self.page(parameters),
            "kept_query": query_of(suite=self.report.suite, parameters=parameters),
            "report": self.report,
            "lacks_artefacts": self.lacks_artefacts,
            "tasks_of_suite": len(self.report.library.tasks),
        }

    def task_context(self, key: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The context of `evaluations/task.html`.

        Args:
            key: of a task of the report.
            parameters: the query string: that of the evaluation's page, and `samples`.

        Raises:
            KeyError: the report has no such task.
        """
        task, record, result = self.tasks[key], self.report.records[key], self._result(key)
        if record.request:
            # Requests of other splits are phrased differently.
            task.text = record.request
        query = query_of(suite=self.report.suite, parameters=parameters)
        chosen = [row.key for row in self._select(parameters).rows] if query else []
        undecided = self.report.suite.ranking_column.undecided
        return {
            **self._names,
            "task": task,
            "result": result,
            "outcome": result.outcome,
            "badge": badge_of(outcome=result.outcome, plan_summary=result.plan_summary),
            "was_left_out": never_ran(outcome=result.outcome, reason=result.reason),
            "reason_text": result.reason_text,
            "score": result.score,
            "is_undecided": bool(result.indicators.get(undecided)),
            "walk": walk_over(chosen=chosen, keys=list(self.tasks), key=key, query=query),
            "page": task_page(
                task=task,
                result=result,
                record=record,
                record_url="",
                reading=_ReportReading(store=self.artefacts, url_of=self.url_of),
                split=self.report.split,
                withheld=Withheld(),
                samples=parameters.get("samples"),
            ),
        }

    @property
    def _names(self) -> dict[str, Any]:
        return {"evaluation": self.evaluation, "suite": self.report.suite, "planner": self.planner}

    def _select(self, parameters: Mapping[str, str]) -> Selection:
        return select(tasks=self.gathered.tasks, parameters=parameters)

    @cached_property
    def _rows(self) -> tuple[TaskRow, ...]:
        suite = self.report.suite
        modalities = {task.key: modality_of(task) for task in self.report.library.tasks}
        columns = mark_columns(suite.columns)
        return tuple(
            with_result(
                with_facts(
                    TaskRow(task.key, task.position, task.text, task.structure, task.metric),
                    attributes=task.attributes,
                    modality=modalities[task.key],
                    facets=suite.facets.filters,
                ),
                result=self._row_result(task.key),
                columns=columns,
                ranking=suite.ranking_column,
                withheld=Withheld(),
            )
            for task in self.tasks.values()
        )

    def _row_result(self, key: str) -> Result:
        record, result = self.report.records[key], self._result(key)
        return Result(
            outcome=result.outcome,
            reason=result.reason,
            reason_text=result.reason_text,
            score=result.score,
            sample_scores=scores_of_samples(record),
            indicators=result.indicators,
            episodes=episodes_of(record),
            causes=result.causes,
            seconds=seconds_of(record),
            plan_summary=result.plan_summary,
            updated=None,
        )

    def _result(self, key: str) -> ReportResult:
        record = self.report.records[key]
        return ReportResult(
            outcome=record.outcome.value,
            reason=record.reason or "",
            reason_text=record.reason_text,
            score=record.score,
            causes=None if self.report.findings is None else self.report.findings[key],
            plan_summary=plan_summary(record),
            indicators=record.indicators,
        )


def _as_stored(value: Any) -> Any:
    """A JSON value with the keys of objects in PostgreSQL's order: pages show the arguments of gold plans in it."""
    if isinstance(value, dict):
        return {key: _as_stored(value[key]) for key in sorted(value, key=lambda key: (len(key.encode()), key))}
    return [_as_stored(item) for item in value] if isinstance(value, list) else value
