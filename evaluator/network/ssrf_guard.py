"""Clients for user-supplied addresses, protected against server-side request forgery (SSRF).

An address is checked when it is submitted, and again for each connection: the name is resolved once, all its addresses
must be public, and the connection uses a checked address, so that DNS rebinding has no effect. Redirects are not
followed.

With `PLANARENA_EGRESS_PROXY` every connection is a tunnel through that proxy to the checked address. The proxy gets the
name only if it cannot be resolved here, and must then refuse private addresses itself. Other proxies in the environment
are not used for users' addresses.

Every request asks for an uncompressed answer, which `evaluator/network/bounded_answers.py` reads.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from evaluator.network.authorities import bundled_authorities, system_authorities
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

    httpcore's own pool scans all connections and waiting requests at the start and end of each request, which with a
    hundred connections takes longer than the requests themselves.
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
            self._release(lane)
            raise
        stream = _LaneStream(response.stream, done=lambda: self._release(lane))
        return httpcore.Response(
            status=response.status, headers=response.headers, content=stream, extensions=response.extensions
        )

    async def aclose(self) -> None:
        for lane in self._lanes:
            await lane.aclose()

    def _release(self, lane: httpcore.AsyncConnectionPool) -> None:
        # The most recently used lane is taken first: its connection is open.
        self._free.append(lane)
        self._places.release()


class _LaneStream:
    """The body of a response, which releases its lane when closed."""

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
"""Longest wait of `check_url` for name servers."""


def check_url(
    *, url: str, allow_private: bool, policy: EgressPolicy | None = None, look_up: bool = True, caller: str = ""
) -> None:
    """Check for a plain http(s) address of a public host at an allowed port, or of the operator's own language models.

    Args:
        url: the address.
        allow_private: accept any host and port, as in a demo.
        policy: the operator's policy; None for that of the environment.
        look_up: whether to query name servers, for at most `RESOLVE_SECONDS`; otherwise only numeric hosts are checked.
        caller: see `NameResolver.addresses`.

    Raises:
        EgressRefusedError: with a sentence that says what is wrong. A name that does not resolve in time is accepted,
            since it may resolve later; it is checked when it is called.
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
    try:
        parts.hostname.encode("idna")
    except UnicodeError:
        raise EgressRefusedError("The address names a host that no name server can know.") from None
    policy = policy or egress_policy()
    if allow_private or (policy.is_own_url(url) and ".." not in parts.path):
        return
    port = port if port is not None else 443 if parts.scheme == "https" else 80
    refuse_port(port=port, ports=policy.ports)
    if (address := numeric_address(parts.hostname)) is not None:
        refuse_private(host=parts.hostname, addresses=[address])
    elif look_up:
        check_public(host=parts.hostname, port=port, seconds=RESOLVE_SECONDS, caller=caller)


def egress_client(
    *, allow_private: bool, timeout: httpx.Timeout, policy: EgressPolicy | None = None
) -> httpx.Client:  # fmt: skip
    """An HTTP client that checks the address of each connection.

    Args:
        allow_private: connect to any host and port.
        timeout: of each operation; `call_deadline` bounds them together.
        policy: the operator's policy; None for that of the environment.
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
    """An HTTP client for a server that the operator configured, which may be private or behind a proxy.

    The egress proxy takes precedence over those of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`);
    `NO_PROXY` lists hosts that are reached directly.

    Args:
        url: the server's address, which determines the proxy.
        timeout: of each operation; `call_deadline` bounds them together.
        transport: for tests.
        policy: the operator's policy; None for that of the environment.
    """
    if transport is None:
        policy, parts = policy or egress_policy(), urlsplit(url)
        if proxy_bypass(parts.hostname or ""):
            transport = _OperatorTransport(proxy=None)
        elif policy.proxy is None:
            proxies = getproxies()
            transport = _OperatorTransport(proxy=proxies.get(parts.scheme) or proxies.get("all"))
        else:
            transport = _Transport(allow_private=True, policy=policy)
    return httpx.Client(
        transport=transport, timeout=timeout, follow_redirects=False, trust_env=False, headers=UNCOMPRESSED
    )


def async_egress_client(
    *, allow_private: bool, timeout: httpx.Timeout, connections: int, policy: EgressPolicy | None = None
) -> httpx.AsyncClient:
    """Asynchronous `egress_client`, for use in one event loop. `asyncio.timeout` bounds calls, not `call_deadline`."""
    return httpx.AsyncClient(
        transport=_AsyncTransport(
            allow_private=allow_private, connections=connections, policy=policy or egress_policy()
        ),
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        headers=UNCOMPRESSED,
    )


class _Transport(httpx.HTTPTransport):
    """httpx's transport over a pool with the checked backend.

    httpx has no public way to set a network backend; replacing the pool preserves its mapping of errors.
    `tests/evaluator/network/test_ssrf_guard.py` fails if a new httpx no longer uses this pool.
    """

    def __init__(self, *, allow_private: bool, policy: EgressPolicy) -> None:
        context = system_authorities()
        super().__init__(verify=context, trust_env=False)
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            network_backend=CheckedBackend(allow_private=allow_private, policy=policy),
            max_connections=64,
            keepalive_expiry=10,
        )


class _OperatorTransport(httpx.HTTPTransport):
    """httpx's transport, including proxies, over connections that end at the call's deadline."""

    def __init__(self, *, proxy: str | None) -> None:
        super().__init__(verify=bundled_authorities(), proxy=proxy)
        direct = EgressPolicy(ports=egress_policy().ports)
        self._pool._network_backend = CheckedBackend(allow_private=True, policy=direct)


class _AsyncTransport(httpx.AsyncHTTPTransport):
    """Asynchronous `_Transport`."""

    def __init__(self, *, allow_private: bool, connections: int, policy: EgressPolicy) -> None:
        context = system_authorities()
        super().__init__(verify=context, trust_env=False)
        backend = AsyncCheckedBackend(allow_private=allow_private, policy=policy)
        self._pool = ConnectionLanes(ssl_context=context, backend=backend, count=connections)
