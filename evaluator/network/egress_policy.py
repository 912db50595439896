"""The operator's policy for calls to users' servers: allowed ports, and a proxy.

PLANARENA_EGRESS_PORTS   default: `80,443,1024-65535`
PLANARENA_EGRESS_PROXY   `http://[USER:PASSWORD@]HOST:PORT` of an HTTP proxy that supports CONNECT; unset: no proxy
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
    """A variable has an invalid value; the message has its name."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The allowed ports of users' servers."""

    ranges: tuple[tuple[int, int], ...]
    """First and last port of each range, inclusive."""

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
    """Value of the header Proxy-Authorization; empty without credentials."""
    password: str = field(default="", repr=False)
    url: str = field(repr=False)
    """The configured address, for libraries that take one."""

    def __str__(self) -> str:
        """For messages, without credentials."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """The operator's policy."""

    ports: Ports
    proxy: Proxy | None = None


def egress_policy(environment: Mapping[str, str] = os.environ) -> EgressPolicy:
    """The policy in environment variables.

    Raises:
        EgressPolicyError: a variable is invalid.
    """
    return EgressPolicy(
        ports=parse_ports(environment.get(PORTS, "").strip() or DEFAULT_PORTS),
        proxy=parse_proxy(environment.get(PROXY, "").strip()),
    )


def parse_ports(text: str) -> Ports:
    """Parse ports and ranges of ports, separated by commas.

    Raises:
        EgressPolicyError: the text is invalid.
    """
    ranges = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= 65535:
            raise EgressPolicyError(f"{PORTS}: {part.strip()!r} is no port or range of ports, such as {DEFAULT_PORTS}")
        ranges.append((first, last))
    return Ports(tuple(ranges))


def parse_proxy(text: str) -> Proxy | None:
    """Parse the address of a proxy; None if empty.

    Raises:
        EgressPolicyError: the address is invalid. The message does not quote it, since it may contain a password.
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
