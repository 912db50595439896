"""The language models of a worker's planner, each in a sandboxed process and reused for further leases: one, or one for
each role of its strategy."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.core.records import PlannerCall, Reason
from evaluator.planners.language_models import ModelError, ModelUnusableError
from gpu_jobs.checkpoints import CheckpointError, Checkpoints
from gpu_jobs.contract import (
    BundledModel,
    ChatModel,
    ChatPlanner,
    CheckpointModel,
    CheckpointPlanner,
    EndpointPlanner,
    HubModel,
    HubPlanner,
    Lease,
    Phase,
    RoleModel,
    RolesPlanner,
)
from gpu_jobs.heartbeats import CurrentPhase
from gpu_jobs.hub_cache import HubCache
from gpu_jobs.model_server.client import NoServerFreeError
from gpu_jobs.model_server.opening import Delivers, ModelOpener, OpenedModel, submitted_model_opener
from gpu_jobs.planners import (
    Header,
    HeldLease,
    LeaseRefusedError,
    LeaseReturnedError,
    called_model,
    roles_of,
    strategy_of_lease,
    strategy_planner,
)

if TYPE_CHECKING:
    from evaluator.core.language_model import LanguageModel
    from evaluator.core.planner import Planner, PlannerError, PlannerReply, PlannerRequest
    from evaluator.core.suites.base import Suite
    from evaluator.planners.strategies.registry import StrategyEntry

logger = logging.getLogger(__name__)

LoadedModel = HubModel | CheckpointModel
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
        checkpoints: source of uploaded checkpoints; None: leases with them are refused.
        hub: address of the model hub; None: the default of its client.
        cache: cache of the hub's models; None: the folder of its client.
        phase: set when a model is downloaded and when it is loaded.
        opener: loads models; None: in this machine's sandbox.
        """
        self._phase = phase or CurrentPhase()
        self._cache = cache
        self._device = device
        self._checkpoints = checkpoints
        self._hub = hub
        self._opener = opener
        self._models: dict[str, OpenedModel | Problem] = {}

    @contextmanager
    def planner(self, *, lease: HeldLease, suite: "Suite") -> "Iterator[Planner]":
        """The planner of a lease: the strategy with its models, or without one of them a planner that fails every task
        with the reason. A failed download is retried for the next lease.

        Raises:
            LeaseRefusedError: this worker does not know the strategy or one of its roles or models.
            LeaseReturnedError: no model server is free.
        """
        message = lease.planner
        assert isinstance(message, ChatPlanner | HubPlanner | CheckpointPlanner | RolesPlanner)
        entry = strategy_of_lease(message, suite=suite)
        self._release_all_but(lease)
        try:
            main, roles = self._models_of(message, entry=entry, lease=lease)
        except LeaseReturnedError:
            # Another worker may hold the server that this one waits for, and wait for one that this one holds.
            for name in list(self._models):
                self._release(name)
            raise
        if isinstance(main, Problem):
            yield UnavailablePlanner(name=message.strategy, problem=main)
            return
        with strategy_planner(entry, model=main, roles=roles) as planner:
            yield planner

    def _models_of(
        self,
        message: ChatPlanner | HubPlanner | CheckpointPlanner | RolesPlanner,
        *,
        entry: "StrategyEntry",
        lease: HeldLease,
    ) -> "tuple[LanguageModel | Problem, dict[str, LanguageModel]]":
        """The main model and those of roles; the first problem, if any, takes the place of the main one.

        Where every role has a model, that of the first role is the main one, as in the planner's name.
        """
        main: LanguageModel | Problem | None = None
        if not isinstance(message, RolesPlanner):
            main = self._model_of(message, lease=lease, header=lease.header)
        roles: dict[str, LanguageModel] = {}
        for role in (name for name in entry.role_names if name in message.roles):
            if isinstance(main, Problem):
                break
            opened = self._model_of(message.roles[role], lease=lease, header=lease.role_headers.get(role))
            if isinstance(opened, Problem):
                main = Problem(opened.reason, f"Role {role}: {opened.sentence}")
            elif main is None:
                main = opened
            else:
                roles[role] = opened
        if main is None:
            raise LeaseRefusedError(f"the lease has no language model for {message.strategy}.")
        return main, roles

    def _model_of(self, message: RoleModel, *, lease: HeldLease, header: Header) -> "LanguageModel | Problem":
        if isinstance(message, ChatModel | EndpointPlanner):
            return called_model(message, header)
        if isinstance(message, BundledModel):
            return _bundled_model(message, device=self._device)
        return self._opened(lease=lease, message=message)

    def _opened(self, *, lease: Lease, message: LoadedModel) -> OpenedModel | Problem:
        name = _name(message)
        model = self._models.get(name)
        if model is not None and _may_pass(model):
            self._release(name)
            model = None
        if model is None:
            model = self._models[name] = self._load(lease=lease, message=message)
        return model

    def release_shared(self) -> None:
        """Close the models if their server is shared with other workers, which may wait for it."""
        if isinstance(self._opener, Delivers) and self._opener.is_shared:
            for name in list(self._models):
                self._release(name)

    def _release_all_but(self, lease: Lease) -> None:
        """Close the models that this lease does not need: memory may not suffice for them and its own."""
        models = (lease.planner, *roles_of(lease).values())
        needed = {_name(model) for model in models if isinstance(model, LoadedModel)}
        for name in self._models.keys() - needed:
            self._release(name)

    def _release(self, name: str) -> None:
        model = self._models.pop(name)
        if not isinstance(model, Problem):
            model.close()

    def _load(self, *, lease: Lease, message: LoadedModel) -> OpenedModel | Problem:
        from evaluator.sandbox.admission.rules import ModelRefusedError

        logger.info("loading the language model %s", _shown(message))
        folder: Path | None = None
        held: AbstractContextManager[Path | None] = nullcontext()
        if self._cache is not None and isinstance(message, HubModel):
            held = self._cache.held(message.model_id)
        try:
            with held as cache:
                self._phase.enter(Phase.FETCHING)
                folder = self._fetched(lease=lease, message=message, cache=cache)
                _refuse_unfit(folder)
                if self._opener is None:
                    self._opener = submitted_model_opener()
                if isinstance(self._opener, Delivers):
                    self._opener.deliver(folder)
                self._phase.enter(Phase.LOADING)
                source: dict[str, Any] = message.model_dump(
                    mode="json", include={"kind", "model_id", "commit", "digest"}
                )
                return self._opener(folder, name=_name(message), device=self._device, source=source)
        except NoServerFreeError as error:
            # In a full cluster, pods may wait for days.
            raise LeaseReturnedError(str(error)) from error
        except (ModelUnusableError, ModelRefusedError) as error:
            problem = Problem(Reason.MODEL_UNUSABLE, _sentence(error, folder=folder, name=_shown(message)))
        except (ModelError, CheckpointError, OSError, MemoryError) as error:
            problem = Problem(Reason.MODEL_UNAVAILABLE, _sentence(error, folder=folder, name=_shown(message)))
        logger.warning("%s", problem.sentence)
        return problem

    def _fetched(self, *, lease: Lease, message: LoadedModel, cache: Path | None) -> Path:
        """The folder with the model's files."""
        if isinstance(message, CheckpointModel):
            if self._checkpoints is None:
                raise LeaseRefusedError("this worker takes no uploaded checkpoints.")
            return self._checkpoints.folder(lease, message)
        from evaluator.planners.language_models.fetching import MOST_BYTES, fetch_model

        limit = None if self._cache is None else self._cache.most_bytes
        model = fetch_model(
            repo=message.model_id,
            revision=message.commit,
            endpoint=self._hub,
            cache=cache,
            most_bytes=MOST_BYTES if limit is None else limit,
        )
        if model.commit != message.commit:
            text = f"the hub returned the commit {model.commit[:12]} of {message.model_id}, not {message.commit}."
            raise ModelError(text)
        return model.folder


