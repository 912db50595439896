"""Hostile uploads to a running site: refused with a sentence, at a bounded cost, and nothing is left of them."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.hostile.site import Site, User
from tests.hostile.uploads import CHECKPOINT, UPLOADS, Upload

pytestmark = pytest.mark.full

PATIENCE = 20.0
MOST_SITE_BYTES = 1_500_000_000


@pytest.fixture(scope="module")
def mallory(site: Site) -> Iterator[User]:
    user = User(site.arena, "mallory")
    yield user
    user.close()


def kept(site: Site) -> set[Path]:
    """Files of checkpoints and of uploads under way."""
    store = site.arena.data / "store"
    return {path for name in ("checkpoints", "uploads") for path in (store / name).rglob("*") if path.is_file()}


@pytest.mark.parametrize("upload", UPLOADS, ids=lambda one: one.name.replace(" ", "-"))
def test_a_hostile_upload_is_refused_with_a_sentence(upload: Upload, site: Site, mallory: User):
    before = {path for path in kept(site) if path.suffix == ".zip"}
    content = upload.build()
    kind = "checkpoint" if upload.field == CHECKPOINT else "plans"
    fate = mallory.enter_by_form(
        {upload.field: (upload.filename, content, "application/octet-stream")},
        kind=kind, name=f"upload-{UPLOADS.index(upload)}", strategy="hugginggpt",
    )  # fmt: skip
    assert not fate.evaluation, "the site took it"
    assert 400 <= fate.status < 500, fate.status
    assert fate.refused.endswith((".", "?")), f"no sentence says why: {fate.refused!r}"
    assert {path for path in kept(site) if path.suffix == ".zip"} <= before, "something of it was kept"
    assert not Path("/tmp/planarena-hostile").exists()


def lines(site: Site, user: User, *headers: str) -> bytes:
    """The head of an upload to the API."""
    host = site.arena.url.removeprefix("http://")
    own = [f"Authorization: Bearer {user.token}", f"Host: {host}"]
    return "\r\n".join(["POST /api/v1/checkpoints/ HTTP/1.1", *own, *headers, "", ""]).encode()


_FORM = "Content-Type: multipart/form-data; boundary=xx"
_PART = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="m.zip"\r\n\r\n'
REQUESTS: dict[str, tuple[list[str], bytes]] = {
    "a length of an exabyte": ([_FORM, "Content-Length: 1000000000000000000"], _PART),
    "a negative length": ([_FORM, "Content-Length: -5"], _PART),
    "two lengths": ([_FORM, "Content-Length: 5", "Content-Length: 500"], _PART),
    "a length that is too short": ([_FORM, "Content-Length: 40"], _PART + b"x" * 100_000 + b"\r\n--xx--\r\n"),
    "chunks of nonsense": ([_FORM, "Transfer-Encoding: chunked"], b"zz\r\nxx\r\n"),
    "no boundary": (["Content-Type: multipart/form-data", "Content-Length: 10"], b"0123456789"),
    "a boundary of a megabyte": (
        ["Content-Type: multipart/form-data; boundary=" + "x" * 50_000, "Content-Length: 10"], b"0123456789",
    ),
    "part headers without end": ([_FORM, "Content-Length: 3000000"], b"--xx\r\n" + b"X: " + b"y" * 2_999_990),
    "a hundred thousand parts": (
        [_FORM, "Content-Length: 5400006"],
        b'--xx\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.ljust(54) * 100_000 + b"--xx--",
    ),
    "a compressed body": ([_FORM, "Content-Encoding: gzip", "Content-Length: 4"], b"\x1f\x8b\x08\x00"),
}  # fmt: skip


@pytest.mark.parametrize("request_name", REQUESTS, ids=lambda name: name.replace(" ", "-"))
def test_a_request_that_lies_gets_an_error_or_the_end_of_its_connection(request_name: str, site: Site, mallory: User):
    headers, body = REQUESTS[request_name]
    port = int(site.arena.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        answer = b""
        try:
            connection.sendall(lines(site, mallory, *headers) + body)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(4096)
        except ConnectionError:
            pass
    assert not answer or answer.split(b" ")[1][:1] == b"4", answer[:300]


def test_slow_uploads_keep_nobody_else_waiting(site: Site, mallory: User):
    port = int(site.arena.url.rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            connection.sendall(lines(site, mallory, _FORM, "Content-Length: 1000000000") + _PART + b"PK\x03\x04")
        for path in ("suites/", "evaluations/"):
            assert mallory.api.get(path).status_code == 200


def test_the_site_holds_little_memory_after_all_of_them(site: Site):
    assert site.measured.memory.get("uvicorn", 0) < MOST_SITE_BYTES
