"""Runs many chains at once: their calls are answered in one batch, and their plans are jobs of one engine.

The engine runs independent steps of a plan, and equal steps of several, in batches per expert; a failing step stops
only what needs it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.controlllm.chain.conversation import ChainConversation, Finished, Ran, Run, Want, hold
from evaluator.controlllm.chain.state import Entry, entry_of
from evaluator.controlllm.strategies import STRATEGIES
from evaluator.controlllm.strategies.strategy import ControlLLM
from evaluator.core.language_model import Answer, Call, Failure, LanguageModel, LanguageModelError
from evaluator.core.planner import PlannerRequest
from evaluator.core.records import ArtefactReference
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Value
from evaluator.execution.engine.jobs import Job, JobResult
from evaluator.execution.engine.run import Engine
from evaluator.planners.language_models.choosing import ModelNameError, language_model
from evaluator.planners.language_models.scripted import ScriptError
from evaluator.planners.strategies.registry import PlannerNameError, named_strategy, split_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRequest:
    """One request with its files."""

    request: PlannerRequest
    files: Mapping[str, Value]
    """By name, as `request.task.resources` has them."""
    sample: int = 0
    """Seeds of experts that draw random numbers depend on it."""


@dataclass(slots=True)
class _Held:
    conversation: ChainConversation
    resources: Mapping[str, ArtefactReference]
    sample: int
    want: Want | None = None
    end: Finished | LanguageModelError | None = None


class ChainRunner:
    """Runs chains of one strategy. Experts stay loaded between requests."""

    def __init__(self, *, strategy: ControlLLM, engine: Engine, model: LanguageModel | None = None) -> None:
        """Args:
        strategy: decomposes, searches and chooses.
        engine: runs the plans, with the experts of a profile.
        model: answers the calls of a strategy with a language model.
        """
        self._strategy = strategy
        self._engine = engine
        self._model = model

    def run(self, request: ChainRequest, *, correcting: bool = True, declining: bool = True) -> Finished:
        """Run one request.

        Raises:
            LanguageModelError: the language model failed.
        """
        (end,) = self.run_all([request], correcting=correcting, declining=declining)
        if isinstance(end, LanguageModelError):
            raise end
        return end

    def run_all(
        self, requests: Sequence[ChainRequest], *, correcting: bool = True, declining: bool = True
    ) -> list[Finished | LanguageModelError]:
        """Run many requests at once, each to its end or until the language model fails.

        Args:
            requests: what is asked.
            correcting: False runs each plan once, as it is.
            declining: False also runs subtasks that no tool is for.
        """
        held = [self._begin(request, correcting=correcting, declining=declining) for request in requests]
        for one in held:
            _go_on(one, reply=None)
        while waiting := [one for one in held if one.end is None]:
            self._answer([one for one in waiting if not isinstance(one.want, Run)])
            self._execute([one for one in waiting if isinstance(one.want, Run)])
        return [one.end for one in held if one.end is not None]

    def _begin(self, request: ChainRequest, *, correcting: bool, declining: bool) -> _Held:
        kept = {name: self._engine.keep(value) for name, value in request.files.items()}
        given = [
            entry_of(
                reference=name,
                kind=ResourceType(request.request.task.resources[name]),
                artefact=kept[name],
                value=value,
            )
            for name, value in request.files.items()
        ]
        conversation = hold(
            strategy=self._strategy, request=request.request, given=given, correcting=correcting, declining=declining
        )
        return _Held(conversation=conversation, resources=kept, sample=request.sample)

    def _answer(self, held: Sequence[_Held]) -> None:
        if not held:
            return
        calls: list[Call] = []
        counts = []
        for one in held:
            assert one.want is not None
            assert not isinstance(one.want, Run)
            counts.append(len(one.want))
            calls += one.want
        assert self._model is not None, "a strategy without a language model asks nothing"
        answers = iter(self._model.answer(calls))
        for one, count in zip(held, counts, strict=True):
            _go_on(one, reply=[next(answers) for _ in range(count)])

    def _execute(self, held: Sequence[_Held]) -> None:
        jobs = [
            Job(task=str(number), sample=one.sample, plan=one.want.plan, resources=one.resources)
            for number, one in enumerate(held)
            if isinstance(one.want, Run)
        ]
        for result in self._engine.run(jobs):
            _go_on(held[int(result.job.task)], reply=self._ran(result))

    def _ran(self, result: JobResult) -> Ran:
        plan = {step.id: step for step in result.job.plan.steps}
        made: list[Entry] = []
        for run in result.steps:
            tool = CONTROLLLM[run.tool]
            made += [
                entry_of(
                    reference=reference,
                    kind=tool.outputs[name],
                    artefact=run.outputs[name],
                    value=self._engine.value(run.outputs[name]),
                    maker=run.tool,
                )
                for name, reference in plan[run.step].outputs.items()
                if name in run.outputs
            ]
        failures = {failure.step: failure for failure in result.failures}
        return Ran(steps=result.steps, failures=failures, made=tuple(made))


def _go_on(one: _Held, *, reply: Sequence[Answer | Failure] | Ran | None) -> None:
    """Send a conversation its reply; a failure of the model ends the conversation."""
    try:
        if reply is None:
            one.want = next(one.conversation)
            return
        if isinstance(reply, Ran):
            one.want = one.conversation.send(reply)
            return
        answers: list[Answer] = []
        for answer in reply:
            if isinstance(answer, Failure):
                one.want = one.conversation.throw(LanguageModelError(answer))
                return
            answers.append(answer)
        one.want = one.conversation.send(answers)
    except StopIteration as end:
        one.end = end.value
    except LanguageModelError as error:
        one.end = error


def chain_planner(name: str) -> tuple[ControlLLM, LanguageModel | None]:
    """The strategy of a name such as `controlllm/adaptive` or `controlllm/beam:MODEL`, and its language model.

    Raises:
        PlannerNameError: there is no such strategy or model, or the strategy is not one of ControlLLM's.
    """
    _, model_name = split_name(name)
    strategy = named_strategy(name).strategy(with_model=model_name is not None)
    if not isinstance(strategy, ControlLLM):
        known = ", ".join(one.name for one in STRATEGIES)
        raise PlannerNameError(f"{name} has no chain of stages to run; those that have are {known}")
    try:
        return strategy, None if model_name is None else language_model(model_name)
    except (ModelNameError, ScriptError) as error:
        raise PlannerNameError(str(error).rstrip(".")) from error
