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
    """A plan that passed its checks, to be executed on one sample."""

    task: str
    sample: int
    plan: Plan
    resources: Mapping[str, ArtefactReference]
    """The request's resources by name, without the `$`."""


class FailureKind(StrEnum):
    """Why a step failed, and so whose fault it is."""

    EXPERT = "expert"
    MEMORY = "memory"
    """The device's memory does not even hold a batch of one."""
    LIMIT = "limit"
    """The plan made an image larger than the engine works on: the plan's fault."""
    INPUT = "input"
    """The plan gave an expert inputs that do not go together: the plan's fault."""


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A step that could not be executed."""

    kind: FailureKind
    step: str
    message: str


@dataclass(frozen=True, slots=True)
class JobResult:
    """What became of a job. `answers` is empty exactly if `failure` is given."""

    job: Job
    answers: tuple[ArtefactReference, ...]
    """One for each answer of the plan, in order."""
    steps: tuple[StepRun, ...]
    """The steps that were executed, found in the store, or failed; not those that waited for a failed one."""
    failure: StepFailure | None
    failures: tuple[StepFailure, ...] = ()
    """Every step that failed, in the order in which they did; `failure` is the first, where an answer is missing."""

    @property
    def answer(self) -> ArtefactReference | None:
        """The first answer; None if there is none."""
        return self.answers[0] if self.answers else None


@dataclass(frozen=True, slots=True)
class Outline:
    """What needs what in a plan: the same for all of its jobs, and never changed by them."""

    lacking: Mapping[str, int]
    """Step id to the number of inputs that other steps make."""
    users: Mapping[str, Sequence[Step]]
    """Reference that a step makes to the steps that need it."""
    ready: Sequence[Step]
    """Steps that need no other."""

    @classmethod
    def of(cls, plan: Plan) -> "Outline":
        """The outline of a plan."""
        outputs = {reference for step in plan.steps for reference in step.outputs.values()}
        # What no step makes is a resource or a literal.
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
    """How far a job has come; owned by the engine's run. Every change costs only the steps that it concerns."""

    job: Job
    values: dict[str, ArtefactReference]
    ready: list[Step] = field(default_factory=list)
    """Steps whose inputs are there and that have not been started, in the order in which they became ready."""
    lacking: dict[str, int] = field(default_factory=dict)
    """Step id to the number of its inputs that are still to be made; given up and started steps are not in it."""
    users: dict[str, Sequence[Step]] = field(default_factory=dict)
    """Reference to the steps that need it, until it is made."""
    running: dict[str, Step] = field(default_factory=dict)
    done: dict[str, StepRun] = field(default_factory=dict)
    failures: list[StepFailure] = field(default_factory=list)

    @classmethod
    def begin(cls, job: Job, *, outline: Outline | None = None) -> "JobState":
        """The state before the first step.

        Args:
            job: the job.
            outline: its plan's, if known.
        """
        outline = outline or Outline.of(job.plan)
        return cls(
            job=job,
            # A plan may name a resource without "$", as `check_plan` reads it.
            values={key: made for name, made in job.resources.items() for key in (f"${name}", name)},
            ready=list(outline.ready),
            lacking=dict(outline.lacking),
            users=dict(outline.users),
        )

    def take_ready(self) -> Iterator[Step]:
        """Start each step whose inputs are all there, also those that become ready meanwhile, and yield it."""
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
        """Record a failed step; return the steps that are given up because they need it, directly or not."""
        step = self.running.pop(failure.step)
        self.done[failure.step] = run
        self.failures.append(failure)
        return self._give_up_users(step)

    @property
    def is_over(self) -> bool:
        return not self.lacking and not self.running

    def result(self) -> JobResult:
        """The result once the job is over."""
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

    def _give_up_users(self, step: Step) -> list[Step]:
        given_up: list[Step] = []
        lost = list(step.outputs.values())
        while lost:
            for user in self.users.pop(lost.pop(), ()):
                # A step that lacks two lost inputs is given up once.
                if self.lacking.pop(user.id, None) is not None:
                    given_up.append(user)
                    lost += user.outputs.values()
        return given_up


def step_key(
    *,
    spec: ExpertSpec,
    inputs: Mapping[str, str],
    batch_size: int,
    device: Mapping[str, str],
    seed: int | None = None,
) -> str:
    """SHA-256 over tool, expert, weights, code version, precision, parameters, device class, seed and inputs' digests.

    The batch size is part of it: on some devices results differ in the last bit between batch shapes, so that the
    engine runs every batch at one size (shorter batches are padded).

    Args:
        spec: the expert's line in the profile.
        inputs: argument name to the digest of its artefact.
        batch_size: the size that the expert runs at: the profile's, or less where that did not fit into memory.
        device: the class of the device: another class computes other bytes (`evaluator.execution.experts.devices`).
        seed: of a sampling expert, see `step_seed`; None for all others.
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

    Of the task it knows nothing: tasks that ask for the same on the same sample get the same artefact. Two samples
    with equal inputs get different ones.

    Args:
        spec: the expert's line in the profile.
        inputs: argument name to the digest of its artefact.
        salt: the suite's.
        sample: index of the sample.
    """
    if not spec.samples:
        return None
    facts = {"salt": salt, "inputs": dict(inputs), "tool": spec.tool, "expert": spec.id, "sample": sample}
    material = hashlib.sha256(canonical_json.dumps(facts).encode("utf-8")).digest()
    return int.from_bytes(material[:8], "big") & (2**63 - 1)
