"""Opening the planner of a lease: an opener for each kind of planner that the contract has a message for.

No lease holds a secret: those of an attempt are fetched by calls of the live attempt, and kept in memory only.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import Field, SecretStr

from evaluator.network.secret_header import SecretHeader
from gpu_jobs.client import ApiClient
from gpu_jobs.contract import BundledPlanner, ChatPlanner, EndpointPlanner, Lease, PlansPlanner
from gpu_jobs.contract import SecretHeader as SentHeader

if TYPE_CHECKING:
    from evaluator.core.planner import Planner
    from evaluator.core.suites.base import Suite

Header = SentHeader | None
CHAT_TRIES = 4
"""Of one call of a chat endpoint, as of a `planner/1` endpoint."""
CHAT_PAUSE_SECONDS = 20.0
"""Added for each try to the time that a call may take in all."""


class LeaseRefusedError(Exception):
    """This worker cannot do what the lease asks for, and another might; the message says why."""


class LeaseReturnedError(Exception):
    """What the lease needs is not there yet, which nobody can be blamed for: its tasks are given back. The message says
    what."""


class HeldLease(Lease):
    """A lease with its secrets. It stays in the worker's memory."""

    hidden_seed: SecretStr | None = Field(default=None, exclude=True)
    """The seed of the hidden data."""
    header: SentHeader | None = Field(default=None, exclude=True)
    """What the planner's endpoint asks for."""


def with_secrets(lease: Lease, *, client: ApiClient) -> HeldLease:
    """The lease with the secrets that it says it needs: the seed of hidden data, the planner's secret header.

    Raises:
        AttemptOverError: the attempt ended meanwhile.
        RefusedError: the site does not give them to this worker.
        UnreachableError: the site could not be reached before the lease expired.
    """
    planner = lease.planner
    needs_header = isinstance(planner, EndpointPlanner | ChatPlanner) and planner.has_header
    return HeldLease(
        **dict(lease),
        hidden_seed=client.seed(lease) if lease.needs_seed else None,
        header=client.secret_header(lease) if needs_header else None,
    )


def secrets_of(lease: HeldLease) -> list[str]:
    """All secrets that a worker knows because of this lease, for taking them out of what it sends."""
    found = [lease.token]
    if lease.hidden_seed is not None:
        found.append(lease.hidden_seed.get_secret_value())
    if lease.header is not None:
        found += SecretHeader(lease.header.name, lease.header.value.get_secret_value()).secrets()
    return found


@contextmanager
def _bundled(wanted: BundledPlanner, suite: "Suite", header: Header) -> "Iterator[Planner]":  # noqa: ARG001 - as the others
    from evaluator.planners.driving import StrategyPlanner
    from evaluator.planners.named import offline_planner

    try:
        bundled = offline_planner(name=wanted.name, suite=suite)
    except LookupError as error:
        raise LeaseRefusedError(f"{error}.") from error
    try:
        yield bundled
    finally:
        if isinstance(bundled, StrategyPlanner):
            bundled.close()


@contextmanager
def _endpoint(wanted: EndpointPlanner, suite: "Suite", header: Header) -> "Iterator[Planner]":  # noqa: ARG001 - as the others
    from evaluator.planners.breaker import CircuitBreaker
    from evaluator.planners.endpoint import EndpointPlanner as Client
    from evaluator.planners.endpoint import EndpointSettings

    client = Client(
        EndpointSettings(
            url=wanted.url,
            timeout_seconds=wanted.timeout_seconds,
            allow_private=wanted.allow_private,
            header=_header(header),
        )
    )
    try:
        yield CircuitBreaker(client)
    finally:
        client.close()


@contextmanager
def _chat(wanted: ChatPlanner, suite: "Suite", header: Header) -> "Iterator[Planner]":
    from evaluator.planners.breaker import UNREACHABLE_TASKS
    from evaluator.planners.driving import UnfitModelError, strategy_planner_of
    from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
    from evaluator.planners.strategies.registry import PlannerNameError, strategy_of

    # The address is its owner's, and in no name.
    model = f"chat:{wanted.model}"
    settings = ChatSettings(
        url=wanted.url, model=wanted.model, allow_private=wanted.allow_private, tries=CHAT_TRIES,
        give_up_tries=UNREACHABLE_TASKS * CHAT_TRIES,
        try_seconds=wanted.timeout_seconds, total_seconds=CHAT_TRIES * (wanted.timeout_seconds + CHAT_PAUSE_SECONDS),
    )  # fmt: skip
    # The key in the environment is the worker's own, and goes to nobody's endpoint.
    asked = ChatModel(settings, name=model, key=lambda: None, header=_header(header))
    try:
        entry = strategy_of(name=f"{wanted.strategy}:{model}", suite=suite)
        strategy = entry.strategy(with_model=True)
        planner = strategy_planner_of(strategy=strategy, model=asked, name=f"{strategy.name}:{model}")
    except (PlannerNameError, UnfitModelError) as error:
        raise LeaseRefusedError(f"{error}.") from error
    try:
        yield planner
    finally:
        planner.close()


@contextmanager
def _plans(wanted: PlansPlanner, suite: "Suite", header: Header) -> "Iterator[Planner]":  # noqa: ARG001 - as the others
    from evaluator.core.plans_file import GivenPlan, GivenPlans

    yield GivenPlans({task: GivenPlan(given.plan, given.alternatives) for task, given in wanted.plans.items()})


def _header(sent: Header) -> SecretHeader | None:
    return None if sent is None else SecretHeader(sent.name, sent.value.get_secret_value())


Opener = Callable[[Any, "Suite", Header], AbstractContextManager["Planner"]]
"""Opens the planner of a message for a suite, with its secret header if it has one; leaving the context closes it. May
raise `LeaseRefusedError`."""
OPENERS: Mapping[type, Opener] = {
    BundledPlanner: _bundled,
    EndpointPlanner: _endpoint,
    ChatPlanner: _chat,
    PlansPlanner: _plans,
}
"""Those that need nothing of the worker."""
