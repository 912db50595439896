"""Opens the planner of a lease: one opener for each kind of planner in the contract.

Leases contain no secrets: those of an attempt are fetched by calls of the live attempt, and kept in memory only.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import Field, SecretStr

from evaluator.core.suites.sealed import SealedRequest
from evaluator.network.secret_header import SecretHeader
from gpu_jobs import contract
from gpu_jobs.client import ApiClient
from gpu_jobs.contract import (
    A2APlanner,
    BundledPlanner,
    CalledPlanner,
    ChatModel,
    EndpointPlanner,
    Lease,
    PlansPlanner,
    RecordedPlanner,
    RoleModel,
    StrategyPlanner,
)
from gpu_jobs.contract import SecretHeader as SentHeader

if TYPE_CHECKING:
    from evaluator.core.language_model import LanguageModel
    from evaluator.core.planner import Planner
    from evaluator.core.suites.base import Suite
    from evaluator.planners.strategies.registry import StrategyEntry

Header = SentHeader | None
_Kept = TypeVar("_Kept")
CHAT_TRIES = 4
"""Tries of one call of a chat endpoint, as for `planner/1` endpoints."""
CHAT_PAUSE_SECONDS = 20.0
"""Added to the total time limit of a call for each try."""


class LeaseRefusedError(Exception):
    """This worker cannot process the lease, but another might; the message says why."""


class LeaseReturnedError(Exception):
    """A resource of the lease is not available yet: its tasks are returned. The message says which."""


class HeldLease(Lease):
    """A lease with its secrets, in the worker's memory only."""

    hidden_seed: SecretStr | None = Field(default=None, exclude=True)
    """The seed of the hidden data."""
    sealed: tuple[SealedRequest, ...] = Field(default=(), exclude=True, repr=False)
    """Requests of the hidden data that do not follow from the seed."""
    header: SentHeader | None = Field(default=None, exclude=True)
    """Secret header of the planner's endpoint."""
    role_headers: dict[str, SentHeader] = Field(default_factory=dict, exclude=True)
    """Secret headers of the models of roles."""

    def headers(self) -> list[SentHeader]:
        """All secret headers."""
        return [*([self.header] if self.header else []), *self.role_headers.values()]


def with_secrets(lease: Lease, *, client: ApiClient) -> HeldLease:
    """The lease with the secrets that it needs: the seed of hidden data, the planner's secret header.

    Raises:
        AttemptOverError: the attempt has ended.
        RefusedError: the site refuses them to this worker.
        UnreachableError: the site could not be reached before the lease expired.
    """
    planner = lease.planner
    needs_header = isinstance(planner, CalledPlanner | ChatModel) and planner.has_header
    seed = client.seed(lease) if lease.needs_seed else None
    return HeldLease(
        **dict(lease),
        hidden_seed=None if seed is None else seed.seed,
        sealed=() if seed is None else tuple(map(_sealed, seed.sealed)),
        header=client.secret_header(lease) if needs_header else None,
        role_headers={
            role: client.secret_header(lease, role=role)
            for role, model in roles_of(lease).items()
            if isinstance(model, CalledPlanner | ChatModel) and model.has_header
        },
    )


def as_lease(run: contract.RunLease) -> HeldLease:
    """A run of the workbench as the lease of one task, for what opens planners. It has no secrets."""
    assert run.planner is not None, "a run with a plan needs no planner"
    return HeldLease(
        attempt=run.run, token=run.token, expires_in=run.expires_in, heartbeat_seconds=run.heartbeat_seconds,
        evaluation=run.run, suite=run.suite, suite_digest="", profile=run.profile, profile_digest="", split="",
        samples=1, data_digest="", planner=run.planner, tasks=("request",),
    )  # fmt: skip


def roles_of(lease: Lease) -> Mapping[str, RoleModel]:
    """Models of the roles of a lease's planner."""
    return lease.planner.roles if isinstance(lease.planner, StrategyPlanner) else {}


def addresses_of(lease: Lease) -> list[str]:
    """Addresses of the endpoints of a lease's planner, for redaction."""
    models = (lease.planner, *roles_of(lease).values())
    return [model.url for model in models if isinstance(model, CalledPlanner | ChatModel)]


def _sealed(sent: contract.SentSealedRequest) -> SealedRequest:
    return SealedRequest(text=sent.text.get_secret_value(), goal=sent.goal.get_secret_value())


def secrets_of(lease: HeldLease) -> list[str]:
    """All secrets of a lease, for redaction."""
    secrets = [lease.token]
    if lease.hidden_seed is not None:
        secrets.append(lease.hidden_seed.get_secret_value())
    for header in lease.headers():
        secrets += SecretHeader(header.name, header.value.get_secret_value()).secrets()
    return secrets


@contextmanager
def _bundled(message: BundledPlanner, suite: "Suite", header: Header) -> "Iterator[Planner]":  # noqa: ARG001 - as the others
    from evaluator.planners.driving import StrategyPlanner
    from evaluator.planners.named import offline_planner

    try:
        bundled = offline_planner(name=message.name, suite=suite)
    except LookupError as error:
        raise LeaseRefusedError(f"{error}.") from error
    try:
        yield bundled
    finally:
        if isinstance(bundled, StrategyPlanner):
            bundled.close()


