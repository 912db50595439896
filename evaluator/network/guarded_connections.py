"""Connections of the SSRF guard: each name is resolved once and checked, and the connection uses the checked address.

Every operation of a connection ends at the deadline of its call (`call_deadline`)."""

import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import h11
import httpcore

from evaluator.network import name_resolution
from evaluator.network.egress_policy import EgressPolicy, Ports, Proxy
from evaluator.network.name_resolution import NameUnresolvedError
from evaluator.network.public_addresses import is_public

READ_BYTES = 16 * 1024
"""Size of a read, and approximate limit of h11 for the headers of an answer."""
_MOST_INTERIM_ANSWERS = 10


class TunnelRefusedError(Exception):
    """The proxy refused a tunnel; the message contains its status."""


class Tunnel:
    """A CONNECT request: send `request`, then call `feed` with the received bytes until it returns True."""

    def __init__(self, *, proxy: Proxy, host: str, port: int) -> None:
        """`host` is a name, or an IP address without brackets."""
        self._target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=READ_BYTES)
        self._interim = 0
        headers = [("Host", self._target)]
        if proxy.authorization:
            headers.append(("Proxy-Authorization", proxy.authorization))
        ask = h11.Request(method="CONNECT", target=self._target, headers=headers)
        self.request: bytes = (self._connection.send(ask) or b"") + (self._connection.send(h11.EndOfMessage()) or b"")

    def feed(self, data: bytes) -> bool:
        """Process bytes from the proxy, empty at the end of the connection. Returns True once the tunnel is open.

        Raises:
            TunnelRefusedError: the proxy did not answer with a status of 2xx, or not with HTTP.
        """
        if not data:
            raise self._refused("it closed the connection")
        try:
            self._connection.receive_data(data)
            event = self._connection.next_event()
            while isinstance(event, h11.InformationalResponse):
                self._interim += 1
                if self._interim > _MOST_INTERIM_ANSWERS:
                    raise self._refused("it answers without end")
                event = self._connection.next_event()
        except h11.RemoteProtocolError as error:
            raise self._refused(f"its answer is not HTTP ({error})") from None
        if event is h11.NEED_DATA:
            return False
        if not isinstance(event, h11.Response):
            raise self._refused("its answer has no status")
        if not 200 <= event.status_code < 300:
            reason = event.reason.decode("ascii", "replace")
            raise self._refused(f"it answered {event.status_code} {reason[:80]}".rstrip())
        if self._connection.trailing_data[0]:
            raise self._refused("it sent data before the tunnel was used")
        return True

    def _refused(self, why: str) -> TunnelRefusedError:
        return TunnelRefusedError(f"the egress proxy opened no tunnel to {self._target}: {why}")


_WRITTEN_AT_ONCE = 16 * 1024
"""Bytes after which the deadline is checked again."""


class EgressRefusedError(Exception):
    """The address may not be called; the message is for the user who entered it."""


_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def call_deadline(at: float) -> Iterator[None]:
    """End all reads and writes inside this block at `at` (in `time.monotonic()` seconds).

    httpx's timeouts are per operation: a server that sends single bytes could hold a call forever.
    """
    token = _deadline.set(at)
    try:
        yield
    finally:
        _deadline.reset(token)


def _remaining(timeout: float | None, *, late: type[httpcore.TimeoutException]) -> float | None:
    """Seconds for the next operation: the minimum of its timeout and the time until the deadline.

    Raises:
        httpcore.TimeoutException: of class `late`, after the deadline. A short timeout would not suffice: a server that
            sends continuously never exceeds it.
    """
    at = _deadline.get()
    if at is None:
        return timeout
    left = at - time.monotonic()
    if left <= 0:
        raise late("the deadline has passed")
    return left if timeout is None else min(timeout, left)


def _resolve_within(*, host: str, port: int, seconds: float | None) -> list[str]:
    """The addresses of a name.

    Raises:
        httpcore.ConnectTimeout: no answer in time.
        httpcore.ConnectError: the name does not resolve.
    """
    try:
        return name_resolution.NAMES.addresses(host=host, port=port, seconds=seconds)
    except NameUnresolvedError as error:
        raise httpcore.ConnectTimeout(str(error)) from None
    except OSError as error:
        raise httpcore.ConnectError(f"the name {host} does not resolve: {error.strerror}") from error


def check_public(*, host: str, port: int, seconds: float, caller: str) -> None:
    """Refuse a name that currently resolves to an address that is not public.

    A name that does not resolve within `seconds` passes; it is checked again at each connection.
    """
    with suppress(OSError, NameUnresolvedError):
        addresses = name_resolution.NAMES.addresses(host=host, port=port, seconds=seconds, caller=caller)
        refuse_private(host=host, addresses=addresses)


def refuse_private(*, host: str, addresses: Iterable[str]) -> None:
    for address in addresses:
        if not is_public(address):
            raise EgressRefusedError(
                f"{host} is a loopback, private or reserved address ({address}); "
                "give an address on the public internet."
            )


def refuse_port(*, port: int, ports: Ports) -> None:
    if port not in ports:
        raise EgressRefusedError(f"Port {port} may not be called; this site calls ports {ports} only.")


