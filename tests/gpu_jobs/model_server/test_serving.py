"""A model server in another container: files over its one connection, one worker, and whose fault its end is."""

import hashlib
import json
import signal
import socket
import struct
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from evaluator.core.language_model import Failure, FailureKind, GenerateCall, Message, ScoreCall
from evaluator.planners.language_models import ModelError
from evaluator.sandbox.isolation.address import Address, parse_address
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import ChannelError
from gpu_jobs.model_server.client import Deadlines
from gpu_jobs.model_server.opening import submitted_model_opener
from gpu_jobs.model_server.remote import RemoteOpener, greeted
from tests.gpu_jobs.model_server.serving import greeted_soon, process_serving, thread_serving

SAID = (Message("user", "x"),)
FREE = GenerateCall(messages=SAID, max_tokens=8)
SOON = Deadlines(load=5.0, answer=0.5, call=0.25)
CONTENT = b"abc"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    from tests.fakes.tiny_models import byte_level_bpe, gpt2, livelier, saved

    tokenizer = byte_level_bpe()
    return saved(tmp_path_factory.mktemp("model"), model=livelier(gpt2(tokenizer)), tokenizer=tokenizer)


@pytest.fixture
def small_folder(tmp_path):
    folder = tmp_path / "small"
    (folder / "nested").mkdir(parents=True)
    (folder / "config.json").write_bytes(b"{}")
    (folder / "model_index.json").write_bytes(b"{}")
    (folder / "nested" / "weights-1.safetensors").write_bytes(b"x" * 5_000_000)
    (folder / "empty.txt").write_bytes(b"")
    return folder


@pytest.fixture(params=["tcp", "unix"])
def listen(request, tmp_path):
    return "" if request.param == "tcp" else f"unix:{tmp_path}/socket"


def opener_of(address: Address, **changes) -> RemoteOpener:
    given = {"patience_seconds": 30.0, "poll_seconds": 0.05, **changes}
    return RemoteOpener(address, **given)


@pytest.mark.full
def test_a_model_in_another_container_answers_as_in_this_process_and_serves_nobody_else(model_folder, tmp_path, listen):
    from evaluator.planners.language_models.local.model import LocalModel

    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "left over").write_text("from an earlier worker")
    here = LocalModel.from_folder(model_folder, name="m", source={"model_id": "own/planner"})
    calls = [FREE, ScoreCall(messages=SAID, continuations=("a", "b"))]
    with process_serving(inbox, listen=listen) as (address, process):
        opener = opener_of(address)
        opener.deliver(model_folder)
        assert not (inbox / "left over").exists()
        with pytest.raises((OSError, ChannelError)):
            greeted(address)
        there = opener(model_folder, name="m", device="cuda", source={"model_id": "own/planner"})
        try:
            assert there.answer(calls) == here.answer(calls)
            assert dict(there.identity()) == dict(here.identity())
            # While it serves.
            with pytest.raises((OSError, ChannelError)):
                greeted(address)
        finally:
            there.close()
        # The next worker, whose model is loaded by a fresh process.
        again = opener(model_folder, name="m", device="cpu", source={"model_id": "own/planner"})
        assert again.answer(calls[:1]) == here.answer(calls[:1])
        again.close()
        assert process.poll() is None


@pytest.mark.full
def test_a_server_that_is_told_to_stop_finishes_with_its_worker_first(model_folder, tmp_path, listen):
    with process_serving(tmp_path / "inbox", listen=listen) as (address, process):
        opener = opener_of(address)
        model = opener(model_folder, name="m", device="cpu", source={})
        process.send_signal(signal.SIGTERM)
        time.sleep(1.5)
        assert not isinstance(model.answer([FREE])[0], Failure)
        model.close()
        assert process.wait(20) == 0
        with pytest.raises(OSError, match=r"."):
            greeted(address)


