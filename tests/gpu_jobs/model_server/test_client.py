"""What a model server says is taken as a stranger's word: nonsense, silence and its end cost its own calls only."""

import gc
import json
import math
import os
import signal
import socket
import struct
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from evaluator.core.language_model import (
    Beam,
    Completion,
    Failure,
    FailureKind,
    Following,
    GenerateCall,
    Message,
    ScoreCall,
    Scores,
)
from evaluator.execution.experts.weights import WeightsError
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.planners.language_models.automaton import NameAutomaton
from gpu_jobs.model_server.channel import Channel, ChannelClosedError
from gpu_jobs.model_server.client import Deadlines, RemoteModel


class AnyOrder:
    """One or two of some names in any order, none twice."""

    separator = ", "

    def __init__(self, *, names, most):
        self.names, self.most = names, most

    def following(self, written):
        free = tuple(name for name in self.names if name not in written)
        return Following(names=free if len(written) < self.most else (), may_end=bool(written))


IDENTITY = {
    "weights_digest": "a" * 64, "precision": "float32", "architecture": "GPT2LMHeadModel", "template_digest": None,
    "device": "cpu", "batching": "padded",
}  # fmt: skip
LOADED = {"type": "loaded", "identity": IDENTITY}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1}
SAID = (Message("user", "x"),)
FREE = GenerateCall(messages=SAID, max_tokens=8)
SCORED = ScoreCall(messages=SAID, continuations=("a", "b"))
NAMED = GenerateCall(messages=SAID, max_tokens=8, constraint=AnyOrder(names=("A", "B"), most=2), beams=2)
AUTOMATON = NameAutomaton(
    names=("A", "B"), steps=((1, None), (None, 2), (None, None)), accepting=(False, True, True), longest=2,
    separator=", ",
)  # fmt: skip
"""A, or A and B."""
SENT_WHOLE = GenerateCall(messages=SAID, max_tokens=8, constraint=AUTOMATON, beams=2)
SOON = Deadlines(load=0.5, answer=0.25, call=0.25)


class FakeServer:
    """A server in a thread: sends what a script says, one reply for each message that comes."""

    def __init__(self, *replies) -> None:
        ours, self.theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.received = []
        self.closed = 0
        self._replies = replies
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        self.closed += 1
        self.channel.close()

    def end_in_words(self) -> str:
        return "it was ended by SIGKILL"

    def output(self) -> str:
        return ""

    def _run(self) -> None:
        channel = Channel(self.theirs)
        try:
            for reply in self._replies:
                self.received.append(json.loads(channel.receive(most=1 << 24)))
                if reply is None:
                    return
                if callable(reply):
                    reply(self.theirs)
                elif isinstance(reply, bytes):
                    channel.send(reply)
                else:
                    channel.send(json.dumps(reply).encode())
            channel.receive(most=1 << 24)
        except ChannelClosedError:
            pass
        finally:
            self.theirs.close()


def known(digest):
    """What the worker reads itself: a digest, or an error."""

    def digest_soon(folder):
        found = Future()
        found.set_exception(digest) if isinstance(digest, Exception) else found.set_result(digest)
        return found

    return digest_soon


def opened(server: FakeServer, *, deadlines: Deadlines = SOON, digest="a" * 64) -> RemoteModel:
    return RemoteModel(
        server, folder=Path("/data/m"), inside="/model", name="hf:own/planner", device="cpu",
        source={"model_id": "own/planner"}, deadlines=deadlines, digest=known(digest),
    )  # fmt: skip


def answers(*found):
    return {"type": "answers", "answers": list(found)}


def completion(**changes):
    return {"type": "completion", "text": "x", "usage": USAGE, "truncated": False, "beams": [], **changes}


def beams(*found, text="A", **changes):
    listed = [{"log_probability": probability, "names": list(names)} for probability, names in found]
    return completion(text=text, beams=listed, **changes)


def scores(*values):
    return {"type": "scores", "log_probabilities": list(values), "usage": USAGE}


def test_answers_come_back_as_the_protocol_s_own():
    found = answers(completion(), scores(-1.5, 0.0), beams((-0.5, "A"), (-1.0, "BA")))
    model = opened(FakeServer(LOADED, found))
    free, scored, named = model.answer([FREE, SCORED, NAMED])
    assert isinstance(free, Completion)
    assert isinstance(scored, Scores)
    assert scored.log_probabilities == (-1.5, 0.0)
    assert named.beams == (
        Beam(text="A", log_probability=-0.5, names=("A",)),
        Beam(text="B, A", log_probability=-1.0, names=("B", "A")),
    )


def refill(channel: socket.socket, data: bytes) -> None:
    channel.sendall(data)


def drip(channel: socket.socket) -> None:
    """A frame that grows by a byte now and then: each read succeeds, and the whole never comes."""
    channel.sendall(struct.pack(">I", 1000))
    with suppress(OSError):
        for _ in range(200):
            time.sleep(0.05)
            channel.sendall(b" ")


