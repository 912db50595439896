"""Opening the planner of a lease. One opener for each kind of planner that `gpu_jobs.protocol` has a message for."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from gpu_jobs.protocol import BundledPlanner, EndpointPlanner, PlansPlanner

if TYPE_CHECKING:
    from evaluator.planners.protocol import Planner
    from evaluator.suites.model import Suite


class LeaseRefusedError(Exception):
    """This worker cannot do what the lease asks for, and another might; the message says why."""


@contextmanager
def _bundled(wanted: BundledPlanner, suite: "Suite") -> "Iterator[Planner]":
    from evaluator.planners.driving import StrategyPlanner
    from evaluator.planners.offline import offline_planner

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
def _endpoint(wanted: EndpointPlanner, suite: "Suite") -> "Iterator[Planner]":  # noqa: ARG001 - as the others
    from evaluator.planners.endpoint import EndpointPlanner as Client
    from evaluator.planners.endpoint import EndpointSettings
    from evaluator.planners.secret_header import SecretHeader

    told = wanted.header
    header = None if told is None else SecretHeader(told.name, told.value.get_secret_value())
    client = Client(
        EndpointSettings(
            url=wanted.url,
            timeout_seconds=wanted.timeout_seconds,
            allow_private=wanted.allow_private,
            header=header,
        )
    )
    try:
        yield client
    finally:
        client.close()


@contextmanager
def _plans(wanted: PlansPlanner, suite: "Suite") -> "Iterator[Planner]":  # noqa: ARG001 - as the others
    from evaluator.planners.given import GivenPlans
    from evaluator.plans_file import GivenPlan

    yield GivenPlans({task: GivenPlan(given.plan, given.alternatives) for task, given in wanted.plans.items()})


Opener = Callable[[Any, "Suite"], AbstractContextManager["Planner"]]
"""Opens the planner of a message for a suite; leaving the context closes it. May raise `LeaseRefusedError`."""

OPENERS: Mapping[type, Opener] = {BundledPlanner: _bundled, EndpointPlanner: _endpoint, PlansPlanner: _plans}
"""Those that need nothing of the worker."""