def test_the_files_are_there_as_they_were_sent_for_as_long_as_the_worker_stays(small_folder, tmp_path):
    inbox = tmp_path / "inbox"
    with thread_serving(inbox, most_bytes=6_000_000) as (address, exits, thread):
        opener = opener_of(address)
        opener.deliver(small_folder)
        files = {path.relative_to(small_folder) for path in small_folder.rglob("*") if path.is_file()}
        assert {path.relative_to(inbox) for path in inbox.rglob("*") if path.is_file()} == files
        assert all((inbox / name).read_bytes() == (small_folder / name).read_bytes() for name in files)
        assert exits == []
        opener.drop()
        thread.join(10)
        assert exits == [None]
        assert list(inbox.iterdir()) == []


def announced(*files, **changes):
    listed = [{"name": name, "size": size, "sha256": digest} for name, size, digest in files]
    return json.dumps({"type": "deliver", "files": listed, **changes}).encode()


GOOD = ("config.json", len(CONTENT), sha256(CONTENT))
TRICKS = [
    "../config.json", "/etc/passwd", "a/../../b", "./config.json", ".hidden", "a/.git/config", "a//b", "a\\b", "a\0b",
    "a/b/c/d/e", "", "ä.json", "a b", "x" * 201, "a\n",
]  # fmt: skip


REFUSED = [
    *[announced((name, 3, sha256(CONTENT))) for name in TRICKS],
    announced(GOOD, GOOD),
    announced(("a", 3, sha256(CONTENT)), ("a/b", 3, sha256(CONTENT))),
    announced(("big", (1 << 20) + 1, sha256(CONTENT))),
    announced(("half", 600_000, sha256(CONTENT)), ("other", 600_000, sha256(CONTENT))),
    announced(("negative", -1, sha256(CONTENT))),
    announced(("huge", 2**60, sha256(CONTENT))),
    announced(("digest", 3, "no digest")),
    announced(),
    announced(*[(f"f{number}", 0, sha256(b"")) for number in range(1001)]),
    announced(GOOD, more=1),
    b"{}",
    b"\xff",
    b"GET / HTTP/1.1\r\n\r\n",
    announced(("nested/weights-1.safetensors", 1 << 21, sha256(CONTENT))),
]


def test_names_sizes_and_nonsense_are_refused_before_a_byte_is_written_and_the_next_client_is_served(
    tmp_path, small_folder
):
    inbox = tmp_path / "inbox"
    (small_folder / "nested" / "weights-1.safetensors").write_bytes(b"w")
    wrong = {}
    with thread_serving(inbox) as (address, exits, thread):
        for message in REFUSED:
            stranger = greeted(address)
            stranger.channel.send(message)
            # Either a sentence or the end of the connection; never "delivered".
            with suppress(ChannelError):
                reply = stranger.channel.receive(most=1 << 20, deadline=time.monotonic() + 5)
                if json.loads(reply)["type"] != "failed":
                    wrong[message[:200]] = reply
            stranger.close()
            if list(inbox.iterdir()) or exits:
                wrong[message[:200]] = "it was written"
        assert wrong == {}
        opener_of(address).deliver(small_folder)
        thread.join(10)
        assert exits == [None]


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ([b"abd"], "does not have the announced digest"),
        ([b"ab", b""], "is shorter than announced by 1 bytes"),
        ([b"abcd"], "a frame of 4 bytes; at most 3 are allowed"),
        ([b"ab", b"cd"], "a frame of 2 bytes; at most 1 are allowed"),
    ],
)
def test_a_file_that_is_not_as_announced_leaves_nothing_behind(frames, said, tmp_path):
    inbox = tmp_path / "inbox"
    with thread_serving(inbox) as (address, exits, thread):
        worker = greeted(address)
        worker.channel.send(announced(("first", 3, sha256(CONTENT)), GOOD))
        worker.channel.send(CONTENT)
        for frame in frames:
            worker.channel.send(frame)
        reply = wire.Failed.model_validate_json(worker.channel.receive(most=1 << 16, deadline=time.monotonic() + 5))
        assert said in reply.message
        assert not reply.unusable
        worker.close()
        thread.join(10)
        assert exits == [None]
        assert list(inbox.iterdir()) == []


