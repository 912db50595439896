"""A stand-in for vLLM: the part of its API that is used here, over real HTTP on 127.0.0.1, with a tiny real model."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.fakes.serving import Server, in_a_thread

Json = dict[str, Any]
Answer = tuple[int, bytes] | None
CONTEXT = 256


class FakeVllm:
    """Serves one causal model of transformers with its tokenizer."""

    def __init__(self, *, module: Any, tokenizer: Any, context: int = CONTEXT) -> None:
        self.module, self.tokenizer, self.context = module, tokenizer, context
        self.requests: list[tuple[str, Json]] = []
        self.misbehave: Callable[[str, Json], Answer] = lambda path, body: None
        """Answers in place of the model, where it answers."""
        self.headers: dict[str, str] = {}
        self.url = ""
        self._lock = threading.Lock()

    @contextmanager
    def serving(self, *, port: int = 0) -> Iterator["FakeVllm"]:
        """Answer on a port; 0: a free one."""
        server = Server(("127.0.0.1", port), type("Handler", (_Handler,), {"fake": self}))
        server.daemon_threads = True
        with in_a_thread(server) as self.url:
            yield self

    def answer(self, path: str, body: Json) -> tuple[int, Json]:
        """What vLLM answers."""
        if path == "/v1/models":
            return 200, {"object": "list", "data": [{"id": "planarena", "max_model_len": self.context}]}
        if body.get("model") != "planarena":
            return 404, {"error": {"message": "The model does not exist."}}
        return {"/tokenize": self._tokenize, "/detokenize": self._detokenize, "/v1/completions": self._complete}[path](
            body
        )  # fmt: skip

    def _tokenize(self, body: Json) -> tuple[int, Json]:
        if "messages" in body:
            if self.tokenizer.chat_template is None:
                return 400, {"error": {"message": "a chat template must be provided"}}
            try:
                text = self.tokenizer.apply_chat_template(
                    body["messages"], tokenize=False, add_generation_prompt=body["add_generation_prompt"],
                    continue_final_message=body["continue_final_message"],
                )  # fmt: skip
            except Exception as error:
                return 400, {"error": {"message": str(error)}}
            ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        else:
            ids = self.tokenizer(body["prompt"], add_special_tokens=body["add_special_tokens"])["input_ids"]
        return 200, {"count": len(ids), "max_model_len": self.context, "tokens": ids, "token_strs": None}

    def _detokenize(self, body: Json) -> tuple[int, Json]:
        return 200, {"prompt": self.tokenizer.decode(body["tokens"])}

    def _complete(self, body: Json) -> tuple[int, Json]:
        import torch

        prompts = body["prompt"] if isinstance(body["prompt"][0], list) else [body["prompt"]]
        if max(map(len, prompts)) + body["max_tokens"] > self.context:
            return 400, {"error": {"message": "This model's maximum context length is less."}}
        with self._lock, torch.inference_mode():
            choices = [self._choice(prompt, body, index=index) for index, prompt in enumerate(prompts)]
        used = sum(choice.pop("used") for choice in choices)
        # In no order, as it is allowed to.
        return 200, {
            "object": "text_completion", "choices": choices[::-1],
            "usage": {"prompt_tokens": sum(map(len, prompts)), "completion_tokens": used},
        }  # fmt: skip

    def _choice(self, prompt: list[int], body: Json, *, index: int) -> Json:
        import torch

        if body.get("prompt_logprobs") is not None:
            return {"index": index, "text": "x", "finish_reason": "length", "used": 1,
                    "prompt_logprobs": self._log_probabilities(prompt)}  # fmt: skip
        written: list[int] = []
        finish = "length"
        while len(written) < body["max_tokens"]:
            token = int(self.module(torch.tensor([[*prompt, *written]])).logits[0, -1].argmax())
            written.append(token)
            text = self.tokenizer.decode(written, skip_special_tokens=True)
            stops = [stop for stop in body["stop"] if stop in text]
            if token in body["stop_token_ids"] or stops:
                finish = "stop"
                text = text[: min(map(text.index, stops))] if stops else text
                break
        return {"index": index, "text": text, "finish_reason": finish, "used": len(written)}

    def _log_probabilities(self, prompt: list[int]) -> list[Json | None]:
        import torch

        values = torch.log_softmax(self.module(torch.tensor([prompt])).logits[0].float(), dim=-1)
        found = [values[at - 1, token] for at, token in enumerate(prompt) if at]
        told = [{str(token): {"logprob": float(value), "rank": 1, "decoded_token": "x"}}
                for token, value in zip(prompt[1:], found, strict=True)]  # fmt: skip
        return [None, *told]


class _Handler(BaseHTTPRequestHandler):
    fake: FakeVllm
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        self._serve(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _serve(self, body: Json) -> None:
        self.fake.requests.append((self.path, body))
        found = self.fake.misbehave(self.path, body)
        if found is None:
            status, answer = self.fake.answer(self.path, body)
            found = (status, json.dumps(answer).encode())
        status, data = found
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in self.fake.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Nothing: tests need no access log."""