NONSENSE = [
    (FREE, b"\xff\xfe garbage"),
    (FREE, b"[" * 60_000),
    (FREE, b"{}"),
    (FREE, {"type": "answers"}),
    (FREE, {"type": "answers", "answers": [], "more": 1}),
    (FREE, answers()),
    (FREE, answers(completion(), completion())),
    (FREE, answers(scores(-1.0))),
    (FREE, answers(completion(text=7))),
    (FREE, answers(completion(truncated="no"))),
    (FREE, answers(completion(usage={"prompt_tokens": -1, "completion_tokens": 0}))),
    (FREE, answers(completion(usage={"prompt_tokens": 0, "completion_tokens": 9}))),
    (FREE, answers(completion(usage={"prompt_tokens": 10**30, "completion_tokens": 0}))),
    (FREE, answers(beams((-1.0, "A")))),
    (FREE, answers({"type": "failure", "kind": "timeout", "message": "x"})),
    (FREE, answers({"type": "failure", "kind": "broken", "message": "x" * 5000})),
    (FREE, {"type": "follow", "constraint": 0, "written": []}),
    (FREE, {"type": "token_count", "tokens": 1}),
    (FREE, LOADED),
    (FREE, {"type": "hello", "version": 1, "confined_by": []}),
    (FREE, {"type": "failed", "unusable": True, "message": "PanicException: no"}),
    (SCORED, answers(scores(-1.0))),
    (SCORED, answers(scores(-1.0, 0.5))),
    (SCORED, answers(scores(-1.0, math.nan))),
    (SCORED, answers(scores(-1.0, -math.inf))),
    (SCORED, answers(scores(-1.0, "-2"))),
    (SCORED, answers(completion())),
    (NAMED, answers(completion())),
    (NAMED, answers(beams((-1.0, "C"), text="C"))),
    (NAMED, answers(beams((-1.0, "AA"), text="A, A"))),
    (NAMED, answers(beams((-1.0, "ABA"), text="A, B, A"))),
    (NAMED, answers(beams((-1.0, ""), text=""))),
    (NAMED, answers(beams((-1.0, "A"), text="B"))),
    (NAMED, answers(beams((1.0, "A")))),
    (NAMED, answers(beams((-2.0, "A"), (-1.0, "B")))),
    (NAMED, answers(beams((-1.0, "A"), (-2.0, "B"), (-3.0, "AB")))),
    (NAMED, {"type": "follow", "constraint": 0, "written": ["C"]}),
    (NAMED, {"type": "follow", "constraint": 1, "written": []}),
    (NAMED, {"type": "follow", "constraint": -1, "written": []}),
    (NAMED, {"type": "follow", "constraint": 0, "written": ["A"] * 10_001}),
    (SENT_WHOLE, answers(beams((-1.0, "B"), text="B"))),
    (SENT_WHOLE, answers(beams((-1.0, "ABA"), text="A, B, A"))),
    (SENT_WHOLE, answers(beams((-1.0, ""), text=""))),
    (SENT_WHOLE, answers(beams((-1.0, "C"), text="C"))),
    (SENT_WHOLE, {"type": "follow", "constraint": 0, "written": []}),
    (SENT_WHOLE, {"type": "follow", "constraint": 0, "written": ["A"]}),
    (FREE, partial(refill, data=struct.pack(">I", 2**32 - 1))),
    (FREE, partial(refill, data=struct.pack(">I", 10**8) + b" " * 1000)),
]


def test_nonsense_ends_the_server_and_is_the_model_s_fault():
    wrong = {}
    for call, reply in NONSENSE:
        server = FakeServer(LOADED, reply)
        model = opened(server)
        (failure,) = model.answer([call])
        is_said = failure.kind is FailureKind.BROKEN and "violated the protocol" in failure.message
        is_ended = server.closed and model.is_broken and model.answer([FREE, SCORED]) == [failure, failure]
        if not is_said or not is_ended or len(failure.message) >= 2000 or not model.count_tokens("four words") > 0:
            wrong[str(reply)[:200]] = failure
    assert wrong == {}


@pytest.mark.parametrize("reply", [lambda channel: time.sleep(3), drip], ids=["silent", "drips"])
def test_a_server_that_takes_too_long_is_ended_within_its_deadline(reply):
    server = FakeServer(LOADED, reply)
    (failure,) = opened(server).answer([FREE])
    assert failure.kind is FailureKind.TIMEOUT
    assert failure.message == "The language model did not answer within 0.5 seconds and was stopped."
    assert server.closed


def test_a_server_that_dies_says_how():
    model = opened(FakeServer(LOADED, None))
    (failure,) = model.answer([FREE])
    assert failure.kind is FailureKind.BROKEN
    assert failure.message == "The language model ended during a call: it was ended by SIGKILL."


