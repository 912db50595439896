"""The engine: executes many plans at once, every distinct (expert, inputs) once, in batches per expert.

All jobs given form one graph. Steps whose inputs are there are looked up in the store by their key; what is not there
is collected per tool, once per key however many jobs ask for it. Then the tool that is most complete (fewest steps
still to come for it) runs everything it has, in batches of equal image sizes.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from evaluator.engine.jobs import FailureKind, Job, JobResult, JobState, StepFailure
from evaluator.engine.keys import step_key
from evaluator.engine.pool import Experts
from evaluator.engine.store import ObjectDamagedError, ObjectMissingError, Store
from evaluator.experts.protocol import Expert, ExpertError, ExpertSpec
from evaluator.plans.model import Step
from evaluator.records import ArtefactReference, StepRun
from evaluator.values import Value, decode, encode

MAX_PIXELS = 512 * 512
"""An expert is not given an image with more pixels; a plan that makes one is at fault."""


@dataclass(slots=True)
class _Node:
    """One distinct call, with everybody who waits for it."""

    key: str
    inputs: dict[str, ArtefactReference]
    waiters: list[tuple[JobState, Step]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Item:
    """A node with its decoded inputs."""

    node: _Node
    values: Mapping[str, Value]

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        return tuple(value.size for value in self.values.values() if not isinstance(value, str))


class Engine:
    """Executes jobs with the experts of one pool through one store."""

    def __init__(self, *, pool: Experts, store: Store) -> None:
        self._pool = pool
        self._store = store
        self.calls: Counter[str] = Counter()
        """Items that experts really worked on, by tool, since the engine was made."""

    def keep(self, value: Value) -> ArtefactReference:
        """Put a value into the store and return its reference."""
        artefact = encode(value)
        return ArtefactReference(digest=self._store.put(artefact), media_type=artefact.media_type)

    def value(self, reference: ArtefactReference) -> Value:
        """The value that a reference names, read from the store."""
        return decode(self._store.get(reference.digest))

    def run(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """Execute the jobs and yield each as soon as it is over. One failing call never stops the others."""
        states = {id(state): state for state in map(JobState.begin, jobs)}
        pending: dict[str, dict[str, _Node]] = {}
        failed: dict[str, StepFailure] = {}
        touched: Iterable[JobState] = list(states.values())
        while states:
            for state in touched:
                self._advance(state=state, pending=pending, failed=failed)
            for state in [state for state in states.values() if state.is_over]:
                del states[id(state)]
                yield state.result()
            if pending:
                tool = _next_tool(pending=pending, states=states.values())
                touched = self._run_tool(tool=tool, nodes=list(pending.pop(tool).values()), failed=failed)

    def _advance(
        self, *, state: JobState, pending: dict[str, dict[str, _Node]], failed: Mapping[str, StepFailure]
    ) -> None:
        """Resolve what the store has; queue what must be executed."""
        progressed = True
        while progressed:
            progressed = False
            for step in list(state.take_ready()):
                inputs = {name: self._resolve(state, value) for name, value in step.inputs.items()}
                spec = self._pool.spec(step.tool)
                key = step_key(spec=spec, inputs={name: item.digest for name, item in inputs.items()})
                outputs = self._store.get_step(key)
                if outputs is not None:
                    state.finish_step(run=_step_run(step, spec, key, inputs, outputs, cached=True, seconds=0.0))
                    progressed = True
                elif key in failed:
                    _fail(state=state, step=step, spec=spec, node=_Node(key, inputs), failure=failed[key])
                    progressed = True
                else:
                    node = pending.setdefault(step.tool, {}).setdefault(key, _Node(key, inputs))
                    node.waiters.append((state, step))

    def _resolve(self, state: JobState, value: str) -> ArtefactReference:
        return state.values.get(value) or self.keep(value)

    def _run_tool(self, *, tool: str, nodes: list[_Node], failed: dict[str, StepFailure]) -> list[JobState]:
        """Run everything a tool has to do; return the jobs that may go on."""
        spec = self._pool.spec(tool)
        ready = []
        for node in nodes:
            try:
                item = self._decode(node)
            except (ObjectMissingError, ObjectDamagedError) as error:
                self._give_up(node=node, spec=spec, kind=FailureKind.EXPERT, message=str(error), failed=failed)
                continue
            too_large = next((size for size in item.sizes if size[0] * size[1] > MAX_PIXELS), None)
            if too_large is None:
                ready.append(item)
                continue
            width, height = too_large
            message = f"{tool} was given {width}x{height} pixels; the engine works on at most {MAX_PIXELS} pixels"
            self._give_up(node=node, spec=spec, kind=FailureKind.LIMIT, message=message, failed=failed)
        try:
            expert = self._pool.expert(tool)
        except (ExpertError, OSError, RuntimeError, ValueError, LookupError) as error:
            for item in ready:
                message = f"{spec.id} could not be loaded: {error}"
                self._give_up(node=item.node, spec=spec, kind=FailureKind.EXPERT, message=message, failed=failed)
            ready = []
        for batch in _batches(items=ready, size=spec.batch_size):
            self._run_batch(expert=expert, spec=spec, batch=batch, failed=failed)
        return list({id(state): state for node in nodes for state, _ in node.waiters}.values())

    def _decode(self, node: _Node) -> _Item:
        return _Item(node, {name: decode(self._store.get(ref.digest)) for name, ref in node.inputs.items()})

    def _run_batch(
        self, *, expert: Expert, spec: ExpertSpec, batch: Sequence[_Item], failed: dict[str, StepFailure]
    ) -> None:
        started = time.perf_counter()
        try:
            outputs = _run_padded(expert=expert, size=spec.batch_size, batch=batch)
        except (ExpertError, RuntimeError, ValueError, MemoryError) as error:
            if len(batch) == 1:
                message = f"{spec.tool} failed: {error}"
                self._give_up(node=batch[0].node, spec=spec, kind=FailureKind.EXPERT, message=message, failed=failed)
                return
            # One bad item must not cost the others of its batch: find it.
            for item in batch:
                self._run_batch(expert=expert, spec=spec, batch=[item], failed=failed)
            return
        seconds = (time.perf_counter() - started) / len(batch)
        self.calls[spec.tool] += len(batch)
        for item, values in zip(batch, outputs, strict=True):
            self._finish(node=item.node, spec=spec, values=values, seconds=seconds)

    def _finish(self, *, node: _Node, spec: ExpertSpec, values: Mapping[str, Value], seconds: float) -> None:
        kept = {name: self.keep(value) for name, value in values.items()}
        self._store.put_step(key=node.key, outputs=kept)
        (first_state, first_step), *others = node.waiters
        first = _step_run(first_step, spec, node.key, node.inputs, kept, cached=False, seconds=seconds)
        first_state.finish_step(run=first)
        for state, step in others:
            state.finish_step(run=_step_run(step, spec, node.key, node.inputs, kept, cached=True, seconds=0.0))

    def _give_up(
        self, *, node: _Node, spec: ExpertSpec, kind: FailureKind, message: str, failed: dict[str, StepFailure]
    ) -> None:
        for state, step in node.waiters:
            failure = StepFailure(kind=kind, step=step.id, message=message)
            failed[node.key] = failure
            _fail(state=state, step=step, spec=spec, node=node, failure=failure)


def _next_tool(*, pending: Mapping[str, Mapping[str, _Node]], states: Iterable[JobState]) -> str:
    """The tool for which the smallest share of its calls is still to come; then the one with most to do."""
    coming = Counter(step.tool for state in states for step in state.waiting.values())

    def completeness(tool: str) -> tuple[float, int]:
        there = sum(len(node.waiters) for node in pending[tool].values())
        return there / (there + coming[tool]), there

    return max(pending, key=completeness)


def _batches(*, items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    by_sizes = sorted(items, key=lambda item: item.sizes)
    for _, group in groupby(by_sizes, key=lambda item: item.sizes):
        same = list(group)
        for start in range(0, len(same), size):
            yield same[start : start + size]


def _run_padded(*, expert: Expert, size: int, batch: Sequence[_Item]) -> list[Mapping[str, Value]]:
    """Run at the one batch size of the expert, so that results do not depend on who shares the batch."""
    values = [item.values for item in batch]
    padded = values + [values[-1]] * (size - len(values))
    return expert.run(padded)[: len(values)]


def _fail(*, state: JobState, step: Step, spec: ExpertSpec, node: _Node, failure: StepFailure) -> None:
    own = StepFailure(kind=failure.kind, step=step.id, message=failure.message)
    run = _step_run(step, spec, node.key, node.inputs, {}, cached=False, seconds=0.0)
    state.fail_step(failure=own, run=run.model_copy(update={"error": failure.message}))


def _step_run(
    step: Step,
    spec: ExpertSpec,
    key: str,
    inputs: Mapping[str, ArtefactReference],
    outputs: Mapping[str, ArtefactReference],
    *,
    cached: bool,
    seconds: float,
) -> StepRun:
    return StepRun(
        step=step.id,
        tool=step.tool,
        expert=spec.id,
        key=key,
        inputs=dict(inputs),
        outputs={name: outputs[name] for name in outputs},
        cached=cached,
        seconds=round(seconds, 6),
    )
