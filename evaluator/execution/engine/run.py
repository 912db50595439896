"""The engine: executes many plans at once, each distinct pair of expert and inputs once, in batches per expert.

All jobs form one graph. Steps whose inputs are available are looked up in the store by their key; missing ones are
collected per tool, once per key. Then the tool with the smallest share of steps that lack an input runs all its calls,
in batches of equal image sizes. After every batch, the affected jobs advance: finished jobs are yielded, and steps that
became ready join the frontier.

If a batch does not fit into memory, idle experts are unloaded. If it still does not fit, the batch size is halved
permanently. The store key includes the batch size, since results may differ in the last bit between batch shapes.
"""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from evaluator.core.expert import Expert, ExpertError, ExpertSpec, InputError
from evaluator.core.plans.model import Step
from evaluator.core.records import ArtefactReference, StepRun
from evaluator.core.values import Value
from evaluator.execution.engine.artefacts import CACHE_BYTES, Artefacts, WritesBehind
from evaluator.execution.engine.frontier import CRASHES, BatchSizes, Frontier, Node, Shape, Sized, buckets, run_padded
from evaluator.execution.engine.jobs import (
    FailureKind,
    Job,
    JobResult,
    JobState,
    Outline,
    StepFailure,
    step_key,
    step_seed,
)
from evaluator.execution.engine.pool import Experts
from evaluator.execution.engine.progress import Listener, Stopwatch, Tracker, Work
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError, Store
from evaluator.execution.experts.devices import is_out_of_memory

MAX_PIXELS = 512 * 512
"""Limit of an expert's input images; a plan that exceeds it is at fault."""
_AHEAD = 32
"""Calls whose inputs are read before their sizes are asked for."""


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """An engine's time by activity."""

    loading: Stopwatch = field(default_factory=Stopwatch)
    """Loading experts."""
    experts: Stopwatch = field(default_factory=Stopwatch)
    """Running batches."""


