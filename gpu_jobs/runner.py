"""Runs the tasks of a lease with the evaluator, whose experts are loaded once."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from evaluator.core.records import ResultRecord
from evaluator.execution.engine.progress import Stopwatch
from evaluator.execution.engine.store import Store
from evaluator.scoring.arbiters.base import ArbiterName
from gpu_jobs.agents import AgentTurns
from gpu_jobs.checkpoints import Checkpoints
from gpu_jobs.contract import AgentPlanner, Lease, Phase, RunLease, StrategyPlanner
from gpu_jobs.heartbeats import CurrentPhase
from gpu_jobs.hub_cache import HubCache
from gpu_jobs.language_models import LanguageModels
from gpu_jobs.model_server.opening import ModelOpener
from gpu_jobs.planners import OPENERS, HeldLease, LeaseRefusedError, as_lease

if TYPE_CHECKING:
    from evaluator.core.planner import Planner
    from evaluator.core.suites.base import Suite
    from evaluator.core.suites.hidden import HiddenSeed
    from evaluator.episodes.base import Evaluator, Setting
    from evaluator.execution.engine.run import Engine
    from evaluator.execution.experts.profile import Profile
    from evaluator.workbench.events import Event
    from evaluator.workbench.running import RunRequest


logger = logging.getLogger(__name__)


class _Key(NamedTuple):
    """Key of cached evaluators."""

    suite: str
    profile: str
    split: str
    samples: int
    hidden: "HiddenSeed | None"


class _Digests(NamedTuple):
    """Digests that must be equal on site and worker, besides the suite's."""

    rules: str
    data: str


class ShardRunner(Protocol):
    """Runs tasks."""

    store: Store
    """Has the artefacts of the records."""
    phase: CurrentPhase
    """The current phase; the worker resets it at the start of each lease."""

    def run(self, lease: HeldLease) -> Iterator[ResultRecord]:
        """Run the tasks of a lease, and yield each record as soon as it is complete.

        Raises:
            LeaseRefusedError: before the first record, if this worker cannot process the lease.
        """
        ...

    def run_request(self, lease: RunLease, request: "RunRequest") -> "Iterator[Event]":
        """Run a request of the workbench, and yield each event when it happens.

        Raises:
            LeaseRefusedError: this worker cannot process the run.
        """
        ...

    def get_ready(self, *, suite: str, profile: str) -> None:
        """Load what most requests of the workbench need, before one waits. Failures are logged: the run that they
        concern reports them."""
        ...

    def idle(self) -> None:
        """Release shared resources: there is no work at the moment."""
        ...

    def provenance(self) -> dict[str, Any]:
        """Provenance of the results."""
        ...


