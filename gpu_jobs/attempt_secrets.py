"""The secrets of an attempt, which no lease holds: fetched by calls of the live attempt, kept in memory only."""

from pydantic import SecretStr

from evaluator.planners.secret_header import SecretHeader
from gpu_jobs.client import ApiClient
from gpu_jobs.protocol import ChatPlanner, EndpointPlanner, Lease


def with_secrets(lease: Lease, *, client: ApiClient) -> Lease:
    """The lease with the secrets that it says it needs: the seed of hidden data, the planner's secret header.

    Raises:
        AttemptOverError: the attempt ended meanwhile.
        RefusedError: the site does not give them to this worker.
        UnreachableError: the site could not be reached before the lease expired.
    """
    if lease.needs_seed:
        lease = lease.model_copy(update={"hidden_seed": SecretStr(client.seed(lease))})
    planner = lease.planner
    if isinstance(planner, EndpointPlanner | ChatPlanner) and planner.has_header:
        planner = planner.model_copy(update={"header": client.secret_header(lease)})
        lease = lease.model_copy(update={"planner": planner})
    return lease


def secrets_of(lease: Lease) -> list[str]:
    """All secrets that a worker knows because of this lease, for taking them out of what it sends."""
    found = [lease.token]
    if lease.hidden_seed is not None:
        found.append(lease.hidden_seed.get_secret_value())
    planner = lease.planner
    if isinstance(planner, EndpointPlanner | ChatPlanner) and planner.header is not None:
        found += SecretHeader(planner.header.name, planner.header.value.get_secret_value()).secrets()
    return found
