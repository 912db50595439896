"""The secrets of an attempt, which no lease holds: fetched by calls of the live attempt, kept in memory only."""

from pydantic import Field, SecretStr

from evaluator.network.secret_header import SecretHeader
from gpu_jobs.client import ApiClient
from gpu_jobs.contract.attempt import SecretHeader as SentHeader
from gpu_jobs.contract.lease import ChatPlanner, EndpointPlanner, Lease


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