class UnavailablePlanner:
    """Fails every task with the reason why there is no language model (`BatchPlanner`)."""

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
    """Check the configuration: the site checked a hub's files before they were downloaded."""
    from evaluator.sandbox.admission.rules import CONFIG, INDEX, read_config, shards_named

    read_config((folder / CONFIG).read_bytes())
    if (folder / INDEX).is_file():
        shards_named((folder / INDEX).read_bytes(), name=INDEX)


def _bundled_model(message: BundledModel, *, device: str) -> "LanguageModel":
    from evaluator.planners.language_models.choosing import ModelNameError, language_model
    from evaluator.planners.language_models.shipped import is_shipped

    if not is_shipped(message.name):
        raise LeaseRefusedError(f"this worker has no language model {message.name}.")
    try:
        return language_model(message.name, device=device)
    except ModelNameError as error:
        raise LeaseRefusedError(str(error)) from error


def _name(message: LoadedModel) -> str:
    if isinstance(message, HubModel):
        return f"hf:{message.model_id}@{message.commit}"
    return f"checkpoint:{message.digest}"


def _shown(message: LoadedModel) -> str:
    """Short display name."""
    if isinstance(message, HubModel):
        return f"{message.model_id}@{message.commit[:12]}"
    return f"checkpoint {message.digest[:12]}"


def _may_pass(model: OpenedModel | Problem) -> bool:
    """Whether loading again may help: the model was unavailable, or its server is gone."""
    if isinstance(model, Problem):
        return model.reason is Reason.MODEL_UNAVAILABLE
    return model.is_broken


def _sentence(error: Exception, *, folder: Path | None, name: str) -> str:
    """The error as a public sentence, without paths of the worker."""
    text = str(error) or type(error).__name__
    if folder is not None:
        text = text.replace(f"in {folder}", name).replace(str(folder), name)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_PROBLEM else f"{text[:_LONGEST_PROBLEM]}…"
