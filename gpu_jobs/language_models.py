"""The language model of the planner that a worker works for: one at a time, kept for further leases, in a sandboxed
process of its own."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.core.records import PlannerCall, Reason
from evaluator.planners.language_models import ModelError, ModelUnusableError
from gpu_jobs.checkpoints import CheckpointError, Checkpoints
from gpu_jobs.contract import CheckpointPlanner, HubPlanner, Lease, Phase
from gpu_jobs.heartbeats import CurrentPhase
from gpu_jobs.hub_cache import HubCache
from gpu_jobs.model_server.client import NoServerFreeError
from gpu_jobs.model_server.opening import Delivers, ModelOpener, OpenedModel, submitted_model_opener
from gpu_jobs.planners import LeaseRefusedError, LeaseReturnedError

if TYPE_CHECKING:
    from evaluator.core.planner import Planner, PlannerError, PlannerReply, PlannerRequest
    from evaluator.core.suites.base import Suite

logger = logging.getLogger(__name__)

ModelPlanner = HubPlanner | CheckpointPlanner
_LONGEST_PROBLEM = 600


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no language model."""

    reason: Reason
    sentence: str


class LanguageModels:
    """Loads the language models that leases name."""

    def __init__(
        self,
        *,
        device: str,
        checkpoints: Checkpoints | None,
        hub: str | None = None,
        cache: HubCache | None = None,
        phase: CurrentPhase | None = None,
        opener: ModelOpener | None = None,
    ) -> None:
        """Args:
        device: torch device.
        checkpoints: where uploaded ones come from; None: this worker takes none.
        hub: address of the model hub; None: as its client is set.
        cache: where models of the hub are kept; None: in its client's own folder.
        phase: is told when a model is fetched, and when it is loaded.
        opener: loads models; None: in the sandbox that this machine has.
        """
        self._phase = phase or CurrentPhase()
        self._cache = cache
        self._device = device
        self._checkpoints = checkpoints
        self._hub = hub
        self._name = ""
        self._opener = opener
        self._found: OpenedModel | Problem | None = None

    def planner(self, *, lease: Lease, wanted: ModelPlanner, suite: "Suite") -> "Planner":
        """The planner of a lease: the strategy with its model, or, if there is none, one that says why for each task.

        Raises:
            LeaseRefusedError: this worker does not know the strategy.
            LeaseReturnedError: no model server is free.
        """
        from evaluator.planners.driving import strategy_planner_of
        from evaluator.planners.strategies.registry import PlannerNameError, strategy_of

        name = f"{wanted.strategy}:{_name(wanted)}"
        try:
            entry = strategy_of(name=name, suite=suite)
        except PlannerNameError as error:
            raise LeaseRefusedError(f"{error}.") from error
        found = self._model(lease=lease, wanted=wanted)
        if isinstance(found, Problem):
            return UnaskablePlanner(name=name, problem=found)
        return strategy_planner_of(strategy=entry.strategy(with_model=True), model=found, name=name)

    def _model(self, *, lease: Lease, wanted: ModelPlanner) -> OpenedModel | Problem:
        """The model, loaded now or before. What could not be fetched is tried again for the next lease."""
        if self._found is None or self._name != _name(wanted) or _may_pass(self._found):
            self._release()
            self._name = _name(wanted)
            self._found = self._loaded(lease=lease, wanted=wanted)
        return self._found

    def let_go(self) -> None:
        """End the model if its server is shared with other workers, of which one may wait for it."""
        if isinstance(self._opener, Delivers) and self._opener.is_shared:
            self._release()

    def _release(self) -> None:
        """End the server of the model before: two side by side might not fit into memory."""
        if self._found is not None and not isinstance(self._found, Problem):
            self._found.close()
        self._found = None

    def _loaded(self, *, lease: Lease, wanted: ModelPlanner) -> OpenedModel | Problem:
        from evaluator.sandbox.admission.rules import ModelRefusedError

        logger.info("loading the language model %s", _shown(wanted))
        folder: Path | None = None
        try:
            with self._held(wanted) as cache:
                self._phase.enter(Phase.FETCHING)
                folder = self._fetched(lease=lease, wanted=wanted, cache=cache)
                _refuse_unfit(folder)
                opener = self._its_opener()
                if isinstance(opener, Delivers):
                    opener.deliver(folder)
                self._phase.enter(Phase.LOADING)
                source: dict[str, Any] = wanted.model_dump(mode="json", exclude={"strategy", "bytes"})
                return opener(folder, name=_name(wanted), device=self._device, source=source)
        except NoServerFreeError as error:
            # Where a cluster is full, its pods may wait for days.
            raise LeaseReturnedError(str(error)) from error
        except (ModelUnusableError, ModelRefusedError) as error:
            problem = Problem(Reason.MODEL_UNUSABLE, _sentence(error, folder=folder, name=_shown(wanted)))
        except (ModelError, CheckpointError, OSError, MemoryError) as error:
            problem = Problem(Reason.MODEL_UNAVAILABLE, _sentence(error, folder=folder, name=_shown(wanted)))
        logger.warning("%s", problem.sentence)
        return problem

    def _held(self, wanted: ModelPlanner) -> AbstractContextManager[Path | None]:
        """A context in which a hub's model stays on the disk, with the folder that it is fetched into."""
        if self._cache is None or not isinstance(wanted, HubPlanner):
            return nullcontext()
        return self._cache.held(wanted.model_id)

    def _fetched(self, *, lease: Lease, wanted: ModelPlanner, cache: Path | None) -> Path:
        """The folder with the model's files."""
        if isinstance(wanted, HubPlanner):
            return self._of_hub(wanted, cache=cache)
        if self._checkpoints is None:
            raise LeaseRefusedError("this worker takes no uploaded checkpoints.")
        return self._checkpoints.folder(lease, wanted)

    def _of_hub(self, wanted: HubPlanner, *, cache: Path | None) -> Path:
        from evaluator.planners.language_models.fetching import MOST_BYTES, fetch_model

        limit = None if self._cache is None else self._cache.most_bytes
        found = fetch_model(
            repo=wanted.model_id,
            revision=wanted.commit,
            endpoint=self._hub,
            cache=cache,
            most_bytes=MOST_BYTES if limit is None else limit,
        )
        if found.commit != wanted.commit:
            raise ModelError(f"the hub gave the commit {found.commit[:12]} of {wanted.model_id}, not {wanted.commit}.")
        return found.folder

    def _its_opener(self) -> ModelOpener:
        if self._opener is None:
            self._opener = submitted_model_opener()
        return self._opener