class EvaluatorRunner:
    """Runs tasks with the `evaluator` package."""

    def __init__(
        self,
        *,
        store: Store,
        device: str,
        memory_budget: int | None = None,
        checkpoints: Checkpoints | None = None,
        hub: str | None = None,
        hub_cache: HubCache | None = None,
        opener: ModelOpener | None = None,
        arbiter: ArbiterName | None = None,
        arbiter_key: str = "",
        rater_key: str = "",
        agents: Callable[[Lease], AgentTurns] | None = None,
        phase: CurrentPhase | None = None,
    ) -> None:
        """Args:
        store: stores artefacts and executed steps.
        device: torch device of the experts.
        memory_budget: bytes for all loaded experts; None: see `ExpertPool`.
        checkpoints: source of uploaded checkpoints; None: leases with them are refused.
        hub: address of the model hub; None: the default of its client.
        hub_cache: cache of the hub's models; None: the folder of its client.
        opener: loads language models; None: in this machine's sandbox.
        arbiter: decides what the rules of judges leave undecided; must be the site's.
        arbiter_key: API key of a chat arbiter.
        rater_key: API key of the rater of optional columns (`evaluator.scoring.rating`).
        agents: returns the agent of a lease; None: leases of agents are refused.
        phase: follows the phases; None: one that nobody measures.
        """
        self.store = store
        self._device = device
        self._memory_budget = memory_budget
        self._arbiter = arbiter
        self._arbiter_key = arbiter_key
        self._rater_key = rater_key
        self._agents = agents
        self.phase = phase or CurrentPhase()
        self._models = LanguageModels(
            device=device, checkpoints=checkpoints, hub=hub, cache=hub_cache, phase=self.phase, opener=opener
        )
        self._evaluators: dict[_Key, tuple[Evaluator, _Digests]] = {}
        self._origin = ""
        """Of the last lease's data, if they are not those of the suite's authors."""
        self._engine_of_runs: tuple[tuple[str, str], Engine] | None = None
        """With its suite and profile."""

    def run(self, lease: HeldLease) -> Iterator[ResultRecord]:
        evaluator = _perturbed(self._evaluator(lease), lease=lease)
        self._origin = str(getattr(evaluator, "origin", ""))
        records = self._measured(lease, evaluator=evaluator)
        # Further runs and perturbed requests measure the planner's noise: they need no ratings, which cost money.
        if lease.repetition == 1 and not lease.perturbation:
            from evaluator.scoring.rating import with_ratings

            records = with_ratings(records, suite=evaluator.suite, api_key=self._rater_key)
        yield from records

    def _measured(self, lease: HeldLease, *, evaluator: "Evaluator") -> Iterator[ResultRecord]:
        from evaluator.core.planner import reseeded

        if isinstance(lease.planner, AgentPlanner):
            if self._agents is None:
                raise LeaseRefusedError("this worker does not support agents.")
            self.phase.enter(Phase.PLANNING)
            yield from self._agents(lease).records(evaluator=evaluator)
            return
        with self._planner(lease=lease, suite=evaluator.suite) as planner:
            self.phase.enter(Phase.PLANNING)
            planner_of_run = reseeded(planner, run=lease.repetition - 1)
            yield from evaluator.run(planner=planner_of_run, tasks=lease.tasks, run=lease.evaluation)

    def run_request(self, lease: RunLease, request: "RunRequest") -> "Iterator[Event]":
        from evaluator.core.suites.registry import suite_of
        from evaluator.episodes.base import SettingError
        from evaluator.episodes.executed import profile_of
        from evaluator.workbench.running import run

        try:
            suite, profile = suite_of(lease.suite), profile_of(suite=lease.suite, name=lease.profile)
        except (LookupError, SettingError) as error:
            raise LeaseRefusedError(f"this worker cannot run requests for {lease.suite}: {error}.") from error
        engine = self._engine(suite=suite, profile=profile, name=lease.profile)
        offered = frozenset(profile.experts)
        if lease.planner is None:
            yield from run(request, planner=None, suite=suite, offered=offered, engine=engine)
            return
        with self._planner(lease=as_lease(lease), suite=suite) as planner:
            yield from run(request, planner=planner, suite=suite, offered=offered, engine=engine)

    def get_ready(self, *, suite: str, profile: str) -> None:
        from evaluator.core.suites.registry import suite_of
        from evaluator.episodes.executed import profile_of
        from evaluator.workbench.running import load_experts

        try:
            of_suite, of_profile = suite_of(suite), profile_of(suite=suite, name=profile)
            engine = self._engine(suite=of_suite, profile=of_profile, name=profile)
            load_experts(tools=sorted(of_profile.experts), pool=engine.pool)
        except Exception as error:  # noqa: BLE001 - of experts, which may fail in any way
            logger.warning("not ready for runs of %s with %s: %s", suite, profile, error)

    def _engine(self, *, suite: "Suite", profile: "Profile", name: str) -> "Engine":
        """The engine of an evaluator with the profile of this name, whose experts are loaded; else one for runs."""
        from evaluator.execution.engine.pool import ExpertPool
        from evaluator.execution.engine.run import Engine

        for key, (evaluator, _) in self._evaluators.items():
            engine = getattr(evaluator, "engine", None)
            if key.suite == suite.slug and key.profile == name and isinstance(engine, Engine):
                return engine
        key_of_runs = suite.slug, name
        if self._engine_of_runs is None or self._engine_of_runs[0] != key_of_runs:
            pool = ExpertPool(profile=profile, device=self._device, budget=self._memory_budget)
            engine = Engine(pool=pool, store=self.store, salt=suite.slug)
            self._engine_of_runs = key_of_runs, engine
        return self._engine_of_runs[1]

    def _planner(self, *, lease: HeldLease, suite: "Suite") -> "AbstractContextManager[Planner]":
        message = lease.planner
        if isinstance(message, StrategyPlanner):
            return self._models.planner(lease=lease, suite=suite)
        self._models.release_shared()
        return OPENERS[type(message)](message, suite, lease.header)

    def idle(self) -> None:
        self._models.release_shared()

    def provenance(self) -> dict[str, Any]:
        from evaluator.core.provenance import provenance
        from evaluator.execution.experts.devices import device_class, device_facts

        facts = provenance(device=self._device)
        if self._origin:
            facts["data"] = self._origin
        experts = any(evaluator.suite.conditions.experts for evaluator, _ in self._evaluators.values())
        if experts or "torch" in sys.modules:
            # Also if all steps came from the store: their keys name the device class. Otherwise nothing was computed on
            # the device.
            facts |= device_facts(self._device, of_class=device_class(self._device))
        return facts if self._arbiter is None else {**facts, "arbiter": dict(self._arbiter.identity())}

    def _evaluator(self, lease: HeldLease) -> "Evaluator":
        """The cached evaluator for a lease. Leases whose suite or rules differ from the worker's are refused."""
        from evaluator.core.suites.registry import suite_of
        from evaluator.episodes.base import SettingError, episode_of

        _check_commitment(lease)
        key = _Key(lease.suite, lease.profile, lease.split, lease.samples, _hidden_seed(lease))
        try:
            suite, episode = suite_of(lease.suite), episode_of(lease.suite)
            if key not in self._evaluators:
                setting = self._setting(lease)
                digests = _Digests(
                    rules=episode.rules_digest(lease.profile, arbiter=self._arbiter),
                    data=episode.data_digest(suite=suite, setting=setting),
                )
                if suite.conditions.experts:
                    self._engine_of_runs = None
                    # The device's memory may not suffice for two sets of experts.
                    self._evaluators = {
                        cached: entry
                        for cached, entry in self._evaluators.items()
                        if not entry[0].suite.conditions.experts
                    }
                evaluator = episode.evaluator(suite=suite, setting=setting)
                if isinstance(scoring := getattr(evaluator, "scoring", None), Stopwatch):
                    scoring.listener = self.phase.note_scoring
                self._evaluators[key] = evaluator, digests
        except (LookupError, SettingError) as error:
            raise LeaseRefusedError(f"this worker cannot run {lease.suite}: {error}.") from error
        evaluator, digests = self._evaluators[key]
        for what, here, there in (
            (f"the scoring of {lease.suite} under {lease.profile}", digests.rules, lease.profile_digest),
            (f"the {lease.split} data of {lease.suite}", digests.data, lease.data_digest),
            # Of the public requests, on every split: hidden ones follow from these and the seed.
            (f"suite {lease.suite}", suite.digest, lease.suite_digest),
        ):
            if here != there:
                text = f"{what} has the digest {here[:12]} on the worker, {there[:12]} on the server."
                raise LeaseRefusedError(text)
        return evaluator

    def _setting(self, lease: HeldLease) -> "Setting":
        from evaluator.episodes.base import Setting

        return Setting(
            split=lease.split, hidden=_hidden_seed(lease), profile=lease.profile, samples=lease.samples,
            open_store=lambda: self.store, device=self._device, memory_budget=self._memory_budget,
            listener=lambda _: self.phase.enter(Phase.EXECUTING),
            arbiter=self._arbiter, arbiter_key=self._arbiter_key,
        )  # fmt: skip


