"""A model in vLLM in another container: a receiver first, then vLLM at the same address."""

import socket
import threading
from contextlib import contextmanager, suppress

import pytest

from evaluator.core.language_model import GenerateCall, Message, ScoreCall
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.sandbox.isolation.address import Address
from gpu_jobs.model_server.client import Deadlines
from gpu_jobs.model_server.opening import submitted_model_opener
from gpu_jobs.model_server.serving import serve_one
from gpu_jobs.model_server.vllm_opening import VllmOpener, facts_of
from tests.gpu_jobs.model_server.serving import engine_loop, engine_of
from tests.gpu_jobs.test_local_launcher import until
from tests.processes import free_port

SAID = (Message("user", "Text"),)
SOURCE = {"model_id": "own/planner", "commit": "c" * 40}


@pytest.fixture
def model_folder(tmp_path):
    from tests.fakes.tiny_models import byte_level_bpe, gpt2, livelier, saved

    tokenizer = byte_level_bpe()
    return saved(tmp_path / "model", model=livelier(gpt2(tokenizer)), tokenizer=tokenizer)


@contextmanager
def pod(inbox, *, address, crashes=0):
    """What both containers of the pod do. Yields how often vLLM was started."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tests.fakes.vllm_server import FakeVllm

    stop, control = threading.Event(), inbox.with_name(f"{inbox.name}-control")

    def receive() -> None:
        while not stop.is_set():
            serve_one(
                address.listening(), folder=inbox, device="cpu", most_bytes=1 << 26,
                runs=engine_of(control), draining=stop,
            )  # fmt: skip

    @contextmanager
    def vllm():
        module, tokenizer = AutoModelForCausalLM.from_pretrained(inbox), AutoTokenizer.from_pretrained(inbox)
        with FakeVllm(module=module.eval(), tokenizer=tokenizer).serving(port=address.port + 1):
            yield

    with engine_loop(control, engine=vllm, crashes=crashes) as starts:
        thread = threading.Thread(target=receive, daemon=True)
        thread.start()
        try:
            yield starts
        finally:
            stop.set()
            thread.join(10)


@pytest.fixture
def address():
    return two_ports()


def two_ports() -> Address:
    """An address whose next port is free, too."""
    while True:
        port = free_port()
        with suppress(OSError), socket.create_server(("127.0.0.1", port + 1)):
            return Address(host="127.0.0.1", port=port)


def opener_of(address, **changes):
    given = {"patience_seconds": 20.0, "deadlines": Deadlines(load=20.0, answer=20.0), "poll_seconds": 0.05, **changes}
    return VllmOpener(address, **given)


@pytest.mark.full
def test_vllm_serves_what_the_worker_delivered_and_is_started_again_for_the_next(model_folder, tmp_path, address):
    from evaluator.planners.language_models.local.model import LocalModel
    from tests.fakes.tiny_models import NAMES, AnyOrder

    calls = [
        GenerateCall(messages=SAID, constraint=AnyOrder(most=2), max_tokens=60),
        ScoreCall(messages=SAID, continuations=NAMES),
    ]
    here = LocalModel.from_folder(model_folder, name="m")
    with pod(tmp_path / "inbox", address=address) as starts:
        for _ in range(2):
            opener = opener_of(address)
            opener.deliver(model_folder)
            there = opener(model_folder, name="m", device="cuda", source=SOURCE)
            assert [answer.usage for answer in there.answer(calls)] == [answer.usage for answer in here.answer(calls)]
            assert there.answer(calls)[0].text == here.answer(calls)[0].text
            identity = there.identity()
            assert identity["kind"] == "vllm"
            assert identity["weights_digest"] == here.identity()["weights_digest"]
            assert identity["model_id"] == "own/planner"
            assert not there.is_broken
            with pytest.raises(ModelError, match="No model server was free"):
                opener_of(address, patience_seconds=0.2).deliver(model_folder)
            there.close()
        assert len(starts) == 2


@pytest.mark.full
def test_two_ends_while_it_loads_are_forgiven_and_three_are_the_model_s(model_folder, tmp_path, address):
    with pod(tmp_path / "inbox", address=address, crashes=2) as starts:
        opener_of(address)(model_folder, name="m", device="cuda", source=SOURCE).close()
        assert len(starts) == 3
    elsewhere = two_ports()
    with (
        pod(tmp_path / "other", address=elsewhere, crashes=9),
        pytest.raises(ModelUnusableError, match="vLLM ended 3 times while it loaded the model"),
    ):
        opener_of(elsewhere)(model_folder, name="m", device="cuda", source=SOURCE)


@pytest.mark.full
def test_vllm_that_never_loads_the_model_is_the_model_s_fault_and_makes_room(model_folder, tmp_path, address):
    control = tmp_path / "control"
    with engine_loop(control):
        thread = threading.Thread(
            target=serve_one, args=(address.listening(),),
            kwargs={"folder": tmp_path / "inbox", "device": "cpu", "most_bytes": 1 << 26,
                    "runs": engine_of(control)},
        )  # fmt: skip
        thread.start()
        with pytest.raises(ModelUnusableError, match=r"did not load the model within 0\.5 seconds"):
            opener_of(address, deadlines=Deadlines(load=0.5))(model_folder, name="m", device="cuda", source=SOURCE)
        thread.join(10)
        assert not thread.is_alive()


def test_an_engine_of_an_earlier_process_is_ended_before_anything_is_served(tmp_path):
    control = tmp_path / "control"
    with engine_loop(control) as starts:
        (control / "serve").touch()
        until(lambda: starts)
        engine_of(control).stop()
        assert list(control.iterdir()) == []
        engine_of(control).stop()


def test_the_setting_chooses_the_engine(monkeypatch):
    monkeypatch.setenv("PLANARENA_MODEL_SERVER", "models.example:7070")
    monkeypatch.setenv("PLANARENA_MODEL_ENGINE", "vllm")
    assert isinstance(submitted_model_opener(), VllmOpener)
    monkeypatch.setenv("PLANARENA_MODEL_ENGINE", "tgi")
    with pytest.raises(ModelError, match="must be planarena, or vllm"):
        submitted_model_opener()


class Spells:
    """A server that knows the token of the tokenizer's end."""

    def tokens(self, text):
        return {"<|eot_id|>": (128_009,)}[text]


def test_a_text_ends_with_the_tokens_of_the_tokenizer_and_of_the_configuration(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / "config.json").write_text('{"eos_token_id": 128001}')
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|eot_id|>"}')
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [7, 8]}')
    assert facts_of(tmp_path, name="m", source={}, api=Spells()).ends == (128_009, 128_001)
