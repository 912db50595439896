"""Jobs (one checked plan on one sample), their progress, and the store key and seed of each step."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from evaluator.core import canonical_json
from evaluator.core.expert import ExpertSpec
from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import ArtefactReference, StepRun


@dataclass(frozen=True, slots=True)
class Job:
    """A checked plan to execute on one sample."""

    task: str
    sample: int
    plan: Plan
    resources: Mapping[str, ArtefactReference]
    """The request's resources by name, without the `$`."""


class FailureKind(StrEnum):
    """Why a step failed, which determines who is at fault."""

    EXPERT = "expert"
    MEMORY = "memory"
    """A batch of one exceeds the device's memory."""
    LIMIT = "limit"
    """The plan made an image that exceeds the engine's limit: the plan's fault."""
    INPUT = "input"
    """The plan gave an expert inconsistent inputs: the plan's fault."""


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A step that could not be executed."""

    kind: FailureKind
    step: str
    message: str


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job. `answers` is empty exactly if there is a `failure`."""

    job: Job
    answers: tuple[ArtefactReference, ...]
    """One for each answer of the plan, in order."""
    steps: tuple[StepRun, ...]
    """The steps that were executed, found in the store, or failed, without dependents of failed ones."""
    failure: StepFailure | None
    failures: tuple[StepFailure, ...] = ()
    """All failed steps in order of failure; `failure` is the first if an answer is missing."""

    @property
    def answer(self) -> ArtefactReference | None:
        """The first answer, if any."""
        return self.answers[0] if self.answers else None


@dataclass(frozen=True, slots=True)
class Outline:
    """The dependencies within a plan, shared by its jobs."""

    lacking: Mapping[str, int]
    """Step id to the number of inputs from other steps."""
    users: Mapping[str, Sequence[Step]]
    """Output reference to the steps that use it."""
    ready: Sequence[Step]
    """Steps without dependencies."""

    @classmethod
    def of(cls, plan: Plan) -> "Outline":
        outputs = {reference for step in plan.steps for reference in step.outputs.values()}
        # All other inputs are resources or literals.
        needed = {step.id: {value for value in step.inputs.values() if value in outputs} for step in plan.steps}
        users: dict[str, list[Step]] = {}
        for step in plan.steps:
            for reference in needed[step.id]:
                users.setdefault(reference, []).append(step)
        return cls(
            lacking={step: len(references) for step, references in needed.items()},
            users=users,
            ready=[step for step in plan.steps if not needed[step.id]],
        )


@dataclass(slots=True)
class JobState:
    """The state of a job in a run. The cost of a change depends only on the affected steps."""

    job: Job
    values: dict[str, ArtefactReference]
    ready: list[Step] = field(default_factory=list)
    """Steps whose inputs are available and that have not been started, in the order of becoming ready."""
    lacking: dict[str, int] = field(default_factory=dict)
    """Step id to the number of missing inputs; without abandoned and started steps."""
    users: dict[str, Sequence[Step]] = field(default_factory=dict)
    """Reference to the steps that use it, until it is available."""
    running: dict[str, Step] = field(default_factory=dict)
    done: dict[str, StepRun] = field(default_factory=dict)
    failures: list[StepFailure] = field(default_factory=list)

    @classmethod
    def begin(cls, job: Job, *, outline: Outline | None = None) -> "JobState":
        """The state before the first step."""
        outline = outline or Outline.of(job.plan)
        return cls(
            job=job,
            # As in `check_plan`, a plan may name a resource without "$".
            values={key: value for name, value in job.resources.items() for key in (f"${name}", name)},
            ready=list(outline.ready),
            lacking=dict(outline.lacking),
            users=dict(outline.users),
        )

    def take_ready(self) -> Iterator[Step]:
        """Start and yield each ready step, including steps that become ready meanwhile."""
        while self.ready:
            step = self.ready.pop(0)
            del self.lacking[step.id]
            self.running[step.id] = step
            yield step

    def finish_step(self, *, run: StepRun) -> None:
        """Record an executed step and make its outputs available."""
        step = self.running.pop(run.step)
        self.done[run.step] = run
        for name, reference in step.outputs.items():
            self.values[reference] = run.outputs[name]
            for user in self.users.pop(reference, ()):
                self.lacking[user.id] -= 1
                if self.lacking[user.id] == 0:
                    self.ready.append(user)

    def fail_step(self, *, failure: StepFailure, run: StepRun) -> list[Step]:
        """Record a failed step. Returns its direct and indirect dependents, which are abandoned."""
        step = self.running.pop(failure.step)
        self.done[failure.step] = run
        self.failures.append(failure)
        abandoned: list[Step] = []
        lost = list(step.outputs.values())
        while lost:
            for user in self.users.pop(lost.pop(), ()):
                # A step with two lost inputs is abandoned once.
                if self.lacking.pop(user.id, None) is not None:
                    abandoned.append(user)
                    lost += user.outputs.values()
        return abandoned

    @property
    def is_over(self) -> bool:
        return not self.lacking and not self.running

    def result(self) -> JobResult:
        """The result of a finished job."""
        runs = tuple(self.done[step.id] for step in self.job.plan.steps if step.id in self.done)
        answers = [self.values.get(answer) for answer in self.job.plan.answers]
        available = tuple(answer for answer in answers if answer is not None)
        complete = len(available) == len(answers)
        return JobResult(
            job=self.job,
            answers=available if complete else (),
            steps=runs,
            failure=None if complete else self.failures[0],
            failures=tuple(self.failures),
        )


def step_key(
    *, spec: ExpertSpec, inputs: Mapping[str, str], batch_size: int, device: Mapping[str, str], seed: int | None = None
) -> str:
    """SHA-256 over tool, expert, weights, code version, precision, parameters, device class, seed and inputs' digests.

    Includes the batch size, since on some devices results differ in the last bit between batch shapes. The engine pads
    shorter batches to one size.

    Args:
        spec: the expert's entry in the profile.
        inputs: argument name to the digest of its artefact.
        batch_size: size at which the expert runs: the profile's, or less if that exceeded the memory.
        device: the device class: results differ between classes (`evaluator.execution.experts.devices`).
        seed: seed of a sampling expert (`step_seed`); None for all others.
    """
    return canonical_json.digest(
        {
            "tool": spec.tool,
            "expert": spec.id,
            "weights": spec.weights_digest,
            "code": spec.code_version,
            "precision": spec.precision,
            "batch_size": batch_size,
            "device": dict(device),
            "parameters": dict(spec.parameters),
            "seed": seed,
            "inputs": dict(inputs),
            **({"uses": [used.facts() for used in spec.uses]} if spec.uses else {}),
        }
    )


def step_seed(*, spec: ExpertSpec, inputs: Mapping[str, str], salt: str, sample: int) -> int | None:
    """The seed of a step, in [0, 2**63), or None if its expert does not sample.

    Independent of the task: equal calls on one sample get the same artefact. Different samples get different seeds.

    Args:
        spec: the expert's entry in the profile.
        inputs: argument name to the digest of its artefact.
        salt: salt of the suite.
        sample: index of the sample.
    """
    if not spec.samples:
        return None
    facts = {"salt": salt, "inputs": dict(inputs), "tool": spec.tool, "expert": spec.id, "sample": sample}
    material = hashlib.sha256(canonical_json.dumps(facts).encode("utf-8")).digest()
    return int.from_bytes(material[:8], "big") & (2**63 - 1)
