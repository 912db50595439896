"""Downloads of public files with known digests, from addresses in this repository only."""

import time

import httpx

from evaluator.network.bounded_answers import (
    AnswerLateError,
    AnswerTooLargeError,
    CompressedAnswerError,
    beginning_of,
    read_answer,
)
from evaluator.network.guarded_connections import call_deadline
from evaluator.network.released_files import FetchError, PublicFile
from evaluator.network.ssrf_guard import operator_client
from evaluator.network.transient import server_error

_TIMEOUT = httpx.Timeout(30.0, connect=10.0)
DEADLINE_SECONDS = 300.0


class DownloadError(Exception):
    """A download failed; the message is a sentence with the address."""


def download(*, url: str, most_bytes: int, deadline_seconds: float = DEADLINE_SECONDS) -> bytes:
    """Download the content of an address.

    Args:
        url: an http(s) address; redirects are not followed.
        most_bytes: the largest content.
        deadline_seconds: for connection, headers and body together.

    Raises:
        DownloadError: the address is unreachable, does not answer 200, or sends too much or too slowly.
    """
    until = time.monotonic() + deadline_seconds
    try:
        with (
            call_deadline(until),
            operator_client(url=url, timeout=_TIMEOUT) as client,
            client.stream("GET", url) as response,
        ):
            if response.status_code != httpx.codes.OK:
                error = server_error(response.status_code, body=beginning_of(response, until=until))
                raise DownloadError(f"{url} answered {error}")
            return read_answer(response, most_bytes=most_bytes, until=until)
    except AnswerTooLargeError:
        raise DownloadError(f"{url} sent more than {most_bytes} bytes") from None
    except AnswerLateError:
        raise DownloadError(f"{url} was not downloaded within {deadline_seconds:g} seconds") from None
    except (httpx.HTTPError, CompressedAnswerError) as error:
        raise DownloadError(f"{url} could not be downloaded ({error or type(error).__name__})") from None


def download_released(file: PublicFile) -> bytes:
    """Download a released file, without checking its digest.

    Raises:
        FetchError: the download failed.
    """
    try:
        return download(url=file.url, most_bytes=2 * file.bytes)
    except DownloadError as error:
        raise FetchError(f"{error}; --from DIR takes the files from a folder") from None
