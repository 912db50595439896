"""Reading from a site, which may be hostile, or from a file that was downloaded before.

A download is one JSON file that maps addresses to answers. It is not an archive: nothing is unpacked, which
rules out path traversal and decompression bombs.
"""

import base64
import binascii
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import httpx

from evaluator.core import canonical_json
from evaluator.network.bounded_answers import (
    AnswerLateError,
    AnswerTooLargeError,
    CompressedAnswerError,
    beginning_of,
    read_answer,
)
from evaluator.network.guarded_connections import call_deadline
from evaluator.network.ssrf_guard import operator_client
from evaluator.network.transient import (
    Backoff,
    TransientError,
    asked_to_wait,
    is_transient,
    retried,
    server_error,
)

DOWNLOAD_FORMAT = "planarena-download/1"
_ANSWER_SECONDS = 60.0
_BACKOFF = Backoff(longest=30.0, jitter=True)
_MOST_TOTAL_BYTES = 4 * 1024**3
_LARGEST_FILE_BYTES = 1024**3


class FetchError(Exception):
    """An answer that cannot be had; the message is the end of a sentence."""


class MissingError(FetchError):
    """The site answered 404."""


class Fetcher(Protocol):
    """Where answers come from."""

    def get(self, path: str, *, most_bytes: int) -> bytes:
        """The answer to `GET path`, which begins with a slash and may have a query.

        Raises:
            MissingError: there is none (404).
            FetchError: it cannot be had.
        """
        ...


class SiteFetcher:
    """Answers of a site: uncompressed, bounded in bytes and time, without following redirections."""

    def __init__(
        self,
        *,
        site: str,
        patience: float,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        answer_seconds: float = _ANSWER_SECONDS,
    ) -> None:
        """
        Args:
            site: its address without a slash at the end.
            patience: seconds for which a request is tried again.
            answer_seconds: deadline for one answer.
        """
        self._site, self._patience, self._sleep, self._clock = site, patience, sleep, clock
        self._answer_seconds, self._left = answer_seconds, _MOST_TOTAL_BYTES
        timeout = httpx.Timeout(min(30.0, answer_seconds), connect=min(10.0, answer_seconds))
        self._client = operator_client(url=site, timeout=timeout, transport=transport)

    def get(self, path: str, *, most_bytes: int) -> bytes:
        most = min(most_bytes, self._left)
        try:
            body = retried(
                lambda _: self._once(path, most_bytes=most), backoff=_BACKOFF, seconds=self._patience,
                sleep=self._sleep, clock=self._clock,
            )  # fmt: skip
        except TransientError as error:
            raise FetchError(str(error)) from None
        self._left -= len(body)
        return body

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _once(self, path: str, *, most_bytes: int) -> bytes:
        """The body of the answer. Raises `TransientError` where another try may have it."""
        until = self._clock() + self._answer_seconds
        late = f"the answer was not complete after {self._answer_seconds:g} seconds"
        try:
            # One deadline for connection, headers and body, however slowly they come.
            with (
                call_deadline(time.monotonic() + self._answer_seconds),
                self._client.stream("GET", self._site + path) as response,
            ):
                status = response.status_code
                if status == httpx.codes.OK:
                    return read_answer(response, most_bytes=most_bytes, until=until, clock=self._clock)
                found = server_error(status, body=beginning_of(response, until=until, clock=self._clock))
                problem = f"the site answers {found}"
                if is_transient(status):
                    raise TransientError(problem, asked=asked_to_wait(response.headers))
                raise (MissingError if status == httpx.codes.NOT_FOUND else FetchError)(problem)
        except AnswerTooLargeError:
            raise FetchError(f"the answer has more than {most_bytes} bytes") from None
        except CompressedAnswerError:
            raise FetchError("the answer is compressed although none was asked for") from None
        except (AnswerLateError, httpx.TimeoutException):
            raise TransientError(late) from None
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise TransientError(f"the site cannot be reached: {error or type(error).__name__}") from None


class RecordingFetcher:
    """Passes answers on, and keeps them for a file."""

    def __init__(self, source: Fetcher) -> None:
        self._source = source
        self._answers: dict[str, str | None] = {}

    def get(self, path: str, *, most_bytes: int) -> bytes:
        try:
            body = self._source.get(path, most_bytes=most_bytes)
        except MissingError:
            self._answers[path] = None
            raise
        self._answers[path] = base64.b64encode(body).decode("ascii")
        return body

    def write(self, file: Path, *, facts: Mapping[str, Any]) -> None:
        """Write the download.

        Raises:
            OSError: the file cannot be written.
        """
        document = {"format": DOWNLOAD_FORMAT, **facts, "answers": self._answers}
        file.write_text(json.dumps(document), encoding="utf-8")


class FileFetcher:
    """Answers from a download. Opens no connection."""

    def __init__(self, file: Path) -> None:
        """
        Raises:
            FetchError: the file is no download.
        """
        try:
            if file.stat().st_size > _LARGEST_FILE_BYTES:
                raise FetchError(f"{file} is larger than {_LARGEST_FILE_BYTES} bytes")
            found: Any = canonical_json.loads(file.read_bytes())
        except OSError as error:
            raise FetchError(f"{file} cannot be read: {error}") from None
        except ValueError:
            raise FetchError(f"{file} is no file of `planarena verify --download`, which is JSON") from None
        answers = found.get("answers") if isinstance(found, dict) else None
        if not isinstance(answers, dict) or found.get("format") != DOWNLOAD_FORMAT:
            raise FetchError(f"{file} is no file of `planarena verify --download` ({DOWNLOAD_FORMAT})")
        self._answers: dict[str, Any] = answers
        self.facts: dict[str, Any] = {name: value for name, value in found.items() if name != "answers"}
        """What was verified when it was downloaded: address, sample and seed."""

    def get(self, path: str, *, most_bytes: int) -> bytes:
        if path not in self._answers:
            raise FetchError(f"the file does not have {path}")
        kept = self._answers[path]
        if kept is None:
            raise MissingError("the site answered 404 when the file was downloaded")
        try:
            body = base64.b64decode(kept, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise FetchError(f"the file's answer to {path} is not base64") from None
        if len(body) > most_bytes:
            raise FetchError(f"the answer has more than {most_bytes} bytes")
        return body