def _perturbed(evaluator: "Evaluator", *, lease: HeldLease) -> "Evaluator":
    """The evaluator with the lease's perturbation of requests."""
    if not lease.perturbation:
        return evaluator
    from evaluator.episodes.base import episode_of
    from evaluator.reliability.perturbed_evaluation import PerturbedEvaluator

    try:
        return PerturbedEvaluator(
            evaluator, perturbation=lease.perturbation, episode=episode_of(lease.suite), profile=lease.profile
        )
    except LookupError as error:
        raise LeaseRefusedError(f"this worker cannot perturb requests: {error}.") from error


def _hidden_seed(lease: HeldLease) -> "HiddenSeed | None":
    """The hidden data of a lease; None for open data, for which the library refuses a seed."""
    from evaluator.core.suites.hidden import HIDDEN, HiddenSeed

    if lease.split != HIDDEN or lease.hidden_seed is None:
        return None
    return HiddenSeed(lease.hidden_seed.get_secret_value(), season=lease.season, sealed=lease.sealed)


def _check_commitment(lease: HeldLease) -> None:
    """Refuse a seed that does not match the published commitment."""
    from evaluator.core.suites.hidden import SeedError

    hidden = _hidden_seed(lease)
    if hidden is None:
        return
    try:
        fits = hidden.commitment(lease.suite) == lease.commitment
    except SeedError as error:
        raise LeaseRefusedError(str(error)) from error
    if not fits:
        raise LeaseRefusedError(
            f"the seed of season {lease.season} of {lease.suite} does not match its published commitment "
            f"{lease.commitment[:12]} ({len(hidden.sealed)} sealed requests)."
        )
