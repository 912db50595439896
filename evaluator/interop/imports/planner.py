"""An imported run as a planner: its plans are executed or judged here like those of any other."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.plans_file import GivenPlan
from evaluator.core.records import PlannerCall, Reason, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.episodes.parts import not_run_records
from evaluator.interop.imports.bounded_files import file_bytes, json_of, sha256_of
from evaluator.interop.imports.reading import read_run
from evaluator.interop.imports.run import VERSION, ImportDocument, RunError

_WHY = "The imported run has no answer to this request."


class ImportedPlans:
    """Answers each task of the run with its plan. Tasks without one are not asked for (`missing`)."""

    def __init__(
        self,
        *,
        name: str,
        source: Mapping[str, JsonValue],
        plans: Mapping[str, GivenPlan],
        usage: Mapping[str, Mapping[str, int]],
    ) -> None:
        """
        Args:
            name: of the planner in reports.
            source: what the run says about itself.
            plans: by task.
            usage: token counts by task.
        """
        self.name, self.source = name, source
        self._plans, self._usage = plans, usage

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """The plan of the run."""
        call = PlannerCall(seconds=0.0).model_copy(update=self._usage.get(request.task.id, {}))
        given = self._plans.get(request.task.id)
        if given is None:
            raise PlannerError(reason=Reason.NO_PLAN, message=_WHY, call=call)
        return PlannerReply(plan=given.plan, call=call)

    def missing(self, *, suite: Suite, keys: Sequence[str]) -> list[ResultRecord]:
        """Records `not_run` of the tasks without an answer.

        Args:
            suite: as planners see it.
            keys: of the tasks that are evaluated.
        """
        tasks = suite.asked(keys)
        left_out = {
            task.key: (Reason.NOT_IN_RUN, _WHY) for task in tasks if (task.asked_as or task.key) not in self._plans
        }
        return list(not_run_records(suite=suite, tasks=tasks, reasons=left_out))


def import_document(path: Path, *, suite: Suite) -> dict[str, Any]:
    """The document `import/1` of a run.

    Raises:
        RunError: it cannot be imported; the message says what is wrong and where.
    """
    tasks = {task.asked_as or task.key for task in suite.tasks}
    run = read_run(path, tasks=tasks)
    plans = run.plans().plans
    return run.to_json(suite=suite.slug, file_sha256=sha256_of(path), missing=sorted(tasks - set(plans)))


def read_imported(path: Path, *, suite: Suite) -> ImportedPlans:
    """A run, or the document that `planarena import` made of one.

    Raises:
        RunError: it is neither, or is about another suite.
    """
    document: Any = None
    if path.is_file() and path.suffix == ".json":
        document = json_of(file_bytes(path), where=str(path))
    if not isinstance(document, Mapping) or document.get("version") != VERSION:
        document = import_document(path, suite=suite)
    found = ImportDocument.of(document)
    if found.suite != suite.slug:
        raise RunError(f"{path} was imported for the suite {found.suite!r}, not {suite.slug!r}: import the run again.")
    model = str(found.source.get("model") or "")
    return ImportedPlans(name=model or path.name, source=found.source, plans=found.plans, usage=found.usage)
