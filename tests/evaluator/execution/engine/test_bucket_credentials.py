"""Credentials of a bucket for the identity of a pod: no keys in the environment, and renewed before they expire."""

import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import boto3
import pytest

from evaluator.execution.engine.s3.bucket import Bucket, Place
from evaluator.execution.engine.store import StoreUnavailableError
from gpu_jobs.worker_secrets import harmless, secrets_in
from tests.fakes.s3.server import BUCKET, FakeS3
from tests.fakes.s3.signatures import KEY, REGION, SECRET
from tests.fakes.serving import in_a_thread

ROLE = "arn:aws:iam::123456789012:role/arena"
ANSWER = """<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>
<SessionToken>session</SessionToken><Expiration>{until}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>"""


class FakeSts:
    """Answers AssumeRoleWithWebIdentity for the tokens that it knows."""

    def __init__(self) -> None:
        self.tokens = {"first"}
        self.lifetime = timedelta(hours=1)
        self.asked: list[str] = []

    def server(self) -> HTTPServer:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                assert form["Action"] == ["AssumeRoleWithWebIdentity"]
                assert form["RoleArn"] == [ROLE]
                (token,) = form["WebIdentityToken"]
                fake.asked.append(token)
                until = (datetime.fromtimestamp(time.time(), tz=UTC) + fake.lifetime).strftime("%Y-%m-%dT%H:%M:%SZ")
                known = token in fake.tokens
                error = "<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error></ErrorResponse>"
                body = (ANSWER.format(key=KEY, secret=SECRET, until=until) if known else error).encode()
                self.send_response(200 if known else 400)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Silent."""

        return HTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def sts():
    return FakeSts()


@pytest.fixture
def token(monkeypatch, tmp_path, sts):
    """The file with a pod's token, in an environment without keys."""
    # Which would have credentials of other tests.
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "token"
    path.write_text("first")
    with in_a_thread(sts.server()) as url:
        for name, value in {
            "AWS_ROLE_ARN": ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE": str(path), "AWS_ENDPOINT_URL_STS": url,
            "AWS_DEFAULT_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path),
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        yield path


@pytest.fixture
def bucket(token):
    with FakeS3().serving() as fake:
        yield Bucket(place=Place(bucket=BUCKET, prefix="", endpoint=fake.url))


def write(bucket):
    bucket.write(key="a", data=b"bytes", content_type="text/plain")


def test_a_pod_s_token_is_exchanged_for_credentials(sts, bucket):
    write(bucket)
    assert bucket.read("a") == (b"bytes", "text/plain")
    assert sts.asked == ["first"], "once for many requests"


def test_they_are_renewed_before_they_expire_with_the_token_that_is_there_then(sts, token, bucket):
    sts.lifetime = timedelta(minutes=1)
    write(bucket)
    token.write_text("second")
    sts.tokens = {"second"}
    write(bucket)
    assert sts.asked[0] == "first"
    assert sts.asked[-1] == "second"


def test_a_refused_identity_is_an_outage_of_the_store(sts, bucket):
    sts.tokens = set()
    with pytest.raises(StoreUnavailableError, match="bucket"):
        write(bucket)


def test_a_worker_keeps_the_identity_of_its_pod():
    given = {
        "AWS_ROLE_ARN": ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_ENDPOINT_URL_STS": "http://sts",
        "AWS_CA_BUNDLE": "/trusted/ca.crt", "SSL_CERT_FILE": "/trusted/ca.crt",
    }  # fmt: skip
    after_its_restart = harmless(given) | dict(secrets_in(given).variables)
    assert after_its_restart == given
