"""Downloading public files whose digests are known. The only addresses are those that this repository itself names."""

import httpx

_TIMEOUT = httpx.Timeout(30.0, connect=10.0)


class DownloadError(Exception):
    """A file could not be downloaded; the message is one sentence that names the address."""


def download(*, url: str, most_bytes: int) -> bytes:
    """The bytes at an address.

    Args:
        url: an http(s) address; redirects are not followed.
        most_bytes: where to stop: a longer answer is not what was asked for.

    Raises:
        DownloadError: the address cannot be reached, answers anything but 200, or sends too much.
    """
    content = bytearray()
    try:
        with httpx.stream("GET", url, timeout=_TIMEOUT) as response:
            if response.status_code != httpx.codes.OK:
                raise DownloadError(f"{url} answered {response.status_code} {response.reason_phrase}")
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > most_bytes:
                    raise DownloadError(f"{url} sent more than {most_bytes} bytes")
    except httpx.HTTPError as error:
        raise DownloadError(f"{url} could not be downloaded ({error or type(error).__name__})") from None
    return bytes(content)
