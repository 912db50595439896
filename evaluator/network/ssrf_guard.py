"""Calling addresses that users give, without letting them reach what only we can reach.

An address is checked when it is submitted, and again at the moment of each connection: the name is resolved once, every
resulting address must be public, and the connection goes to the very address that was checked, so that a name that
changes its mind in between (DNS rebinding) gains nothing. Redirects are never followed.

With `PLANARENA_EGRESS_PROXY` every connection is a tunnel through that proxy, which is asked for the address that was
checked; it gets the name only where no name server here knows it, and must refuse private addresses itself. Other
proxies in the environment are not used for users' addresses.

Every request asks for an uncompressed answer; `evaluator/network/bounded_answers.py` reads it.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from evaluator.network.bounded_answers import UNCOMPRESSED
from evaluator.network.egress_policy import EgressPolicy, egress_policy
from evaluator.network.guarded_connections import (
    AsyncCheckedBackend,
    CheckedBackend,
    EgressRefusedError,
    check_public,
    refuse_port,
    refuse_private,
)
from evaluator.network.name_resolution import numeric_address


class ConnectionLanes(httpcore.AsyncConnectionPool):
    """A pool of pools with one connection each.

    httpcore's own pool looks at every connection and every request that waits whenever a request begins or ends: with a
    hundred connections that takes longer than the requests themselves.
    """

    def __init__(self, *, ssl_context: ssl.SSLContext, backend: httpcore.AsyncNetworkBackend, count: int) -> None:
        super().__init__()
        self._lanes = [
            httpcore.AsyncConnectionPool(
                ssl_context=ssl_context, network_backend=backend, max_connections=1, keepalive_expiry=10
            )
            for _ in range(count)
        ]
        self._free = [*self._lanes]
        self._places = asyncio.Semaphore(count)

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        await self._places.acquire()
        lane = self._free.pop()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._give_back(lane)
            raise
        stream = _LaneStream(response.stream, done=lambda: self._give_back(lane))
        return httpcore.Response(
            status=response.status, headers=response.headers, content=stream, extensions=response.extensions
        )

    async def aclose(self) -> None:
        for lane in self._lanes:
            await lane.aclose()

    def _give_back(self, lane: httpcore.AsyncConnectionPool) -> None:
        # The lane that was used last is taken first: its connection is open.
        self._free.append(lane)
        self._places.release()


class _LaneStream:
    """A response's body, after which the lane is free again."""

    def __init__(self, stream: Any, *, done: Callable[[], None]) -> None:
        self._stream = stream
        self._done: Callable[[], None] | None = done

    def __aiter__(self) -> AsyncIterator[bytes]:
        iterator: AsyncIterator[bytes] = self._stream.__aiter__()
        return iterator

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            done, self._done = self._done, None
            if done is not None:
                done()


MAX_URL_LENGTH = 500


RESOLVE_SECONDS = 2.0
"""How long `check_url` waits for name servers."""