class Engine:
    """Executes jobs with the experts of one pool through one store. Reduced batch sizes persist between runs."""

    def __init__(
        self,
        *,
        pool: Experts,
        store: Store,
        salt: str = "",
        listener: Listener | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        """Args:
        pool: the experts.
        store: the store of artefacts and executed steps.
        salt: salt of the suite, for the seeds of sampling experts.
        listener: receives progress after every batch.
        cache_bytes: size of the cache of decoded values.
        """
        self.pool = pool
        self.store = WritesBehind(store)
        self.salt = salt
        self.listener = listener
        self.artefacts = Artefacts(store=self.store, cache_bytes=cache_bytes)
        self.batch_sizes = BatchSizes()
        self.calls: Counter[str] = Counter()
        """Items that experts executed, by tool, since the engine was created."""
        self.spent = TimeSpent()
        self.work: defaultdict[str, Work] = defaultdict(Work)
        """By tool, since the engine was created."""
        self.reads_ahead = store.parallel_writes > 1 or pool.device_class["kind"] != "cpu"
        """Whether inputs are read and decoded beside experts: where they come from a bucket, or a card waits for them.
        For files that a CPU reads itself threads would only take its time."""
        self.running: str | None = None
        """The tool whose expert is loaded or runs at this moment."""

    def keep(self, value: Value) -> ArtefactReference:
        """Put a value into the store and return its reference."""
        return self.artefacts.keep(value)

    def value(self, reference: ArtefactReference) -> Value:
        """The value of a reference. It is shared: do not modify it."""
        return self.artefacts.value(reference)

    def run(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """As `run_together`, one result at a time."""
        for results in self.run_together(jobs):
            yield from results

    def run_together(self, jobs: Iterable[Job]) -> Iterator[Sequence[JobResult]]:
        """Execute the jobs and yield each when it is finished and everything that it names is written to the store,
        with all others that are. A failing call does not stop others.

        May be abandoned at any point: executed steps are in the store, and the next run continues from there.

        Raises:
            ValueError: a plan has a cycle, which `check_plan` would have reported.
            OSError: the store is not writable. Other errors of the store propagate.
        """
        with self.store.held():
            try:
                yield from _Run(engine=self, jobs=jobs).results()
            finally:
                self.artefacts.close()
                self.store.close()


@dataclass(frozen=True, slots=True)
class _StoredStep:
    """A step's outputs and the key under which they are stored."""

    key: str
    outputs: Mapping[str, ArtefactReference]


class _BatchEnd(Enum):
    """How a batch ended."""

    SETTLED = auto()
    CRASHED = auto()
    """An item crashed the expert; nothing is settled."""
    OUT_OF_MEMORY = auto()
    """Nothing is settled."""


class _Run:
    def __init__(self, *, engine: Engine, jobs: Iterable[Job]) -> None:
        self._engine = engine
        outlines: dict[int, Outline] = {}
        self._states: list[JobState] = []
        for job in jobs:
            # Jobs of one plan share its outline. They reference their plans, so ids are unique.
            outline = outlines.get(id(job.plan)) or outlines.setdefault(id(job.plan), Outline.of(job.plan))
            self._states.append(JobState.begin(job, outline=outline))
        self._open = len(self._states)
        self._outbox: deque[tuple[int, JobResult]] = deque()
        """Finished jobs, each with the number of writes that it waits for."""
        self._frontier = Frontier()
        self._known: dict[str, _StoredStep] = {}
        """By node key, the steps that this run looked up or executed."""
        self._keys: dict[tuple[object, ...], tuple[str, int | None]] = {}
        """By tool, inputs and sample, the node key and the seed: most calls belong to several jobs."""
        self._failed: dict[str, StepFailure] = {}
        """By node key, for this run only."""
        self._unloadable: dict[str, StepFailure] = {}
        """By tool."""
        for state in self._states:
            self._frontier.expect(state.job.plan.steps)
        steps = sum(len(state.job.plan.steps) for state in self._states)
        self._tracker = Tracker(frontier=self._frontier, steps=steps, jobs=self._open, listener=engine.listener)

    def results(self) -> Iterator[Sequence[JobResult]]:
        """The finished jobs, with those that are finished at the same time."""
        states, self._states = self._states, []
        self._advance(states)
        del states
        yield from self._written()
        while self._frontier:
            loaded = [tool for tool in self._frontier.pending_tools if self._engine.pool.is_loaded(tool)]
            tool = self._frontier.next_tool(loaded=loaded)
            self._tracker.report(tool)
            for nodes in self._run_tool(tool=tool, nodes=self._frontier.take(tool)):
                touched = {id(state): state for node in nodes for state, _ in node.waiters}
                self._advance(list(touched.values()))
                self._tracker.report(tool)
                yield from self._written()
        self._engine.store.flush()
        yield from self._written()
        if self._open:
            raise ValueError("a plan with a cycle was given to the engine")

    def _written(self) -> Iterator[Sequence[JobResult]]:
        """The finished jobs whose writes are complete, if any."""
        written: list[JobResult] = []
        while self._outbox and self._engine.store.written(self._outbox[0][0]):
            written.append(self._outbox.popleft()[1])
        if written:
            yield written

    def _advance(self, states: Sequence[JobState]) -> None:
        """Start ready steps, and put finished jobs into the outbox."""
        for state in states:
            for step in state.take_ready():
                self._start(state=state, step=step)
            if state.is_over:
                self._open -= 1
                self._tracker.job_over()
                self._outbox.append((self._engine.store.submitted, state.result()))

    def _start(self, *, state: JobState, step: Step) -> None:
        """Resolve a step from this run or the store, or queue it."""
        self._frontier.forget([step])
        self._tracker.step_ready(step.tool)
        inputs = {name: state.values.get(value) or self._engine.keep(value) for name, value in step.inputs.items()}
        node = self._node(spec=self._engine.pool.spec(step.tool), inputs=inputs, sample=state.job.sample)
        stored = self._known.get(node.key)
        if stored is None and not self._frontier.holds(node):
            stored = self._stored(node=node, size=node.spec.batch_size)
        if stored is not None:
            self._resolve(state=state, step=step, node=node, stored=stored)
        elif node.key in self._failed:
            self._fail(state=state, step=step, node=node)
        else:
            self._frontier.add(node=node, state=state, step=step)

    def _node(self, *, spec: ExpertSpec, inputs: Mapping[str, ArtefactReference], sample: int) -> Node:
        digests = {name: reference.digest for name, reference in inputs.items()}
        call = (spec.tool, frozenset(digests.items()), sample if spec.samples else None)
        if call not in self._keys:
            seed = step_seed(spec=spec, inputs=digests, salt=self._engine.salt, sample=sample)
            device = self._engine.pool.device_class
            key = step_key(spec=spec, inputs=digests, batch_size=spec.batch_size, device=device, seed=seed)
            self._keys[call] = key, seed
        key, seed = self._keys[call]
        return Node(spec=spec, key=key, inputs=inputs, seed=seed)

    def _key(self, *, node: Node, size: int) -> str:
        if size == node.spec.batch_size:
            return node.key
        digests = {name: reference.digest for name, reference in node.inputs.items()}
        device = self._engine.pool.device_class
        return step_key(spec=node.spec, inputs=digests, batch_size=size, device=device, seed=node.seed)

    def _stored(self, *, node: Node, size: int) -> _StoredStep | None:
        """The stored result of a node at a batch size, if any."""
        key = self._key(node=node, size=size)
        outputs = self._engine.store.get_step(key)
        if outputs is None:
            return None
        stored = self._known[node.key] = _StoredStep(key=key, outputs=outputs)
        return stored

    def _run_tool(self, *, tool: str, nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
        """Run all pending calls of a tool. Yields the settled nodes after each batch."""
        sized: list[Sized] = []
        for position, node in enumerate(nodes):
            if position % _AHEAD == 0:
                self._read_ahead(nodes[position : position + 2 * _AHEAD])
            try:
                extents = [self._engine.artefacts.extent(reference) for reference in node.inputs.values()]
            except (ObjectMissingError, ObjectDamagedError) as error:
                self._give_up(node=node, kind=FailureKind.EXPERT, message=str(error))
            else:
                shape: Shape = tuple(extent for extent in extents if isinstance(extent, tuple))
                too_large = next((size for size in shape if size[0] * size[1] > MAX_PIXELS), None)
                if too_large is None:
                    characters = sum(extent for extent in extents if isinstance(extent, int))
                    sized.append(Sized(node, () if node.spec.resizes else shape, characters=characters))
                    continue
                width, height = too_large
                message = f"{tool} was given {width}x{height} pixels; the engine works on at most {MAX_PIXELS} pixels"
                self._give_up(node=node, kind=FailureKind.LIMIT, message=message)
            yield [node]
        for shape, bucket in buckets(sized):
            yield from self._run_bucket(shape=shape, nodes=bucket)

    def _run_bucket(self, *, shape: Shape, nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
        """Run nodes of one tool and one shape, in batches as large as memory allows."""
        spec = nodes[0].spec
        todo = [list(nodes)]
        while todo:
            size = self._engine.batch_sizes.size(spec=spec, shape=shape)
            batch, rest = todo[0][:size], todo[0][size:]
            todo[:1] = [rest] if rest else []
            self._read_ahead(todo[0][:size] if todo else ())
            new = batch
            if size != spec.batch_size:
                # An earlier run may have executed some at this reduced batch size.
                new = []
                for node in batch:
                    if (stored := self._stored(node=node, size=size)) is None:
                        new.append(node)
                        continue
                    for state, step in node.waiters:
                        self._resolve(state=state, step=step, node=node, stored=stored)
            end = self._run_batch(nodes=new, size=size) if new else _BatchEnd.SETTLED
            if end is _BatchEnd.SETTLED:
                yield batch
            elif end is _BatchEnd.CRASHED:
                # Run the items one by one, so that a bad one does not fail the others.
                todo[:0] = [[node] for node in new]
                yield [node for node in batch if node not in new]
            elif self._engine.pool.unload_others(spec.tool) or self._engine.batch_sizes.halve(spec=spec, shape=shape):
                todo[:0] = [new]
                yield [node for node in batch if node not in new]
            else:
                message = f"{spec.tool} failed: the device's memory does not hold a batch of one item"
                self._give_up(node=batch[0], kind=FailureKind.MEMORY, message=message)
                yield batch

    def _read_ahead(self, nodes: Sequence[Node]) -> None:
        if self._engine.reads_ahead:
            self._engine.artefacts.read_ahead(reference for node in nodes for reference in node.inputs.values())

    def _run_batch(self, *, nodes: Sequence[Node], size: int) -> _BatchEnd:
        """Settle the nodes of a batch, unless it runs out of memory or one of several items crashes it."""
        spec = nodes[0].spec
        self._engine.running = spec.tool
        try:
            return self._run_loaded(nodes=nodes, size=size)
        finally:
            self._engine.running = None

    def _run_loaded(self, *, nodes: Sequence[Node], size: int) -> _BatchEnd:
        spec = nodes[0].spec
        expert = self._loaded(spec=spec, size=size)
        if expert is None:
            for node in nodes:
                failure = self._unloadable[spec.tool]
                self._give_up(node=node, kind=failure.kind, message=failure.message)
            return _BatchEnd.SETTLED
        try:
            items = [{name: self._engine.value(reference) for name, reference in node.inputs.items()} for node in nodes]
            seeds = [node.seed for node in nodes]
            with self._engine.spent.experts.running():
                started = time.perf_counter()
                outputs = run_padded(expert=expert, spec=spec, size=size, items=items, seeds=seeds)
                seconds = time.perf_counter() - started
        except (*CRASHES, ObjectDamagedError) as error:
            if is_out_of_memory(error):
                return _BatchEnd.OUT_OF_MEMORY
            if len(nodes) > 1:
                return _BatchEnd.CRASHED
            kind = FailureKind.INPUT if isinstance(error, InputError) else FailureKind.EXPERT
            self._give_up(node=nodes[0], kind=kind, message=f"{spec.tool} failed: {error}")
            return _BatchEnd.SETTLED
        self._tracker.executed(tool=spec.tool, calls=len(nodes), seconds=seconds)
        self._engine.calls[spec.tool] += len(nodes)
        self._engine.work[spec.tool].add(items=len(nodes), seconds=seconds)
        self._engine.artefacts.prepare(value for values in outputs for value in values.values())
        for node, values in zip(nodes, outputs, strict=True):
            self._finish(node=node, values=values, size=size, seconds=seconds / len(nodes))
        return _BatchEnd.SETTLED

    def _loaded(self, *, spec: ExpertSpec, size: int) -> Expert | None:
        """The expert, or None if it cannot be loaded. Not retried within a run."""
        if spec.tool in self._unloadable:
            return None
        before = self._engine.spent.loading.wall
        try:
            with self._engine.spent.loading.running():
                return self._engine.pool.expert(spec.tool, batch_size=size)
        except CRASHES as error:
            kind = FailureKind.MEMORY if is_out_of_memory(error) else FailureKind.EXPERT
            message = f"{spec.id} could not be loaded: {error}"
            self._unloadable[spec.tool] = StepFailure(kind=kind, step="", message=message)
            return None
        finally:
            self._engine.work[spec.tool].loading += self._engine.spent.loading.wall - before

    def _finish(self, *, node: Node, values: Mapping[str, Value], size: int, seconds: float) -> None:
        """Store an expert's outputs. They count as executed for the first waiting job, as cached for the others."""
        expected = {name for _, step in node.waiters for name in step.outputs}
        try:
            if not expected <= values.keys():
                raise ExpertError(f"{node.spec.id} gave no {', '.join(sorted(expected - values.keys()))}")
            outputs = {name: self._engine.keep(value) for name, value in values.items()}
        except (ExpertError, TypeError) as error:
            self._give_up(node=node, kind=FailureKind.EXPERT, message=f"{node.spec.tool} failed: {error}")
            return
        key = self._key(node=node, size=size)
        self._engine.store.put_step(key=key, outputs=outputs)
        stored = self._known[node.key] = _StoredStep(key=key, outputs=outputs)
        for position, (state, step) in enumerate(node.waiters):
            share = None if position else seconds
            self._resolve(state=state, step=step, node=node, stored=stored, seconds=share)

    def _resolve(
        self, *, state: JobState, step: Step, node: Node, stored: _StoredStep, seconds: float | None = None
    ) -> None:
        """Give a job the outputs of a step; without `seconds`, as cached."""
        self._tracker.steps_over(1)
        run = _step_run(step=step, node=node, stored=stored, seconds=seconds)
        state.finish_step(run=run)

    def _give_up(self, *, node: Node, kind: FailureKind, message: str) -> None:
        """Fail a node for all steps that wait for it."""
        self._failed[node.key] = StepFailure(kind=kind, step="", message=message)
        for state, step in node.waiters:
            self._fail(state=state, step=step, node=node)

    def _fail(self, *, state: JobState, step: Step, node: Node) -> None:
        failure = replace(self._failed[node.key], step=step.id)
        run = _step_run(
            step=step, node=node, stored=_StoredStep(key=node.key, outputs={}), seconds=0.0, error=failure.message
        )
        abandoned = state.fail_step(failure=failure, run=run)
        self._frontier.forget(abandoned)
        self._tracker.steps_over(1 + len(abandoned))


def _in_order(named: Mapping[str, ArtefactReference]) -> dict[str, ArtefactReference]:
    # Records must depend neither on the expert's order of outputs, nor on which plan with this call came first.
    return dict(sorted(named.items()))


def _step_run(
    *, step: Step, node: Node, stored: _StoredStep, seconds: float | None, error: str | None = None
) -> StepRun:
    # Without validation, since there are many and all values are trusted.
    return StepRun.model_construct(
        step=step.id,
        tool=step.tool,
        expert=node.spec.id,
        key=stored.key,
        inputs=_in_order(node.inputs),
        outputs=_in_order(stored.outputs),
        cached=seconds is None,
        seconds=round(seconds or 0.0, 6),
        error=error,
    )
