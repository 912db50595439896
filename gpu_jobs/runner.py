"""What runs the tasks of a lease: the evaluator, with its experts loaded once and kept."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from evaluator.core.records import ResultRecord
from evaluator.execution.engine.progress import Stopwatch
from evaluator.execution.engine.store import Store
from evaluator.scoring.arbiters.base import ArbiterName
from gpu_jobs.agents import AgentTurns
from gpu_jobs.checkpoints import Checkpoints
from gpu_jobs.contract import AgentPlanner, CheckpointPlanner, HubPlanner, Lease, Phase
from gpu_jobs.heartbeats import CurrentPhase
from gpu_jobs.hub_cache import HubCache
from gpu_jobs.language_models import LanguageModels
from gpu_jobs.model_server.opening import ModelOpener
from gpu_jobs.planners import OPENERS, HeldLease, LeaseRefusedError

if TYPE_CHECKING:
    from evaluator.core.planner import Planner
    from evaluator.core.suites.base import Suite
    from evaluator.core.suites.hidden import HiddenSeed
    from evaluator.episodes.base import Evaluator, Setting


class _Key(NamedTuple):
    """What an evaluator is made for."""

    suite: str
    profile: str
    split: str
    samples: int
    hidden: "HiddenSeed | None"


class _Digests(NamedTuple):
    """What site and worker must agree on besides the suite."""

    rules: str
    data: str


class ShardRunner(Protocol):
    """Runs tasks. Tests give a fake."""

    store: Store
    """Where the artefacts are that the records name."""
    phase: CurrentPhase
    """The current phase; the worker resets it at the start of each lease."""

    def run(self, lease: HeldLease) -> Iterator[ResultRecord]:
        """Run the tasks of a lease and yield each one's record as soon as it is complete.

        Raises:
            LeaseRefusedError: before the first record, if the lease does not fit this worker.
        """
        ...

    def idle(self) -> None:
        """Give back what other workers may wait for: there is nothing to do at the moment."""
        ...

    def provenance(self) -> dict[str, Any]:
        """What the results are made with."""
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
        agents: Callable[[Lease], AgentTurns] | None = None,
    ) -> None:
        """Args:
        store: where artefacts and executed steps are kept.
        device: torch device of the experts.
        memory_budget: bytes that loaded experts may occupy together; None: no limit.
        checkpoints: where uploaded checkpoints come from; None: leases of such planners are refused.
        hub: address of the model hub; None: as its client is set.
        hub_cache: where its models are kept; None: in its client's own folder.
        opener: loads language models; None: in the sandbox that this machine has.
        arbiter: settles what the rules of judges leave undecided; the site must name the same one.
        arbiter_key: API key of a chat arbiter.
        agents: gives the agent of a lease; None: leases of agents are refused.
        """
        self.store = store
        self._device = device
        self._memory_budget = memory_budget
        self._arbiter = arbiter
        self._arbiter_key = arbiter_key
        self._agents = agents
        self.phase = CurrentPhase()
        self._models = LanguageModels(
            device=device, checkpoints=checkpoints, hub=hub, cache=hub_cache, phase=self.phase, opener=opener
        )
        self._evaluators: dict[_Key, tuple[Evaluator, _Digests]] = {}

    def run(self, lease: HeldLease) -> Iterator[ResultRecord]:
        evaluator = _perturbed(self._evaluator(lease), lease=lease)
        if isinstance(lease.planner, AgentPlanner):
            if self._agents is None:
                raise LeaseRefusedError("this worker has no way to ask agents.")
            self.phase.enter(Phase.PLANNING)
            yield from self._agents(lease).records(evaluator=evaluator)
            return
        with self._planner(lease=lease, suite=evaluator.suite) as planner:
            self.phase.enter(Phase.PLANNING)
            asked = _reseeded(planner, repetition=lease.repetition)
            yield from evaluator.run(planner=asked, tasks=lease.tasks, run=lease.evaluation)

    def _planner(self, *, lease: HeldLease, suite: "Suite") -> "AbstractContextManager[Planner]":
        wanted = lease.planner
        if isinstance(wanted, HubPlanner | CheckpointPlanner):
            return nullcontext(self._models.planner(lease=lease, wanted=wanted, suite=suite))
        self._models.let_go()
        return OPENERS[type(wanted)](wanted, suite, lease.header)

    def idle(self) -> None:
        self._models.let_go()

    def provenance(self) -> dict[str, Any]:
        from evaluator.core.provenance import provenance

        found = provenance(device=self._device)
        return found if self._arbiter is None else {**found, "arbiter": dict(self._arbiter.identity())}

    def _evaluator(self, lease: HeldLease) -> "Evaluator":
        """The evaluator for a lease, refused where suite or rules differ from the server's. It is kept with what it has
        loaded for later leases."""
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
                    self._forget_experts()
                evaluator = episode.evaluator(suite=suite, setting=setting)
                if isinstance(scoring := getattr(evaluator, "scoring", None), Stopwatch):
                    scoring.listener = self.phase.note_scoring
                self._evaluators[key] = evaluator, digests
        except (LookupError, SettingError) as error:
            raise LeaseRefusedError(f"this worker cannot run {lease.suite}: {error}.") from error
        found, digests = self._evaluators[key]
        what = f"the scoring of {lease.suite} under {lease.profile}"
        _refuse_difference(what=what, here=digests.rules, wanted=lease.profile_digest)
        what = f"the {lease.split} data of {lease.suite}"
        _refuse_difference(what=what, here=digests.data, wanted=lease.data_digest)
        # Of the public requests, on every split: hidden ones follow from these and the seed.
        _refuse_difference(what=f"suite {lease.suite}", here=suite.digest, wanted=lease.suite_digest)
        return found

    def _forget_experts(self) -> None:
        """Two sets of experts side by side might not fit into the device's memory."""
        self._evaluators = {key: kept for key, kept in self._evaluators.items() if not kept[0].suite.conditions.experts}

    def _setting(self, lease: HeldLease) -> "Setting":
        from evaluator.episodes.base import Setting

        return Setting(
            split=lease.split, hidden=_hidden_seed(lease), profile=lease.profile, samples=lease.samples,
            open_store=lambda: self.store, device=self._device, memory_budget=self._memory_budget,
            listener=lambda _: self.phase.enter(Phase.EXECUTING),
            arbiter=self._arbiter, arbiter_key=self._arbiter_key,
        )  # fmt: skip


def _reseeded(planner: "Planner", *, repetition: int) -> "Planner":
    from evaluator.core.planner import reseeded

    return reseeded(planner, run=repetition - 1)


def _perturbed(evaluator: "Evaluator", *, lease: HeldLease) -> "Evaluator":
    """The evaluator, which asks in the form that the lease names."""
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
    """The seed of a hidden split. The library refuses one for open data, so that it cannot slip into them."""
    from evaluator.core.suites.hidden import HIDDEN, HiddenSeed

    if lease.split != HIDDEN or lease.hidden_seed is None:
        return None
    return HiddenSeed(lease.hidden_seed.get_secret_value(), season=lease.season)


def _check_commitment(lease: HeldLease) -> None:
    """Refuse a seed that does not fit the published commitment."""
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
            f"the seed of season {lease.season} of {lease.suite} does not fit the commitment {lease.commitment[:12]} "
            "that was published for it."
        )


def _refuse_difference(*, what: str, here: str, wanted: str) -> None:
    if here != wanted:
        raise LeaseRefusedError(f"{what} has the digest {here[:12]} on the worker, {wanted[:12]} on the server.")
