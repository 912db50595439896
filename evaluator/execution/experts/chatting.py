"""Open chat: the operator's model behind an endpoint, or offline a small extractive model that says so.

Either sees the message and nothing else. `chat_slot` has the names of the operator's model.
"""

import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.naming import words_of
from evaluator.core.values import Value
from evaluator.execution.experts.chat_slot import KEY_VARIABLE, VARIABLE, ChatError, name_in
from evaluator.execution.experts.inputs import value_of

LONGEST_MESSAGE = 16_000
"""Characters of a message that are read; the rest is cut."""
LONGEST_ANSWER = 16_000
SECONDS = 60.0
TRIES = 3
MOST_BYTES = 256 * 1024
PREFIX = "[Extractive answer, without a language model]"
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_MOST_QUOTED = 2
_MOST_SUBJECTS = 12
_FUNCTION_WORDS = frozenset(
    [
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "please",
        "so",
        "than",
        "that",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


class ExtractiveChat:
    """From a message to the sentences of it that share most with its question, and a note that no model wrote them.

    The question is the last sentence with a question mark, else the first sentence. A message without another sentence
    about its subject is answered by its subject only.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        """Has no weights and needs no device."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        return [{"answer": extracted(value_of(item, name="input_msg", kind=str))} for item in batch]


def extracted(message: str) -> str:
    """The extractive answer to a message."""
    sentences = [found.strip() for found in _SENTENCE.findall(message[:LONGEST_MESSAGE]) if words_of(found)]
    if not sentences:
        return f"{PREFIX} The message has no words."
    question = next((place for place in reversed(range(len(sentences))) if sentences[place].endswith("?")), 0)
    contents = [_content(sentence) for sentence in sentences]
    spread = Counter(word for words in contents for word in set(words))
    weights = {word: math.log(1 + len(sentences) / count) for word, count in spread.items()}
    asked = set(contents[question])
    shares = {
        place: sum(weights[word] for word in asked & set(words))
        for place, words in enumerate(contents)
        if place != question
    }
    best = sorted((place for place, share in shares.items() if share), key=lambda place: (-shares[place], place))
    if best:
        return f"{PREFIX} {' '.join(sentences[place] for place in sorted(best[:_MOST_QUOTED]))}"
    subjects = [*dict.fromkeys(contents[question])][:_MOST_SUBJECTS]
    about = ", ".join(subjects) if subjects else "nothing that it names"
    return f"{PREFIX} The message holds no text that answers it. It is about: {about}."


def _content(sentence: str) -> list[str]:
    return [word for word in words_of(sentence) if word not in _FUNCTION_WORDS]


class OperatorsChat:
    """From a message to the answer of the operator's model, which gets the message as its whole conversation."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:  # noqa: ARG002 - the model runs elsewhere
        """Raises ExpertError if this process's environment names another model than the profile, or none."""
        import httpx

        from evaluator.network.ssrf_guard import egress_client

        try:
            self._url, self._model = name_in(os.environ.get(VARIABLE, ""))
        except ChatError as error:
            raise ExpertError(str(error)) from None
        if spec.id != f"operator/{self._model}":
            raise ExpertError(f"the profile has the model {spec.id}, but {VARIABLE} names {self._model}")
        self._key = os.environ.get(KEY_VARIABLE, "")
        self._settings = dict(spec.parameters)
        # The operator chooses the address, so private ones are allowed.
        self._client = egress_client(allow_private=True, timeout=httpx.Timeout(SECONDS))

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        return [{"answer": self._answer(value_of(item, name="input_msg", kind=str))} for item in batch]

    def _answer(self, message: str) -> str:
        from evaluator.network.transient import Backoff, TransientError, retried

        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": message[:LONGEST_MESSAGE]}],
            **self._settings,
        }
        try:
            content = retried(lambda _: self._post(body), backoff=Backoff(longest=2.0, longest_asked=30.0), tries=TRIES)
        except TransientError as error:
            raise ExpertError(f"the chat model {self._model} {error}") from None
        return self._text_of(content)

    def _post(self, body: Mapping[str, object]) -> bytes:
        import httpx

        from evaluator.network.bounded_answers import (
            AnswerLateError,
            AnswerTooLargeError,
            CompressedAnswerError,
            read_answer,
        )
        from evaluator.network.guarded_connections import EgressRefusedError, call_deadline
        from evaluator.network.transient import ErrorKind, TransientError, asked_to_wait, server_error

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        url, until = f"{self._url.rstrip('/')}/chat/completions", time.monotonic() + SECONDS
        try:
            with call_deadline(until), self._client.stream("POST", url, json=body, headers=headers) as response:
                content = read_answer(response, most_bytes=MOST_BYTES, until=until)
        except (httpx.HTTPError, AnswerLateError) as error:
            raise TransientError(f"cannot be reached ({type(error).__name__})") from None
        except (AnswerTooLargeError, CompressedAnswerError, EgressRefusedError) as error:
            raise ExpertError(f"the chat model {self._model} cannot be used: {error}") from None
        if response.status_code == httpx.codes.OK:
            return content
        problem = server_error(response.status_code, body=content, pages_are_transient=True)
        if problem.kind is ErrorKind.TRANSIENT:
            raise TransientError(f"answered {problem.in_short}", asked=asked_to_wait(response.headers))
        # Not the server's words: they may repeat the key.
        raise ExpertError(f"the chat model {self._model} answered HTTP {response.status_code}")

    def _text_of(self, content: bytes) -> str:
        try:
            document = json.loads(content)
            named, text = document.get("model"), document["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ExpertError(f"the chat model {self._model} answered something else than a completion") from None
        if named != self._model:
            raise ExpertError(f"the chat model is pinned to {self._model}, but another model answered")
        if not isinstance(text, str):
            raise ExpertError(f"the chat model {self._model} answered without a text")
        return text.encode("utf-8", "backslashreplace").decode()[:LONGEST_ANSWER]
