"""Runs many chains at once: their calls are one batch, and their plans are jobs of one engine.

The engine batches independent steps of a plan, and equal steps of several plans, per expert. A failed step stops only
the steps that need it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from evaluator.controlllm.chain.conversation import ChainConversation, Finished, Ran, Reply, Run, Want, hold
from evaluator.controlllm.chain.state import entry_of
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
from evaluator.planners.language_models.by_role import models_by_role
from evaluator.planners.language_models.choosing import ModelNameError, language_model
from evaluator.planners.language_models.scripted import ScriptError
from evaluator.planners.strategies.registry import PlannerNameError, named_strategy, split_roles


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRequest:
    """One request with its files."""

    request: PlannerRequest
    files: Mapping[str, Value]
    """By name, the keys of `request.task.resources`."""
    sample: int = 0
    """Part of the seeds of experts that use random numbers."""
    turn: int = 0
    """Number of the request in a dialogue; 0: it is a request of its own."""


@dataclass(slots=True)
class _Chain:
    conversation: ChainConversation
    resources: Mapping[str, ArtefactReference]
    sample: int
    want: Want | None = None
    end: Finished | LanguageModelError | None = None

    def resume(self, reply: Sequence[Answer | Failure] | Ran | None) -> None:
        """Send the conversation its reply; a failure of the model ends the conversation."""
        failure = None
        if reply is not None and not isinstance(reply, Ran):
            failure = next((answer for answer in reply if isinstance(answer, Failure)), None)
        try:
            if failure is not None:
                self.want = self.conversation.throw(LanguageModelError(failure))
            else:
                self.want = next(self.conversation) if reply is None else self.conversation.send(cast(Reply, reply))
        except StopIteration as end:
            self.end = end.value
        except LanguageModelError as error:
            self.end = error


class ChainRunner:
    """Runs chains of one strategy. Experts stay loaded between requests."""

    def __init__(self, *, strategy: ControlLLM, engine: Engine, model: LanguageModel | None = None) -> None:
        """Args:
        strategy: decomposes, searches and chooses.
        engine: runs the plans, with the experts of a profile.
        model: the language model, for strategies that use one.
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
            requests: the requests with their files.
            correcting: False runs each plan once, unchanged.
            declining: False lets likeness find a tool for any sentence.
        """
        chains = [self._begin(request, correcting=correcting, declining=declining) for request in requests]
        for chain in chains:
            chain.resume(None)
        while active := [chain for chain in chains if chain.end is None]:
            self._answer([chain for chain in active if not isinstance(chain.want, Run)])
            self._execute([chain for chain in active if isinstance(chain.want, Run)])
        return [chain.end for chain in chains if chain.end is not None]

    def _begin(self, request: ChainRequest, *, correcting: bool, declining: bool) -> _Chain:
        resources = {name: self._engine.keep(value) for name, value in request.files.items()}
        kinds = request.request.task.resources
        given = [
            entry_of(reference=name, kind=ResourceType(kinds[name]), artefact=resources[name], value=value)
            for name, value in request.files.items()
        ]
        conversation = hold(
            strategy=self._strategy, request=request.request, given=given, correcting=correcting, declining=declining,
            turn=request.turn,
        )  # fmt: skip
        return _Chain(conversation=conversation, resources=resources, sample=request.sample)

    def _answer(self, chains: Sequence[_Chain]) -> None:
        if not chains:
            return
        batches = [cast(Sequence[Call], chain.want) for chain in chains]
        assert self._model is not None, "a strategy without a language model makes no calls"
        answers = iter(self._model.answer([call for batch in batches for call in batch]))
        for chain, batch in zip(chains, batches, strict=True):
            chain.resume([next(answers) for _ in batch])

    def _execute(self, chains: Sequence[_Chain]) -> None:
        jobs = [
            Job(task=str(number), sample=chain.sample, plan=chain.want.plan, resources=chain.resources)
            for number, chain in enumerate(chains)
            if isinstance(chain.want, Run)
        ]
        for result in self._engine.run(jobs):
            chains[int(result.job.task)].resume(self._ran(result))

    def _ran(self, result: JobResult) -> Ran:
        plan = {step.id: step for step in result.job.plan.steps}
        made = tuple(
            entry_of(
                reference=reference,
                kind=CONTROLLLM[run.tool].outputs[name],
                artefact=run.outputs[name],
                value=self._engine.value(run.outputs[name]),
                maker=run.tool,
            )
            for run in result.steps
            for name, reference in plan[run.step].outputs.items()
            if name in run.outputs
        )
        return Ran(steps=result.steps, failures={failure.step: failure for failure in result.failures}, made=made)


def chain_planner(name: str) -> tuple[ControlLLM, LanguageModel | None]:
    """The strategy of a name such as `controlllm/adaptive` or `controlllm/beam:MODEL[,ROLE=MODEL]`, and its language
    model.

    Raises:
        PlannerNameError: there is no such strategy or model, or the strategy is not one of ControlLLM's.
    """
    entry = named_strategy(name)
    model_name, named = split_roles(name, roles=entry.role_names)
    strategy = entry.strategy(with_model=model_name is not None)
    if not isinstance(strategy, ControlLLM):
        known = ", ".join(strategy_class.name for strategy_class in STRATEGIES)
        raise PlannerNameError(f"{name} has no chain of stages to run; those that have are {known}")
    try:
        if model_name is None:
            return strategy, None
        roles = {role: language_model(other) for role, other in named.items()}
        return strategy, models_by_role(main=language_model(model_name), roles=roles)
    except (ModelNameError, ScriptError) as error:
        raise PlannerNameError(str(error).rstrip(".")) from error
