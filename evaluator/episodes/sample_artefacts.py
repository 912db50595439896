"""The samples of an evaluation as artefacts: what many tasks share is made and stored once."""

from collections.abc import Mapping

from evaluator.core.records import ArtefactReference
from evaluator.core.suites.base import Task
from evaluator.core.suites.samples import SampleSource, SharingSource
from evaluator.execution.engine.run import Engine


class KeptSamples:
    """Inputs and references of a source, put into the engine's store when first asked for."""

    def __init__(self, *, source: SampleSource, engine: Engine) -> None:
        self._source = source
        self.digest = source.digest
        """Identifies the data."""
        self._sharing = source if isinstance(source, SharingSource) else None
        self._engine = engine
        self._inputs: dict[tuple[str, int], Mapping[str, ArtefactReference]] = {}
        self._references: dict[tuple[str, int], ArtefactReference] = {}

    def inputs(self, *, task: Task, index: int) -> Mapping[str, ArtefactReference]:
        """The request's resources for one sample, by name."""
        key = (task.key if self._sharing is None else self._sharing.inputs_key(task=task), index)
        if key not in self._inputs:
            values = self._source.inputs(task=task, index=index)
            self._inputs[key] = {name: self._engine.keep(value) for name, value in values.items()}
        return self._inputs[key]

    def forget(self) -> None:
        """Store everything again when next asked: some of it may not have been stored."""
        self._inputs.clear()
        self._references.clear()

    def reference(self, *, task: Task, index: int) -> ArtefactReference:
        """What a right answer looks like."""
        key = (task.key if self._sharing is None else self._sharing.reference_key(task=task), index)
        if key not in self._references:
            self._references[key] = self._engine.keep(self._source.reference(task=task, index=index))
        return self._references[key]