def test_a_worker_that_dies_within_a_file_leaves_nothing_behind(tmp_path):
    inbox = tmp_path / "inbox"
    with thread_serving(inbox) as (address, exits, thread):
        with address.connected(seconds=5) as connection:
            connection.recv(1000)
            message = announced(GOOD)
            connection.sendall(struct.pack(">I", len(message)) + message + struct.pack(">I", 3) + b"a")
        thread.join(10)
        assert exits == [None]
        assert list(inbox.iterdir()) == []


def test_silent_clients_do_not_keep_a_worker_out(small_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("gpu_jobs.model_server.serving.ANNOUNCE_SECONDS", 0.3)
    with thread_serving(tmp_path / "inbox", most_bytes=6_000_000) as (address, exits, thread):
        silent = socket.create_connection((address.host, address.port))
        opener_of(address).deliver(small_folder)
        thread.join(10)
        assert exits == [None]
        silent.close()


def opened(address, folder, **changes):
    return opener_of(address, deadlines=SOON, **changes)(folder, name="m", device="cpu", source={})


@pytest.mark.parametrize(
    ("child", "kind", "said"),
    [
        ("os._exit(7)", FailureKind.BROKEN, "ended during a call: it ended with the exit code 7."),
        # A frame that is begun and not ended: the supervisor's own words must not become its content.
        ("connection.sendall(struct.pack('>I', 60) + b'x'); os._exit(7)", FailureKind.BROKEN, "the exit code 7"),
        ("connection.sendall(struct.pack('>I', 2**32 - 1)); time.sleep(60)", FailureKind.BROKEN, "it sent a frame of"),
        ("time.sleep(60)", FailureKind.TIMEOUT, "did not answer within 0.75 seconds"),
    ],
)
def test_a_model_that_ends_hangs_or_talks_nonsense_is_the_planner_s_fault(child, kind, said, small_folder, tmp_path):
    with thread_serving(tmp_path / "inbox", child=child, most_bytes=6_000_000) as (address, exits, thread):
        model = opened(address, small_folder)
        (failure,) = model.answer([FREE])
        assert failure.kind is kind
        assert said in failure.message
        assert model.is_broken
        thread.join(10)
        assert exits == [None]


@pytest.mark.full
def test_a_server_that_is_gone_without_a_word_is_an_infrastructure_fault(small_folder, tmp_path):
    with process_serving(tmp_path / "inbox") as (address, process):
        greeted_soon(address).close()
        # As when the pod is preempted or its node is lost: the supervisor goes too.
        opener = opener_of(address, deadlines=replace(SOON, load=20.0))
        opener.deliver(small_folder)
        process.kill()
        with pytest.raises(ModelError, match="lost with its server") as caught:
            opener(small_folder, name="m", device="cpu", source={})
        assert type(caught.value) is ModelError


def test_a_server_that_is_lost_while_it_is_asked_is_an_infrastructure_fault(small_folder, tmp_path):
    cut = []

    with thread_serving(tmp_path / "inbox", child="time.sleep(60)", most_bytes=6_000_000) as (address, _, _thread):
        opener = opener_of(address, deadlines=replace(SOON, answer=20.0))
        model = opener(small_folder, name="m", device="cpu", source={})
        connection = model._server.channel._connection
        # What the kernel does when the other machine does not answer any more.
        connection.shutdown(socket.SHUT_RDWR)
        cut.extend(model.answer([FREE]))
    (failure,) = cut
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.UNAVAILABLE


def test_the_setting_sends_models_to_the_server_that_it_names(monkeypatch):
    monkeypatch.setenv("PLANARENA_MODEL_SERVER", "models.example:7070")
    assert isinstance(submitted_model_opener(), RemoteOpener)
    monkeypatch.setenv("PLANARENA_MODEL_SERVER", "models.example")
    with pytest.raises(ModelError, match="write HOST:PORT or unix:/PATH"):
        submitted_model_opener()


@pytest.mark.parametrize("text", ["unix:relative", "host:", ":7070", "host:99999", "host:x", "host"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match="is no address; write HOST:PORT"):
        parse_address(text)
