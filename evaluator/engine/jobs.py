"""Jobs: one checked plan on one sample, and how far it has come."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from evaluator.plans.checks import execution_order
from evaluator.plans.model import Plan, Step
from evaluator.records import ArtefactReference, StepRun


@dataclass(frozen=True, slots=True)
class Job:
    """A plan that passed its checks, to be executed on one sample."""

    task: str
    sample: int
    plan: Plan
    resources: Mapping[str, ArtefactReference]
    """The request's resources by name, without the `$`."""


class FailureKind(StrEnum):
    """Whose fault a failed step is."""

    EXPERT = "expert"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A step that could not be executed."""

    kind: FailureKind
    step: str
    message: str


@dataclass(frozen=True, slots=True)
class JobResult:
    """What became of a job. `answer` is None exactly if `failure` is given."""

    job: Job
    answer: ArtefactReference | None
    steps: tuple[StepRun, ...]
    """The steps that were executed, found in the store, or failed; not those that waited for a failed one."""
    failure: StepFailure | None


@dataclass(slots=True)
class JobState:
    """How far a job has come; owned by the engine's run."""

    job: Job
    values: dict[str, ArtefactReference]
    waiting: dict[str, Step]
    """Steps that have not been started, in execution order."""
    running: set[str] = field(default_factory=set)
    done: dict[str, StepRun] = field(default_factory=dict)
    failures: list[StepFailure] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    """References that will never be made."""

    @classmethod
    def begin(cls, job: Job) -> "JobState":
        """The state before the first step."""
        values = {f"${name}": reference for name, reference in job.resources.items()}
        return cls(job=job, values=values, waiting={step.id: step for step in execution_order(job.plan)})

    def take_ready(self) -> Iterator[Step]:
        """Move each step whose inputs are all there from `waiting` to `running`, and yield it."""
        self._drop_lost()
        to_come = {ref for step in self.waiting.values() for ref in step.outputs.values()}
        to_come |= {ref for step_id in self.running for ref in self._step(step_id).outputs.values()}
        for step in [step for step in self.waiting.values() if to_come.isdisjoint(step.inputs.values())]:
            del self.waiting[step.id]
            self.running.add(step.id)
            yield step

    def finish_step(self, *, run: StepRun) -> None:
        """Record an executed step and make its outputs available."""
        step = self._step(run.step)
        self.running.discard(run.step)
        self.done[run.step] = run
        for name, reference in step.outputs.items():
            self.values[reference] = run.outputs[name]

    def fail_step(self, *, failure: StepFailure, run: StepRun) -> None:
        """Record a failed step; the steps that need it are given up, the others go on."""
        self.running.discard(failure.step)
        self.done[failure.step] = run
        self.failures.append(failure)
        self.lost.update(self._step(failure.step).outputs.values())

    @property
    def is_over(self) -> bool:
        return not self.waiting and not self.running

    def result(self) -> JobResult:
        """The result once the job is over."""
        runs = tuple(self.done[step.id] for step in self.job.plan.steps if step.id in self.done)
        answer = self.values.get(self.job.plan.answers[0])
        return JobResult(
            job=self.job,
            answer=answer,
            steps=runs,
            failure=None if answer is not None else self.failures[0],
        )

    def _drop_lost(self) -> None:
        """Give up the steps that need, directly or not, what a failed step did not make."""
        for step in list(self.waiting.values()):
            if not self.lost.isdisjoint(step.inputs.values()):
                del self.waiting[step.id]
                self.lost.update(step.outputs.values())

    def _step(self, step_id: str) -> Step:
        return next(step for step in self.job.plan.steps if step.id == step_id)