class _BoundedStream(httpcore.NetworkStream):
    """A stream whose operations end at the call's deadline."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining(timeout, late=httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # In slices: the timeout of a whole buffer restarts with each part that the server accepts.
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


def _proxy_for(policy: EgressPolicy, *, host: str, port: int) -> Proxy | None:
    """The proxy through which a host is called; None: it is called directly."""
    return None if policy.is_own(host=host, port=port) else policy.proxy


class CheckedBackend(httpcore.SyncBackend):
    """Resolves and checks a name, then connects to the checked address, directly or through the proxy."""

    def __init__(self, *, allow_private: bool, policy: EgressPolicy) -> None:
        super().__init__()
        self._allow_private = allow_private
        self._policy = policy

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        problem: Exception | None = None
        for address in self._addresses(host=host, port=port, timeout=timeout):
            try:
                if (proxy := _proxy_for(self._policy, host=host, port=port)) is not None:
                    return self._tunnel(proxy=proxy, address=address, port=port, timeout=timeout)
                left = _remaining(timeout, late=httpcore.ConnectTimeout)
                return _BoundedStream(super().connect_tcp(address, port, left, local_address, socket_options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
        raise problem or httpcore.ConnectError(f"the name {host} has no address")

    def _addresses(self, *, host: str, port: int, timeout: float | None) -> list[str]:
        """The checked addresses of a host."""
        proxy = _proxy_for(self._policy, host=host, port=port)
        may_be_private = self._allow_private or self._policy.is_own(host=host, port=port)
        if not may_be_private:
            refuse_port(port=port, ports=self._policy.ports)
        elif proxy is not None:
            return [host]
        left = _remaining(timeout, late=httpcore.ConnectTimeout)
        try:
            addresses = _resolve_within(host=host, port=port, seconds=left)
        except httpcore.ConnectError:
            if proxy is None:
                raise
            return [host]
        if not may_be_private:
            refuse_private(host=host, addresses=addresses)
        return addresses

    def _tunnel(self, *, proxy: Proxy, address: str, port: int, timeout: float | None) -> httpcore.NetworkStream:
        tunnel = Tunnel(proxy=proxy, host=address, port=port)
        try:
            left = _remaining(timeout, late=httpcore.ConnectTimeout)
            (proxy_address, *_) = _resolve_within(host=proxy.host, port=proxy.port, seconds=left)
            left = _remaining(timeout, late=httpcore.ConnectTimeout)
            stream = _BoundedStream(super().connect_tcp(proxy_address, proxy.port, left))
            try:
                stream.write(tunnel.request, timeout)
                while not tunnel.feed(stream.read(READ_BYTES, timeout)):
                    pass
            except BaseException:
                stream.close()
                raise
        except _PROXY_ERRORS as error:
            raise _of_proxy(error) from None
        return stream


_PROXY_ERRORS = (TunnelRefusedError, httpcore.TimeoutException, httpcore.NetworkError)


def _of_proxy(error: Exception) -> httpcore.ConnectError | httpcore.ConnectTimeout:
    """An error of the proxy as a connection error, since the called server did not cause it."""
    if isinstance(error, httpcore.TimeoutException):
        return httpcore.ConnectTimeout("the egress proxy did not answer in time")
    if isinstance(error, TunnelRefusedError):
        return httpcore.ConnectError(str(error))
    return httpcore.ConnectError("the egress proxy cannot be reached")


class AsyncCheckedBackend(httpcore.AnyIOBackend):
    """Asynchronous `CheckedBackend`."""

    def __init__(self, *, allow_private: bool, policy: EgressPolicy) -> None:
        super().__init__()
        self._allow_private = allow_private
        self._policy = policy

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        problem: Exception | None = None
        for address in await self._addresses(host=host, port=port, timeout=timeout):
            try:
                if (proxy := _proxy_for(self._policy, host=host, port=port)) is not None:
                    return await self._tunnel(proxy=proxy, address=address, port=port, timeout=timeout)
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
        raise problem or httpcore.ConnectError(f"the name {host} has no address")

    async def _addresses(self, *, host: str, port: int, timeout: float | None) -> list[str]:
        proxy = _proxy_for(self._policy, host=host, port=port)
        may_be_private = self._allow_private or self._policy.is_own(host=host, port=port)
        if not may_be_private:
            refuse_port(port=port, ports=self._policy.ports)
        elif proxy is not None:
            return [host]
        try:
            addresses = await name_resolution.NAMES.addresses_async(host=host, port=port, seconds=timeout)
        except NameUnresolvedError as error:
            raise httpcore.ConnectTimeout(str(error)) from None
        except OSError as error:
            if proxy is not None:
                return [host]
            raise httpcore.ConnectError(f"the name {host} does not resolve: {error.strerror}") from error
        if not may_be_private:
            refuse_private(host=host, addresses=addresses)
        return addresses

    async def _tunnel(
        self, *, proxy: Proxy, address: str, port: int, timeout: float | None
    ) -> httpcore.AsyncNetworkStream:  # fmt: skip
        tunnel = Tunnel(proxy=proxy, host=address, port=port)
        try:
            stream = await super().connect_tcp(proxy.host, proxy.port, timeout)
            try:
                await stream.write(tunnel.request, timeout)
                while not tunnel.feed(await stream.read(READ_BYTES, timeout)):
                    pass
            except BaseException:
                await stream.aclose()
                raise
        except _PROXY_ERRORS as error:
            raise _of_proxy(error) from None
        return stream
