"""The operator's policy for calls to users' servers: allowed ports, a proxy, and the operator's own language models.

PLANARENA_EGRESS_PORTS   default: `80,443,1024-65535`
PLANARENA_EGRESS_PROXY   `http://[USER:PASSWORD@]HOST:PORT` of an HTTP proxy that supports CONNECT; unset: no proxy
PLANARENA_OWN_MODELS     base addresses of chat endpoints that the operator serves, such as `http://llm.models.svc:8000/v1`,
                         separated by commas; they may be private, and are called past the proxy
"""

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

PORTS = "PLANARENA_EGRESS_PORTS"
PROXY = "PLANARENA_EGRESS_PROXY"
OWN_MODELS = "PLANARENA_OWN_MODELS"
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
class OwnModel:
    """A chat endpoint that the operator serves."""

    host: str
    port: int
    url: str
    """Its base address, without a slash at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """The operator's policy."""

    ports: Ports
    proxy: Proxy | None = None
    own_models: tuple[OwnModel, ...] = ()

    def is_own(self, *, host: str, port: int) -> bool:
        """Whether the operator serves language models at this host and port."""
        return any((model.host, model.port) == (host.lower(), port) for model in self.own_models)

    def is_own_url(self, url: str) -> bool:
        """Whether an address is the base address of one of the operator's language models, or below it."""
        return any(url == model.url or url.startswith(f"{model.url}/") for model in self.own_models)


def egress_policy(environment: Mapping[str, str] = os.environ) -> EgressPolicy:
    """The policy in environment variables.

    Raises:
        EgressPolicyError: a variable is invalid.
    """
    return EgressPolicy(
        ports=parse_ports(environment.get(PORTS, "").strip() or DEFAULT_PORTS),
        proxy=parse_proxy(environment.get(PROXY, "").strip()),
        own_models=parse_own_models(environment.get(OWN_MODELS, "").strip()),
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


def parse_own_models(text: str) -> tuple[OwnModel, ...]:
    """Parse base addresses, separated by commas.

    Raises:
        EgressPolicyError: an address is invalid.
    """
    return tuple(_own_model(part.strip()) for part in text.split(",") if part.strip())


def _own_model(url: str) -> OwnModel:
    right = f"{OWN_MODELS}: {url[:100]!r} must be http://HOST:PORT/v1 or https://..., without credentials and query"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise EgressPolicyError(right) from None
    is_plain = not (parts.username or parts.password or parts.query or parts.fragment or ".." in parts.path)
    if parts.scheme not in {"http", "https"} or not host or not is_plain:
        raise EgressPolicyError(right)
    return OwnModel(host=host, port=port or (443 if parts.scheme == "https" else 80), url=url.rstrip("/"))
