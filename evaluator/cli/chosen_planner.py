"""The planner that an option names: a bundled one, a strategy, or the URL of an endpoint."""

from typing import TYPE_CHECKING

from evaluator.client.addresses import likely_address
from evaluator.client.options import A2A
from evaluator.core.commands.usage import usage_error
from evaluator.core.suites.base import Suite
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import PlannerNameError

if TYPE_CHECKING:
    from evaluator.core.planner import Planner


def chosen_planner(*, name: str, suite: Suite, timeout: float) -> "Planner":
    """The planner of this name for a suite.

    Args:
        name: of a bundled planner, `STRATEGY[:MODEL]`, the URL of a planner/1 endpoint, or `a2a:URL` of an A2A agent.
        suite: gives the tools.
        timeout: of one answer of an endpoint, in seconds.

    Raises:
        typer.Exit: there is none; standard error says which there are.
    """
    if name.startswith(("http://", "https://", A2A)):
        from evaluator.network.guarded_connections import EgressRefusedError
        from evaluator.network.ssrf_guard import check_url
        from evaluator.planners.a2a import endpoint_planner
        from evaluator.planners.breaker import CircuitBreaker
        from evaluator.planners.endpoint import EndpointSettings

        url = name.removeprefix(A2A)
        try:
            # A researcher's endpoint usually runs on the same machine.
            check_url(url=url, allow_private=True)
        except EgressRefusedError as error:
            raise usage_error(error) from None
        settings = EndpointSettings(
            url=url, timeout_seconds=timeout, allow_private=True, protocol="planner/1" if url == name else "a2a"
        )
        return CircuitBreaker(endpoint_planner(settings, name=name), has_preflight=True)
    try:
        return planner_named(name=name, suite=suite)
    except PlannerNameError as error:
        likely = likely_address(name)
        raise usage_error(f"there is no planner {name!r}; did you mean {likely!r}?" if likely else error) from None
