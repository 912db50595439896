"""The client of the model hub, bounded in bytes and time, and through the operator's egress proxy.

huggingface_hub has one HTTP client per process for all calls and threads; `hub_limits` replaces it by a bounded one
during a download. Files are downloaded by HTTP only: the hub's transfer library (hf_xet) can neither be bounded nor use
the egress proxy.
"""

import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import httpcore2
import httpx2
from huggingface_hub import constants, get_token, set_client_factory
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils._http import default_client_factory, hf_request_event_hook

from evaluator.network.bounded_answers import UNCOMPRESSED
from evaluator.network.egress_policy import egress_policy
from evaluator.network.secret_header import HIDDEN
from evaluator.network.transient import (
    Backoff,
    ErrorKind,
    ServerError,
    TransientError,
    asked_to_wait,
    retried,
    server_error,
)

DESCRIPTION_BYTES = 16 * 1024 * 1024
"""Largest answer that is read into memory. Repositories with tens of thousands of files have megabytes of metadata."""
DESCRIPTION_SECONDS = 60.0
_SLOWEST_BYTES_PER_SECOND = 1_000_000
_PATIENCE_SECONDS = 600.0
_SLACK_BYTES = 64 * 1024 * 1024
_one_at_a_time = threading.RLock()
_TRIES = 3
_BACKOFF = Backoff(longest=1.0, longest_asked=30.0)
_Result = TypeVar("_Result")


class HubAnswerError(OSError):
    """The hub answered too much, too slowly, or compressed despite the request; the message is a clause."""


def download_limits(declared_bytes: int) -> tuple[int, float]:
    """Limits of a download in bytes and seconds, from the size that the hub declares. After a broken connection each
    byte may be transferred twice."""
    return 2 * declared_bytes + _SLACK_BYTES, _PATIENCE_SECONDS + declared_bytes / _SLOWEST_BYTES_PER_SECOND


@contextmanager
def hub_limits(
    *, most_bytes: int, seconds: float, endpoint: str | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Bound all calls of huggingface_hub in this block together. Only one block runs at a time in a process.

    Calls raise `HubAnswerError` when a limit is exceeded.

    Args:
        most_bytes: of all bodies.
        seconds: of the whole block.
        endpoint: the hub's address; None for the default of its client.
        clock: the time in seconds.
    """
    with _one_at_a_time:
        limits = _Limits(most_bytes=most_bytes, until=clock() + seconds, clock=clock)
        uses_xet, constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_XET, True
        set_client_factory(lambda: _client(limits, endpoint=endpoint or constants.ENDPOINT))
        try:
            yield
        finally:
            set_client_factory(default_client_factory)
            constants.HF_HUB_DISABLE_XET = uses_xet


def patiently(call: Callable[[], _Result], *, sleep: Callable[[float], None] = time.sleep) -> _Result:
    """Call huggingface_hub, with retries while the answer of the hub is transient.

    Raises:
        HfHubHTTPError: the answer is not transient, or the last try failed too.
    """

    def called(_: int) -> _Result:
        try:
            return call()
        except HfHubHTTPError as error:
            response = error.response
            if response is None or _error_of(error).kind is not ErrorKind.TRANSIENT:
                raise
            raise TransientError(str(error), asked=asked_to_wait(response.headers)) from error

    try:
        return retried(called, backoff=_BACKOFF, tries=_TRIES, sleep=sleep)
    except TransientError as error:
        raise error.__cause__ or error from None


def reason_of(error: Exception) -> str:
    """Why a call of huggingface_hub failed, as a clause without the access token."""
    if isinstance(error, HfHubHTTPError) and error.response is not None:
        return str(_error_of(error))
    return without_token(str(error).partition("\n")[0]) or type(error).__name__


def _error_of(error: HfHubHTTPError) -> ServerError:
    said = error.server_message or str(error).partition("\n")[0]
    return server_error(error.response.status_code, body=said.encode("utf-8", "replace"), without=without_token)


def without_token(text: str) -> str:
    """A text without the access token for the hub."""
    token = get_token()
    return text.replace(token, HIDDEN) if token else text


class _Limits:
    """The remaining bytes and time for all threads of a download."""

    def __init__(self, *, most_bytes: int, until: float, clock: Callable[[], float]) -> None:
        self._most, self._until, self._clock = most_bytes, until, clock
        self._received = 0
        self._lock = threading.Lock()

    def seconds_left(self, timeout: float | None) -> float:
        """Seconds for the next operation, at most its own timeout."""
        left = self._until - self._clock()
        if left <= 0:
            raise HubAnswerError("it sends too slowly: the time for this download is over")
        return left if timeout is None else min(timeout, left)

    def count(self, received: int) -> None:
        """Count received bytes of a body."""
        with self._lock:
            self._received += received
        if self._received > self._most:
            raise HubAnswerError(f"it sent more than {self._most} bytes")


def _client(limits: _Limits, *, endpoint: str) -> httpx2.Client:
    def limit_body(response: httpx2.Response) -> None:
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in {"", "identity"}:
            raise HubAnswerError("it compresses its answers although it was asked not to")
        # All answers except files are read into memory.
        is_file = response.is_success and not response.url.path.startswith("/api/")
        most = None if is_file else DESCRIPTION_BYTES
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _CountedStream(response.stream, limits=limits, most_bytes=most)

    proxy = egress_policy().proxy
    through = proxy is not None and not proxy_bypass(urlsplit(endpoint).hostname or "")
    client = httpx2.Client(
        headers=UNCOMPRESSED,
        event_hooks={"request": [hf_request_event_hook], "response": [limit_body]},
        follow_redirects=True,
        timeout=None,
        proxy=proxy.url if proxy is not None and through else None,
        # Of a private authority, too (SSL_CERT_FILE).
        verify=httpx2.create_ssl_context(),
        # Without an egress proxy, use the proxies of the environment.
        trust_env=proxy is None,
    )
    # Like httpx, httpx2 has no public way to set a network backend.
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            transport._pool._network_backend = _TimedBackend(limits)
    return client


class _CountedStream(httpx2.SyncByteStream):
    """A body whose bytes are counted as they arrive."""

    def __init__(self, stream: httpx2.SyncByteStream, *, limits: _Limits, most_bytes: int | None) -> None:
        self._stream, self._limits, self._most = stream, limits, most_bytes

    def __iter__(self) -> Iterator[bytes]:
        received = 0
        for chunk in self._stream:
            received += len(chunk)
            self._limits.count(len(chunk))
            if self._most is not None and received > self._most:
                raise HubAnswerError(f"it sent more than {self._most} bytes for one answer")
            yield chunk

    def close(self) -> None:
        self._stream.close()


class _TimedBackend(httpcore2.SyncBackend):
    """Connections whose operations end at the deadline of the download."""

    def __init__(self, limits: _Limits) -> None:
        super().__init__()
        self._limits = limits

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        left = self._limits.seconds_left(timeout)
        return _TimedStream(super().connect_tcp(host, port, left, local_address, socket_options), limits=self._limits)


class _TimedStream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream, *, limits: _Limits) -> None:
        self._stream, self._limits = stream, limits

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._limits.seconds_left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._limits.seconds_left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        left = self._limits.seconds_left(timeout)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, left), limits=self._limits)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
