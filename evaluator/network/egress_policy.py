"""What the operator allows calls to other people's servers: which ports, and through which proxy. Pure.

PLANARENA_EGRESS_PORTS   `80,443,1024-65535`, which is the default
PLANARENA_EGRESS_PROXY   `http://[USER:PASSWORD@]HOST:PORT` of an HTTP proxy that takes CONNECT; unset: no proxy
"""

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

PORTS = "PLANARENA_EGRESS_PORTS"
PROXY = "PLANARENA_EGRESS_PROXY"
DEFAULT_PORTS = "80,443,1024-65535"
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)


class EgressPolicyError(ValueError):
    """A variable has a value that cannot be used; the message names both."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports of users' servers that may be called."""

    ranges: tuple[tuple[int, int], ...]
    """First and last of each, both included."""

    def __contains__(self, port: object) -> bool:
        return isinstance(port, int) and any(first <= port <= last for first, last in self.ranges)

    def __str__(self) -> str:
        return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in self.ranges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An HTTP proxy that opens tunnels."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)
    """Value of the header Proxy-Authorization; empty: there is none."""
    password: str = field(default="", repr=False)
    url: str = field(repr=False)
    """As it was given, for libraries that take an address."""

    def __str__(self) -> str:
        """For messages: without name and password."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """The operator's rules."""

    ports: Ports
    proxy: Proxy | None = None


def egress_policy(environment: Mapping[str, str] = os.environ) -> EgressPolicy:
    """The rules that an environment sets.

    Raises:
        EgressPolicyError: a variable cannot be read.
    """
    return EgressPolicy(
        ports=parse_ports(environment.get(PORTS, "").strip() or DEFAULT_PORTS),
        proxy=parse_proxy(environment.get(PROXY, "").strip()),
    )


def parse_ports(text: str) -> Ports:
    """Ports and ranges of ports, separated by commas.

    Raises:
        EgressPolicyError: it is none of this.
    """
    ranges = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= 65535:
            raise EgressPolicyError(f"{PORTS}: {part.strip()!r} is no port or range of ports, such as {DEFAULT_PORTS}")
        ranges.append((first, last))
    return Ports(tuple(ranges))


def parse_proxy(text: str) -> Proxy | None:
    """A proxy's address; None if it is empty.

    Raises:
        EgressPolicyError: it is no address of an HTTP proxy. The message leaves it out: it may hold a password.
    """
    if not text:
        return None
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme != "http" or not host or port is None or parts.path.strip("/") or parts.query or parts.fragment:
        raise EgressPolicyError(f"{PROXY} must be http://HOST:PORT, with USER:PASSWORD@ before HOST if need be")
    password = unquote(parts.password or "")
    credentials = f"{unquote(parts.username or '')}:{password}"
    authorization = f"Basic {b64encode(credentials.encode()).decode()}" if parts.username else ""
    return Proxy(host=host, port=port, authorization=authorization, password=password, url=text)