@contextmanager
def _called(message: CalledPlanner, suite: "Suite", header: Header) -> "Iterator[Planner]":  # noqa: ARG001 - as the others
    from evaluator.planners.a2a import endpoint_planner
    from evaluator.planners.breaker import CircuitBreaker
    from evaluator.planners.endpoint import EndpointSettings

    client = endpoint_planner(
        EndpointSettings(
            url=message.url,
            timeout_seconds=message.timeout_seconds,
            allow_private=message.allow_private,
            header=_header(header),
            protocol="a2a" if isinstance(message, A2APlanner) else "planner/1",
        )
    )
    try:
        yield CircuitBreaker(client)
    finally:
        client.close()


def strategy_of_lease(message: StrategyPlanner, *, suite: "Suite") -> "StrategyEntry":
    """The strategy of a planner, before its models are loaded.

    Raises:
        LeaseRefusedError: this worker does not know the strategy or one of its roles.
    """
    from evaluator.planners.strategies.registry import PlannerNameError, strategy_of

    try:
        entry = strategy_of(name=f"{message.strategy}:MODEL", suite=suite)
    except PlannerNameError as error:
        raise LeaseRefusedError(f"{error}.") from error
    if unknown := message.roles.keys() - {*entry.role_names}:
        raise LeaseRefusedError(f"this worker knows no role {min(unknown)} of the strategy {entry.name}.")
    return entry


@contextmanager
def strategy_planner(
    entry: "StrategyEntry", *, model: "LanguageModel", roles: "Mapping[str, LanguageModel]"
) -> "Iterator[Planner]":
    """The planner of a strategy with its language models. Leaving the context closes connections, not the models.

    Raises:
        LeaseRefusedError: a model does not fit the strategy.
    """
    from evaluator.planners.driving import UnfitModelError, strategy_planner_of

    others = (f"{role}={other.name}" for role, other in roles.items())
    name = ",".join([f"{entry.full_name}:{model.name}", *others])
    try:
        planner = strategy_planner_of(strategy=entry.strategy(with_model=True), model=model, name=name, roles=roles)
    except UnfitModelError as error:
        raise LeaseRefusedError(f"{error}.") from error
    try:
        yield planner
    finally:
        planner.close()


def called_model(message: ChatModel | EndpointPlanner, header: Header) -> "LanguageModel":
    """The language model behind a chat API, or behind an endpoint that answers the calls of a role."""
    from evaluator.planners.breaker import UNREACHABLE_TASKS
    from evaluator.planners.language_models.chat.model import ChatModel as Model
    from evaluator.planners.language_models.chat.model import ChatSettings
    from evaluator.planners.language_models.chat.parameters import KnownParameters

    of_api: dict[str, Any] = {"model": ""}
    # The name must not contain the private address.
    name = "endpoint"
    if isinstance(message, ChatModel):
        name = f"chat:{message.model}"
        of_api = {
            "model": message.model, "api": message.api, "streamed": message.streamed,
            "reasoning_effort": message.reasoning_effort or None, "most_tokens": message.answer_tokens,
        }  # fmt: skip
    settings = ChatSettings(
        url=message.url, **of_api, allow_private=message.allow_private, tries=CHAT_TRIES,
        give_up_tries=UNREACHABLE_TASKS * CHAT_TRIES,
        try_seconds=message.timeout_seconds, total_seconds=CHAT_TRIES * (message.timeout_seconds + CHAT_PAUSE_SECONDS),
    )  # fmt: skip
    # Without the key in the environment, which is the worker's.
    known = _of_process(KnownParameters)
    return Model(settings, name=name, key=lambda: None, header=_header(header), known=known)


@cache
def _of_process(make: Callable[[], _Kept]) -> _Kept:
    """The object that all leases of this process share."""
    return make()


@contextmanager
def _plans(message: PlansPlanner, suite: "Suite", header: Header) -> "Iterator[Planner]":  # noqa: ARG001 - as the others
    from evaluator.core.plans_file import GivenPlan, GivenPlans

    yield GivenPlans(
        {task: GivenPlan(entry.plan, entry.alternatives, entry.usage) for task, entry in message.plans.items()}
    )


@contextmanager
def _recorded(message: RecordedPlanner, suite: "Suite", header: Header) -> "Iterator[Planner]":  # noqa: ARG001 - as the others
    from evaluator.core.recorded_answers import RecordedAnswers, RecordedTurns
    from evaluator.episodes.base import episode_of

    yield (RecordedTurns if episode_of(suite.slug).in_turns else RecordedAnswers)(message.records, suite=suite)


def _header(sent: Header) -> SecretHeader | None:
    return None if sent is None else SecretHeader(sent.name, sent.value.get_secret_value())


Opener = Callable[[Any, "Suite", Header], AbstractContextManager["Planner"]]
"""Opens the planner of a message for a suite, with its secret header; leaving the context closes it. May raise
`LeaseRefusedError`."""
OPENERS: Mapping[type, Opener] = {
    BundledPlanner: _bundled,
    EndpointPlanner: _called,
    A2APlanner: _called,
    PlansPlanner: _plans,
    RecordedPlanner: _recorded,
}
"""Openers of planners without a language model on the worker."""