def check_url(
    *, url: str, allow_private: bool, policy: EgressPolicy | None = None, look_up: bool = True, caller: str = ""
) -> None:
    """Refuse what is not a plain http(s) address of a public host, at a port that may be called.

    Args:
        url: the address.
        allow_private: take any host and port, as a demo does.
        policy: the operator's rules; None: those of the environment.
        look_up: whether to ask name servers, for at most `RESOLVE_SECONDS`; otherwise only hosts that are written as
            an address are known not to be public.
        caller: on whose behalf names are resolved, as `NameResolver` takes it.

    Raises:
        EgressRefusedError: with a sentence that says what is wrong. A name that does not resolve now, or not in time,
            is not refused here, since it may later; it is refused or unreachable when it is called.
    """
    if len(url) > MAX_URL_LENGTH:
        raise EgressRefusedError(f"The address is longer than {MAX_URL_LENGTH} characters.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise EgressRefusedError(f"{url!r} is not a valid address.") from None
    if parts.scheme not in {"http", "https"}:
        raise EgressRefusedError("The address must begin with http:// or https://.")
    if not parts.hostname:
        raise EgressRefusedError("The address names no host.")
    if parts.username or parts.password:
        raise EgressRefusedError("The address must not hold a user name or password.")
    if not _can_be_looked_up(parts.hostname):
        raise EgressRefusedError("The address names a host that no name server can know.")
    if allow_private:
        return
    port = port if port is not None else 443 if parts.scheme == "https" else 80
    refuse_port(port=port, ports=(policy or egress_policy()).ports)
    if (address := numeric_address(parts.hostname)) is not None:
        refuse_private(host=parts.hostname, addresses=[address])
    elif look_up:
        check_public(host=parts.hostname, port=port, seconds=RESOLVE_SECONDS, caller=caller)


def egress_client(
    *, allow_private: bool, timeout: httpx.Timeout, policy: EgressPolicy | None = None
) -> httpx.Client:  # fmt: skip
    """An HTTP client that connects only to addresses that pass the check at that moment.

    Args:
        allow_private: connect to any host and port.
        timeout: of each operation; `call_deadline` bounds them together.
        policy: the operator's rules; None: those of the environment.
    """
    return httpx.Client(
        transport=_Transport(allow_private=allow_private, policy=policy or egress_policy()),
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        headers=UNCOMPRESSED,
    )


def operator_client(
    *,
    url: str,
    timeout: httpx.Timeout,
    transport: httpx.BaseTransport | None = None,
    policy: EgressPolicy | None = None,
) -> httpx.Client:
    """An HTTP client for a server that the operator chose, which may be private or behind a proxy of the environment.

    The egress proxy comes before those of the environment; `NO_PROXY` names the hosts that are reached without either.

    Args:
        url: the server's address, which decides about the proxy.
        timeout: of each operation; `call_deadline` bounds them together.
        transport: how requests are sent instead; tests give a fake.
        policy: the operator's rules; None: those of the environment.
    """
    return httpx.Client(
        transport=transport or _operator_transport(url=url, policy=policy or egress_policy()),
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        headers=UNCOMPRESSED,
    )


def _operator_transport(*, url: str, policy: EgressPolicy) -> httpx.BaseTransport:
    if policy.proxy is None:
        return _OperatorTransport(proxy=_proxy_for(url))
    if proxy_bypass(urlsplit(url).hostname or ""):
        return _OperatorTransport(proxy=None)
    return _Transport(allow_private=True, policy=policy)


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`)."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def async_egress_client(
    *, allow_private: bool, timeout: httpx.Timeout, connections: int, policy: EgressPolicy | None = None
) -> httpx.AsyncClient:
    """As `egress_client`, for code that waits for many answers at once; used in one event loop.

    Calls are bounded in time by `asyncio.timeout`, which ends what `call_deadline` ends elsewhere.
    """
    return httpx.AsyncClient(
        transport=_AsyncTransport(
            allow_private=allow_private, connections=connections, policy=policy or egress_policy()
        ),
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        headers=UNCOMPRESSED,
    )


def _can_be_looked_up(host: str) -> bool:
    """Whether the name's parts have lengths and characters that names may have."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


class _Transport(httpx.HTTPTransport):
    """httpx's own transport over a pool with the checked backend.

    httpx has no public way to pass a network backend, and replacing the pool keeps its
    mapping of errors. `tests/evaluator/network/test_ssrf_guard.py` fails if a new httpx no longer uses this pool.
    """

    def __init__(self, *, allow_private: bool, policy: EgressPolicy) -> None:
        super().__init__(trust_env=False)
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            network_backend=CheckedBackend(allow_private=allow_private, policy=policy),
            max_connections=64,
            keepalive_expiry=10,
        )


class _OperatorTransport(httpx.HTTPTransport):
    """httpx's own transport, proxies included, over connections that end at the call's deadline."""

    def __init__(self, *, proxy: str | None) -> None:
        super().__init__(proxy=proxy)
        direct = EgressPolicy(ports=egress_policy().ports)
        self._pool._network_backend = CheckedBackend(allow_private=True, policy=direct)


class _AsyncTransport(httpx.AsyncHTTPTransport):
    """As `_Transport`."""

    def __init__(self, *, allow_private: bool, connections: int, policy: EgressPolicy) -> None:
        context = ssl.create_default_context()
        super().__init__(verify=context, trust_env=False)
        backend = AsyncCheckedBackend(allow_private=allow_private, policy=policy)
        self._pool = ConnectionLanes(ssl_context=context, backend=backend, count=connections)