def test_a_server_that_asks_about_a_constraint_without_end_is_ended():
    again = [{"type": "follow", "constraint": 0, "written": []}] * 1000
    server = FakeServer(LOADED, *again)
    (failure,) = opened(server, deadlines=Deadlines()).answer([NAMED])
    assert "asks about a constraint too often" in failure.message
    assert len(server.received) < 400


def test_a_node_of_a_constraint_comes_with_its_children():
    follow = {"type": "follow", "constraint": 0, "written": ["A"]}
    server = FakeServer(LOADED, follow, answers(beams((-1.0, "AB"), text="A, B")))
    (answer,) = opened(server).answer([NAMED])
    assert answer.text == "A, B"
    root = server.received[1]["constraints"][0]["root"]
    assert root["own"] == {"names": ["A", "B"], "may_end": False}
    assert [child["names"] for child in root["children"]] == [["B"], ["A"]]
    node = {"own": {"names": ["B"], "may_end": True}, "children": [{"names": [], "may_end": True}], "problem": None}
    assert server.received[2] == {"type": "following", "node": node}


def test_equal_automata_are_sent_whole_and_once():
    other, equal = replace(AUTOMATON, longest=1), replace(AUTOMATON)
    calls = [replace(SENT_WHOLE, constraint=one) for one in (AUTOMATON, other, equal)] + [NAMED]
    server = FakeServer(LOADED, answers(*[beams((-1.0, "A"))] * 4))
    assert all(isinstance(answer, Completion) for answer in opened(server).answer(calls))
    asked = server.received[1]
    assert [call["constraint"] for call in asked["calls"]] == [0, 1, 0, 2]
    assert [one["type"] for one in asked["constraints"]] == ["automaton", "automaton", "tree"]
    assert asked["constraints"][0] == {
        "type": "automaton", "names": ["A", "B"], "steps": [[1, None], [None, 2], [None, None]],
        "accepting": [False, True, True], "longest": 2, "separator": ", ",
    }  # fmt: skip


def test_a_model_that_does_not_load_says_why_and_its_server_is_ended():
    cases = [
        ({"type": "failed", "unusable": True, "message": "/model lacks it."}, ModelUnusableError, "/data/m lacks it"),
        ({"type": "failed", "unusable": False, "message": "no memory."}, ModelError, "no memory"),
        ({"type": "failed", "unusable": True, "message": "x" * 5000}, ModelUnusableError, "protocol"),
        ({**LOADED, "identity": {**IDENTITY, "weights_digest": "../../x"}}, ModelUnusableError, "protocol"),
        ({**LOADED, "identity": {**IDENTITY, "name": "another"}}, ModelUnusableError, "protocol"),
        ({**LOADED, "identity": {**IDENTITY, "batching": "<script>"}}, ModelUnusableError, "protocol"),
        (b"\x00", ModelUnusableError, "protocol"),
        (None, ModelUnusableError, "it was ended by SIGKILL, while loading"),
        (lambda channel: time.sleep(3), ModelUnusableError, "did not answer within 0.5 seconds"),
    ]
    digests = [
        ("b" * 64, ModelUnusableError, "it reports other weights than the model's, while loading"),
        (WeightsError("there are no weights"), ModelUnusableError, "cannot be loaded: there are no weights"),
        (OSError("the disk fails"), ModelError, "files cannot be read: the disk fails"),
    ]
    servers, wrong = [], {}
    for reply, digest, kind, complaint in [
        *((reply, "a" * 64, kind, complaint) for reply, kind, complaint in cases),
        *((LOADED, digest, kind, complaint) for digest, kind, complaint in digests),
    ]:
        servers.append(FakeServer(reply))
        try:
            opened(servers[-1], digest=digest)
        except ModelError as error:
            if type(error) is not kind or complaint not in str(error):
                wrong[len(servers)] = (kind, complaint, str(error))
        else:
            wrong[len(servers)] = (kind, complaint, "it loaded")
    gc.collect()
    assert wrong == {}
    assert all(server.closed for server in servers)


def test_a_closed_model_answers_nothing_and_harms_nobody():
    server = FakeServer(LOADED)
    model = opened(server)
    model.close()
    model.close()
    assert server.closed == 1
    assert isinstance(model.answer([FREE])[0], Failure)


class Interrupted(BaseException):
    """As a signal handler raises it."""


def test_a_model_whose_caller_is_interrupted_is_ended_since_the_late_answer_would_be_taken_for_the_next_one():
    def interrupt(number, frame):
        raise Interrupted

    kept = signal.signal(signal.SIGUSR2, interrupt)
    try:
        server = FakeServer(LOADED, lambda _: os.kill(os.getpid(), signal.SIGUSR2))
        model = opened(server, deadlines=Deadlines(load=5, answer=5, call=5))
        with pytest.raises(Interrupted):
            model.answer([FREE])
        assert (server.closed, model.is_broken) == (1, True)
    finally:
        signal.signal(signal.SIGUSR2, kept)
