"""Clients trust the private authority of SSL_CERT_FILE, whatever proxies they ignore."""

import ssl
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from types import SimpleNamespace

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from evaluator.core.values import Artefact, MediaType
from evaluator.network.hub_client import _client, _Limits
from gpu_jobs.client import ApiClient, RefusedError, UnreachableError
from gpu_jobs.contract import LeaseRequest, OfferedUpload
from gpu_jobs.delivery import DirectUploads
from gpu_jobs.planners import HeldLease
from tests.fakes.api import LEASE
from tests.fakes.serving import in_a_thread

ARTEFACT = Artefact(data=b"a text", media_type=MediaType.TEXT)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A file with the certificate of 127.0.0.1, which signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "private")])
    now = datetime.fromtimestamp(time.time(), tz=UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    return path


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self._answer(401)

    def do_PUT(self) -> None:
        self._answer(200)

    def do_GET(self) -> None:
        self._answer(200)

    def _answer(self, status: int) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def url(certificate):
    server = HTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with in_a_thread(server) as plain:
        yield plain.replace("http:", "https:")


@pytest.fixture(params=[True, False], ids=["with the private authority", "with the public ones only"])
def trusts(request, monkeypatch, certificate):
    if request.param:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    else:
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    return request.param


def test_a_worker_reaches_its_site(url, trusts):
    client = ApiClient(url=url, token="t", patience_seconds=0.0, sleep=lambda _: None)
    with pytest.raises(RefusedError if trusts else UnreachableError):
        client.lease(LeaseRequest(worker="w", token="t" * 43), patience=0.0)


def test_a_worker_uploads_to_the_bucket(url, trusts):
    offer = OfferedUpload(digest=ARTEFACT.digest, url=f"{url}/object", headers={})
    client = SimpleNamespace(uploads=lambda **_: [offer])
    lease = HeldLease.model_validate({**LEASE, "attempt": "1"})
    left = DirectUploads(sleep=lambda _: None).send(client=client, lease=lease, artefacts=[ARTEFACT])
    assert left == ([] if trusts else [ARTEFACT])


@pytest.mark.parametrize("proxy", ["", "http://proxy.invalid:3128"])
def test_the_hub_s_client_reaches_a_mirror(url, trusts, proxy, monkeypatch):
    """With an egress proxy, which `NO_PROXY` excludes for the mirror, the environment's proxies are ignored."""
    monkeypatch.setenv("PLANARENA_EGRESS_PROXY", proxy)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with _client(_Limits(most_bytes=1000, until=60.0, clock=lambda: 0.0), endpoint=url) as client:
        if trusts:
            assert client.get(f"{url}/api/models").status_code == 200
        else:
            with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                client.get(f"{url}/api/models")