class UnaskablePlanner:
    """Ends every task with the reason why there is no language model (`BatchPlanner`)."""

    def __init__(self, *, name: str, problem: Problem) -> None:
        self.name = name
        self._problem = problem

    def plan(self, request: "PlannerRequest") -> "PlannerReply":
        """See `Planner.plan`."""
        del request
        raise self._error()

    def plan_all(self, requests: "Iterable[PlannerRequest]") -> "Iterator[tuple[int, PlannerReply | PlannerError]]":
        """See `BatchPlanner.plan_all`."""
        for index, _ in enumerate(requests):
            yield index, self._error()

    def _error(self) -> "PlannerError":
        from evaluator.core.planner import PlannerError

        call = PlannerCall(seconds=0.0)
        return PlannerError(reason=self._problem.reason, message=self._problem.sentence, received=None, call=call)


def _refuse_unfit(folder: Path) -> None:
    """The hub's files were looked at before they were fetched, and not since."""
    from evaluator.sandbox.admission.rules import CONFIG, INDEX, read_config, shards_named

    read_config((folder / CONFIG).read_bytes())
    if (folder / INDEX).is_file():
        shards_named((folder / INDEX).read_bytes(), name=INDEX)


def _name(wanted: ModelPlanner) -> str:
    if isinstance(wanted, HubPlanner):
        return f"hf:{wanted.model_id}@{wanted.commit}"
    return f"checkpoint:{wanted.digest}"


def _shown(wanted: ModelPlanner) -> str:
    """For people."""
    if isinstance(wanted, HubPlanner):
        return f"{wanted.model_id}@{wanted.commit[:12]}"
    return f"checkpoint {wanted.digest[:12]}"


def _may_pass(found: OpenedModel | Problem) -> bool:
    """Whether the next lease may find it better: what was not there now, and a model whose server is gone."""
    if isinstance(found, Problem):
        return found.reason is Reason.MODEL_UNAVAILABLE
    return found.is_broken


def _sentence(error: Exception, *, folder: Path | None, name: str) -> str:
    """Why, for everybody to read: without where the worker keeps its files."""
    text = str(error) or type(error).__name__
    if folder is not None:
        text = text.replace(f"in {folder}", name).replace(str(folder), name)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_PROBLEM else f"{text[:_LONGEST_PROBLEM]}…"
