"""What a planner is, whatever it is called: quotas of seasons count by it, so that a new name gives no further try."""

import posixpath
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from leaderboard.planners.models import NEEDED, Planner, PlannerKind

_NAMED_BY_COMMIT = "revision"
"""Of a model of the hub: branches and tags of one commit are one planner."""


def identity_of(planner: Planner) -> tuple[str, ...]:
    """The kind, and what a planner of the kind must have, in one writing.

    An endpoint is its address without scheme, query and fragment: whoever answers there may tell requests apart by
    their words, so that other parameters make no other planner. A chat endpoint is its address, the name of the model
    and the strategy; a model of the hub its repository, commit and strategy; a checkpoint its digest and the strategy;
    a bundled planner its name with all options; a plans file its digest. An agent is whoever submitted it.
    """
    kind = PlannerKind(planner.kind)
    return (kind.value, *(_written(planner, field=field) for field in NEEDED[kind] if field != _NAMED_BY_COMMIT))


def _written(planner: Planner, *, field: str) -> str:
    value = str(getattr(planner, field))
    if field == "endpoint_url":
        return normal_address(value)
    # The hub does not tell names by their case, and neither do most servers.
    return value.casefold() if field == "model_id" else value


def normal_address(url: str) -> str:
    """An address in the only writing of all that lead to the same place: host in lower case, port unless it is the
    scheme's, and path without empty or relative parts. `HTTPS://Example.org:443/a/../plan/?x=1` is `example.org/plan`.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    # What is no name of the DNS is compared as it is written.
    with suppress(UnicodeError):
        host = host.encode("idna").decode("ascii")
    port = "" if parts.port in {None, 80, 443} else f":{parts.port}"
    path = posixpath.normpath(f"/{unquote(parts.path)}").lstrip("/")
    return f"{host}{port}/{path}"
