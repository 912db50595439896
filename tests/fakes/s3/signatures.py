"""Whether a request is signed by the one user of the fake, in its headers or in its query, as S3 decides it."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from urllib.parse import parse_qsl, urlsplit

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEY, SECRET, REGION = "key", "secret", "eu-central-1"
_SKEW = timedelta(minutes=15)
_LONGEST = 7 * 86400


class RefusedError(Exception):
    """The request is refused with 403: `code` is S3's."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def check(*, method: str, url: str, headers: Mapping[str, str], now: datetime | None = None) -> None:
    """Refuse a request that is not signed, or whose signature is another request's, or has expired.

    Raises:
        RefusedError: with S3's code.
    """
    now = now or datetime.fromtimestamp(time.time(), tz=UTC)
    query = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    if "X-Amz-Signature" in query:
        _check_query(method=method, url=url, query=query, headers=headers, now=now)
    elif headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
        _check_header(method=method, url=url, headers=headers, now=now)
    else:
        raise RefusedError("AccessDenied", "the request is not signed")


def _check_query(*, method: str, url: str, query: Mapping[str, str], headers: Mapping[str, str], now: datetime) -> None:
    at = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    lasts = int(query["X-Amz-Expires"])
    if not 0 < lasts <= _LONGEST or not at - _SKEW <= now <= at + timedelta(seconds=lasts):
        raise RefusedError("AccessDenied", "Request has expired")
    before, _, given = url.partition("?")
    unsigned = "&".join(part for part in given.split("&") if not part.startswith("X-Amz-Signature="))
    _compare(
        auth=S3SigV4QueryAuth(Credentials(KEY, SECRET), "s3", REGION, expires=lasts),
        method=method, url=f"{before}?{unsigned}", headers=headers, stamp=query["X-Amz-Date"],
        names=query["X-Amz-SignedHeaders"].split(";"), credential=query["X-Amz-Credential"],
        signature=query["X-Amz-Signature"],
    )  # fmt: skip


def _check_header(*, method: str, url: str, headers: Mapping[str, str], now: datetime) -> None:
    stamp = headers["x-amz-date"]
    at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if abs(now - at) > _SKEW:
        raise RefusedError("RequestTimeTooSkewed", "the clocks differ")
    given = headers["authorization"].removeprefix("AWS4-HMAC-SHA256 ")
    parts = dict(part.strip().split("=", 1) for part in given.split(","))
    _compare(
        auth=S3SigV4Auth(Credentials(KEY, SECRET), "s3", REGION), method=method, url=url, headers=headers, stamp=stamp,
        names=parts["SignedHeaders"].split(";"), credential=parts["Credential"], signature=parts["Signature"],
    )  # fmt: skip


def _compare(
    *, auth: SigV4Auth, method: str, url: str, headers: Mapping[str, str], stamp: str, names: list[str],
    credential: str, signature: str,
) -> None:  # fmt: skip
    if credential != f"{KEY}/{stamp[:8]}/{REGION}/s3/aws4_request":
        raise RefusedError("InvalidAccessKeyId", "another user, day, region or service")
    unsigned = [name for name in headers if name.startswith("x-amz-") and name not in names]
    if unsigned or "host" not in names:
        raise RefusedError("AccessDenied", f"There were headers present which were not signed: {unsigned}")
    request = AWSRequest(method=method, url=url, headers={name: headers.get(name, "") for name in names})
    request.context["timestamp"] = stamp
    wanted = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    if not compare_digest(wanted, signature):
        raise RefusedError("SignatureDoesNotMatch", "the signature is another request's")
