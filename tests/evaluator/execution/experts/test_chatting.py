"""The chat tool: the operator's model by its slot, and offline a model that quotes its message."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from evaluator.core.expert import ExpertError
from evaluator.execution.experts.chat_slot import KEY_VARIABLE, TOOL, VARIABLE
from evaluator.execution.experts.chatting import LONGEST_MESSAGE, PREFIX, extracted
from evaluator.execution.experts.profile import ProfileError, load_expert, load_profile
from evaluator.studies.experts.quality.texts import sample_of

KEY = "a-secret-key"


class Served:
    """A completion endpoint that records what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[dict] = []
        self.headers: list[str] = []
        self.answer: object = {"model": "m", "choices": [{"message": {"content": "Four."}}]}
        self.status = 200
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                served.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                served.headers.append(self.headers.get("Authorization", ""))
                content = json.dumps(served.answer).encode()
                self.send_response(served.status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.name = f"chat:http://127.0.0.1:{self.server.server_port}/v1#m"


@pytest.fixture
def served(monkeypatch):
    own = Served()
    monkeypatch.setenv(VARIABLE, own.name)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    yield own
    own.server.shutdown()
    own.server.server_close()


def chat(message: str) -> str:
    (result,) = load_expert(spec=load_profile("lilliput-cast").experts[TOOL]).run([{"input_msg": message}])
    return str(result["answer"])


def test_offline_it_quotes_the_message_and_says_so(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    answer = chat("Anna sold a lamp. Ben found a key in the mill. It rained. Where did Ben find the key?")
    assert answer == f"{PREFIX} Ben found a key in the mill."


@pytest.mark.parametrize("message", ["", "?!", "How many time zones are there?", "\x00" * 10, "a" * 100_000])
def test_without_a_text_to_quote_it_makes_nothing_up(message):
    answer = extracted(message)
    assert answer.startswith(PREFIX)
    assert "holds no text" in answer or "no words" in answer
    assert len(answer) < LONGEST_MESSAGE + 200


def test_it_finds_the_answer_in_documents_of_the_validation_split():
    samples = [sample_of(base="qa", index=index) for index in range(100)]
    asked = [f"{sample.texts['document'].text} {sample.texts['query'].text}" for sample in samples]
    right = [str(sample.reference.english) in extracted(text) for sample, text in zip(samples, asked, strict=True)]
    assert sum(right) >= 90


def test_the_operators_model_gets_the_message_and_nothing_else(served):
    assert chat("What is two and two?") == "Four."
    (body,) = served.bodies
    assert body["messages"] == [{"role": "user", "content": "What is two and two?"}]
    assert set(body) == {"model", "messages", "temperature", "seed", "max_tokens"}
    assert served.headers == [f"Bearer {KEY}"]


def test_its_name_is_in_the_digest_and_its_address_and_key_are_not(served, monkeypatch):
    with_model = load_profile("lilliput-cast").digest
    monkeypatch.setenv(KEY_VARIABLE, "another")
    monkeypatch.setenv(VARIABLE, "chat:http://127.0.0.1:9/v1#m")
    assert load_profile("lilliput-cast").digest == with_model
    monkeypatch.setenv(VARIABLE, "chat:http://127.0.0.1:9/v1#other")
    assert load_profile("lilliput-cast").digest != with_model
    assert TOOL in load_profile("paper").experts
    monkeypatch.delenv(VARIABLE)
    assert TOOL not in load_profile("paper").experts


def test_profiles_without_the_tool_stay_as_they_are(served, monkeypatch):
    digest = load_profile("lilliput").digest
    monkeypatch.delenv(VARIABLE)
    assert load_profile("lilliput").digest == digest


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        ([], 200, "something else than a completion"),
        ({"model": "x", "choices": [{"message": {"content": "a"}}]}, 200, "another model answered"),
        ({"model": "m", "choices": [{"message": {"content": None}}]}, 200, "without a text"),
        ({"error": {"message": KEY}}, 401, "HTTP 401"),
        ({"model": "m", "choices": [{"message": {"content": "a" * 300_000}}]}, 200, "cannot be used"),
    ],
)
def test_a_failure_is_the_experts_and_names_no_key(served, answer, status, why):
    served.answer, served.status = answer, status
    with pytest.raises(ExpertError, match=why) as failure:
        chat("Hello?")
    assert KEY not in str(failure.value)


def test_a_wrong_name_says_what_is_right(monkeypatch):
    monkeypatch.setenv(VARIABLE, "gpt-4")
    with pytest.raises(ProfileError, match="chat:URL#MODEL"):
        load_profile("lilliput-cast")
