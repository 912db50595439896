"""The network that ships: a cross-encoder that reads two texts together, and settles what the rules leave undecided.

It runs in onnxruntime, without torch, so that sites, workers and clients decide alike. Its folder holds:

network.onnx      BERT with int8 weights and a scale for each row, computed with in float32
tokenizer.json    WordPiece, in the format of `tokenizers`
thresholds.json   for each kind of text the lowest probability of `same`, that where rules refused it (`overturned`),
                  and the highest of `different`
card.md           data, training, quality, licence
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.scoring.arbiters.base import Question, Settled

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FOLDER = Path(__file__).parent / "same_meaning"
NAME = "same-meaning"
VERSION = "network/4"
"""Increment it whenever verdicts may change for the same files."""
SYMMETRIC = frozenset({"question", "prompt", "text"})
"""Kinds that are read in both orders, of which the mean logit counts."""
MOST_TOKENS = 512
"""Of both texts together; the network has places for no more. Longer ones are not settled."""
_UNREADABLE = (
    f"The texts have more than {MOST_TOKENS} pieces of words, too few words, or characters that the network "
    "does not know."
)
_NAMES = frozenset({"object", "action"})
"""Kinds whose texts may be one word. The network has seen no other text of one word, such as "yes", in training."""
_WORD = re.compile(r"\w+")
_WITH_REQUEST = frozenset({"object", "ask", "action"})
"""Kinds that the network reads with the request, which may have attributes of the object, and without, since it may
want other things too. The mean logit counts."""
_MOST_OF_REQUEST = 300
"""Characters."""
_UNKNOWN = "[UNK]"
_LEAST = 1e-6
_CACHE_SIZE = 50_000


def encoded(*, kind: str, request: str, wanted: str, given: str, tokenizer: "Tokenizer") -> tuple[list[int], list[int]]:
    """The token numbers and types of a pair, as the network reads it."""
    first = f"{kind}: {wanted}"
    if kind in _WITH_REQUEST and request:
        first += f" | {request[:_MOST_OF_REQUEST]}"
    encoding = tokenizer.encode(_encodable(first), _encodable(given))
    return encoding.ids, encoding.type_ids


def _encodable(text: str) -> str:
    # JSON may have lone surrogates, which the tokenizer refuses.
    return text.encode("utf-8", "backslashreplace").decode()


def open_tokenizer(folder: Path) -> "Tokenizer":
    """The tokenizer of a folder, without the truncation and padding that the file may ask for."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class SameMeaning:
    """Settles pairs with the network. It is loaded for the first pair."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._thresholds: Mapping[str, Mapping[str, float]] = json.loads((folder / "thresholds.json").read_text())
        self._loaded: tuple[Any, Tokenizer] | None = None
        self._cache: LRUCache[bytes, Settled] = LRUCache(maxsize=_CACHE_SIZE)

    def identity(self) -> Mapping[str, JsonValue]:
        """See `Arbiter`."""
        return {"name": NAME, "version": VERSION, "files": _digest(self._folder)}

    def thresholds(self, kind: str) -> Mapping[str, float]:
        """For a kind of text the thresholds by name; empty if the network does not compare that kind."""
        return self._thresholds.get(kind, {})

    def settle(self, questions: Sequence[Question]) -> Sequence[Settled]:
        """See `Arbiter`."""
        return [self._settle(question) for question in questions]

    def _settle(self, question: Question) -> Settled:
        request = question.request if question.kind in _WITH_REQUEST else ""
        parts = (question.kind, request, question.wanted, question.given, question.refused)
        # Not the texts, which are a stranger's and long.
        key = hashlib.sha256(repr(parts).encode()).digest()
        if (settled := self._cache.get(key)) is None:
            settled = self._cache[key] = self._decided(question)
        return settled

    def _decided(self, question: Question) -> Settled:
        thresholds = self._thresholds.get(question.kind)
        if thresholds is None:
            return Settled(
                verdict="undecided", problem=f"The network does not compare texts of the kind {question.kind}."
            )
        probability = self.probability(question)
        if probability is None:
            return Settled(verdict="undecided", problem=_UNREADABLE)
        answers = (f"{probability:.4f}",)
        if question.refused:
            least = thresholds["overturned"]
            if probability < least:
                return Settled(verdict="different", answers=answers)
            remark = f"The rules take them for different, which a probability of {least:g} or more overturns."
            return Settled(verdict="same", answers=answers, problem=remark)
        if probability >= thresholds["same"]:
            return Settled(verdict="same", answers=answers)
        if probability <= thresholds["different"]:
            return Settled(verdict="different", answers=answers)
        between = f"between {thresholds['different']:g} and {thresholds['same']:g}"
        return Settled(verdict="undecided", answers=answers, problem=f"The network's probability is {between}.")

    def probability(self, question: Question) -> float | None:
        """The probability that both texts have the same meaning, in [0, 1]; None if the network cannot read them."""
        fewest = 1 if question.kind in _NAMES else 2
        if min(len(_WORD.findall(text)) for text in (question.wanted, question.given)) < fewest:
            return None
        if self._loaded is None:
            self._loaded = _load(self._folder)
        session, tokenizer = self._loaded
        readings = [(question.request, question.wanted, question.given)]
        if question.kind in SYMMETRIC:
            readings.append((question.request, question.given, question.wanted))
        elif question.request:
            readings.append(("", question.wanted, question.given))
        rows = [
            encoded(kind=question.kind, request=request, wanted=first, given=second, tokenizer=tokenizer)
            for request, first, second in readings
        ]
        # Texts in an unknown script all look alike.
        if len(rows[0][0]) > MOST_TOKENS or tokenizer.token_to_id(_UNKNOWN) in rows[0][0]:
            return None
        # Each reading by itself, so that rounding does not depend on others.
        with ThreadPoolExecutor(max_workers=len(rows)) as pool:
            logits = list(pool.map(partial(_logit, session), rows))
        return round(1 / (1 + math.exp(-sum(logits) / len(logits))), 4)


def _logit(session: Any, row: tuple[list[int], list[int]]) -> float:
    import numpy as np

    ids, types = row
    read = {"ids": np.array([ids], dtype=np.int64), "types": np.array([types], dtype=np.int64)}
    found = min(max(float(session.run(None, read)[0][0]), _LEAST), 1 - _LEAST)
    return math.log(found / (1 - found))


def _load(folder: Path) -> tuple[Any, "Tokenizer"]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Both readings of a pair run at once, which gains more than threads within one. A session without threads of its
    # own may also be loaded before a worker forks.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(folder / "network.onnx"), sess_options=options, providers=["CPUExecutionProvider"]
    )
    return session, open_tokenizer(folder)


@cache
def _digest(folder: Path) -> str:
    files = ("network.onnx", "tokenizer.json", "thresholds.json")
    return digest({name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files})


def network_identity() -> Mapping[str, JsonValue]:
    """The identity of the network of this package, which every judgement depends on."""
    return shipped_network().identity()


@cache
def shipped_network() -> SameMeaning:
    """The network of this package, one for the process."""
    return SameMeaning()
