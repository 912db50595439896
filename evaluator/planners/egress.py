"""Calling addresses that users give, without letting them reach what only we can reach.

An address is checked when it is submitted, and again at the moment of each connection: the name is resolved once, every
resulting address must be public, and the connection goes to the very address that was checked, so that a name that
changes its mind in between (DNS rebinding) gains nothing. Redirects are never followed and proxies from the
environment are not used.

Every request asks for an uncompressed answer; `evaluator/bounded_answers.py` reads it.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from evaluator.bounded_answers import UNCOMPRESSED
from evaluator.planners.public_addresses import is_public

MAX_URL_LENGTH = 500
_WRITTEN_AT_ONCE = 16 * 1024
"""Bytes after which the deadline is looked at again."""


class EgressRefusedError(Exception):
    """The address may not be called; the message is for the person who gave it."""


def check_url(*, url: str, allow_private: bool) -> None:
    """Refuse what is not a plain http(s) address of a public host.

    Raises:
        EgressRefusedError: with a sentence that says what is wrong. A name that does not resolve now is not refused
            here, since it may later; it is refused or unreachable when it is called.
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
    try:
        addresses = _resolve(parts.hostname, port or (443 if parts.scheme == "https" else 80))
    except OSError:
        return
    _refuse_private(host=parts.hostname, addresses=addresses)


def egress_client(*, allow_private: bool, timeout: httpx.Timeout) -> httpx.Client:
    """An HTTP client that connects only to addresses that pass the check at that moment."""
    return httpx.Client(
        transport=_Transport(allow_private=allow_private),
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        headers=UNCOMPRESSED,
    )


def operator_client(*, url: str, timeout: httpx.Timeout, transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """An HTTP client for a server that the operator chose, which may be private or behind a proxy of the environment.

    Args:
        url: the server's address, which decides about the proxy.
        timeout: of each operation; `call_deadline` bounds them together.
        transport: how requests are sent instead; tests give a fake.
    """
    return httpx.Client(
        transport=transport or _OperatorTransport(proxy=_proxy_for(url)),
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        headers=UNCOMPRESSED,
    )


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`)."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def async_egress_client(*, allow_private: bool, timeout: httpx.Timeout, connections: int) -> httpx.AsyncClient:
    """The same for code that waits for many answers at once; used in one event loop.

    Calls are bounded in time by `asyncio.timeout`, which ends what `call_deadline` ends elsewhere.
    """
    return httpx.AsyncClient(
        transport=_AsyncTransport(allow_private=allow_private, connections=connections),
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        headers=UNCOMPRESSED,
    )


_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def call_deadline(at: float) -> Iterator[None]:
    """Let no read or write inside this block last beyond `at` (in `time.monotonic()` seconds).

    httpx's timeouts are per operation: a server that sends a byte now and then would hold a call for ever.
    """
    token = _deadline.set(at)
    try:
        yield
    finally:
        _deadline.reset(token)


def _remaining(timeout: float | None, *, late: type[httpcore.TimeoutException]) -> float | None:
    """Seconds for the next operation: its own timeout or what is left until the deadline.

    Raises:
        httpcore.TimeoutException: of the kind `late`, once the deadline has passed. A short timeout would not do: a
            server that sends without a pause never exceeds it.
    """
    at = _deadline.get()
    if at is None:
        return timeout
    left = at - time.monotonic()
    if left <= 0:
        raise late("the deadline has passed")
    return left if timeout is None else min(timeout, left)


def _can_be_looked_up(host: str) -> bool:
    """Whether the name's parts have lengths and characters that names may have."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


def _resolve(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        # Names that cannot be encoded are no error of the system to Python.
        raise socket.gaierror(socket.EAI_NONAME, "it cannot be the name of a host") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _resolve_within(*, host: str, port: int, seconds: float | None) -> list[str]:
    """The addresses of a name.

    The system's resolver takes no timeout, and whoever gave the name may run a slow name server: a thread waits for it.

    Raises:
        httpcore.ConnectTimeout: there was no answer in time.
        httpcore.ConnectError: the name does not resolve.
    """
    found: Future[list[str]] = Future()

    def look_up() -> None:
        try:
            found.set_result(_resolve(host, port))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            found.set_exception(error)

    Thread(target=look_up, name="resolving", daemon=True).start()
    try:
        return found.result(timeout=seconds)
    except OSError as error:
        if not found.done():
            raise httpcore.ConnectTimeout(f"the name {host} was not resolved in time") from None
        raise httpcore.ConnectError(f"the name {host} does not resolve: {error.strerror}") from error


def _refuse_private(*, host: str, addresses: Iterable[str]) -> None:
    for address in addresses:
        if not is_public(address):
            raise EgressRefusedError(
                f"{host} is a loopback, private or reserved address ({address}); "
                "give an address on the public internet."
            )


class _BoundedStream(httpcore.NetworkStream):
    """A stream whose operations end at the call's deadline."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining(timeout, late=httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # In slices: the timeout of a whole buffer begins again with each part that the server accepts.
        for start in range(0, len(buffer), _WRITTEN_AT_ONCE):
            left = _remaining(timeout, late=httpcore.WriteTimeout)
            self._stream.write(buffer[start : start + _WRITTEN_AT_ONCE], left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _remaining(timeout, late=httpcore.ConnectTimeout)
        return _BoundedStream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _CheckedBackend(httpcore.SyncBackend):
    """Resolves, checks, then connects to the address that was checked."""

    def __init__(self, *, allow_private: bool) -> None:
        super().__init__()
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _remaining(timeout, late=httpcore.ConnectTimeout)
        addresses = _resolve_within(host=host, port=port, seconds=left)
        if not self._allow_private:
            _refuse_private(host=host, addresses=addresses)
        problem: Exception | None = None
        for address in addresses:
            try:
                left = _remaining(timeout, late=httpcore.ConnectTimeout)
                stream = super().connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
                continue
            return _BoundedStream(stream)
        raise problem or httpcore.ConnectError(f"the name {host} has no address")


class _Transport(httpx.HTTPTransport):
    """httpx's own transport over a pool with the checked backend.

    httpx has no public way to pass a network backend, and replacing the pool keeps its
    mapping of errors. `tests/evaluator/planners/test_egress.py` fails if a new httpx no longer uses this pool.
    """

    def __init__(self, *, allow_private: bool) -> None:
        super().__init__(trust_env=False)
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            network_backend=_CheckedBackend(allow_private=allow_private),
            max_connections=64,
            keepalive_expiry=10,
        )


class _OperatorTransport(httpx.HTTPTransport):
    """httpx's own transport, proxies included, over connections that end at the call's deadline."""

    def __init__(self, *, proxy: str | None) -> None:
        super().__init__(proxy=proxy)
        self._pool._network_backend = _CheckedBackend(allow_private=True)


class _AsyncCheckedBackend(httpcore.AnyIOBackend):
    """Resolves, checks, then connects to the address that was checked."""

    def __init__(self, *, allow_private: bool) -> None:
        super().__init__()
        self._allow_private = allow_private

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            addresses = await asyncio.get_running_loop().run_in_executor(None, _resolve, host, port)
        except OSError as error:
            raise httpcore.ConnectError(f"the name {host} does not resolve: {error.strerror}") from error
        if not self._allow_private:
            _refuse_private(host=host, addresses=addresses)
        problem: Exception | None = None
        for address in addresses:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
        raise problem or httpcore.ConnectError(f"the name {host} has no address")


class _AsyncTransport(httpx.AsyncHTTPTransport):
    """As `_Transport`."""

    def __init__(self, *, allow_private: bool, connections: int) -> None:
        context = ssl.create_default_context()
        super().__init__(verify=context, trust_env=False)
        backend = _AsyncCheckedBackend(allow_private=allow_private)
        self._pool = _Lanes(ssl_context=context, backend=backend, count=connections)


class _Lanes(httpcore.AsyncConnectionPool):
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
