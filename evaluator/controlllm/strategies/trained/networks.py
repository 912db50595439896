"""The networks of `controlllm/trained`: a decomposer and a scorer. Torch is imported when they are loaded.

The decomposer is a small T5 that writes the linear form of a request's decomposition, greedily. At each step it can
only choose tokens that the grammar allows, so whatever it has learnt, it writes a decomposition by the protocol whose
files and texts are those of the request.

The scorer is a small cross-encoder that reads a subtask beside a tool or a solution, as a language model that is asked
for a score does. It gives a distribution over the scores from 1 to 5; its score is the mean of that.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from evaluator.controlllm.strategies.search import Chain
from evaluator.controlllm.strategies.subtasks import TypedSubtask
from evaluator.controlllm.strategies.trained.linear import END, Grammar, LinearSubtask, marker, parsed
from evaluator.controlllm.strategies.trained.reading import Reading
from evaluator.core.tools.types import Tool

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import BertForSequenceClassification, T5ForConditionalGeneration


DECOMPOSER = "controlllm-decomposer"
SCORER = "controlllm-scorer"
WEIGHTS = Path(__file__).parent / "weights"


def shipped_folder(name: str) -> Path:
    """The folder of a shipped network."""
    return WEIGHTS / name


MOST_TOKENS = 768
"""Tokens of a request that are read: 160 words have far fewer unless they are spelt byte by byte."""


class Encoding:
    """The tokens of a tokenizer with their numbers."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self.tokenizer = tokenizer
        self._pieces = lru_cache(maxsize=65536)(self._spelt)

    @classmethod
    def load(cls, folder: Path) -> "Encoding":
        """That of a folder with `tokenizer.json`."""
        from tokenizers import Tokenizer

        return cls(Tokenizer.from_file(str(folder / "tokenizer.json")))

    def number(self, token: str) -> int:
        """The number of a token of the linear form.

        Raises:
            KeyError: there is no such token.
        """
        found: int | None = self.tokenizer.token_to_id(token)
        if found is None:
            raise KeyError(token)
        return found

    def token(self, number: int) -> str:
        """The token of a number."""
        return str(self.tokenizer.id_to_token(number))

    def read(self, reading: Reading) -> list[int]:
        """A request: each word behind the marker of its position."""
        numbers: list[int] = []
        for piece in reading.pieces:
            if piece.position is not None:
                numbers.append(self.number(marker(piece.position)))
            numbers += self._pieces(piece.text)
        return numbers[:MOST_TOKENS]

    def written(self, sequence: Sequence[str]) -> list[int]:
        """A linear decomposition."""
        return [self.number(token) for token in sequence]

    def _spelt(self, word: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(word, add_special_tokens=False).ids)


_LOADING = Lock()


@dataclass(frozen=True, slots=True)
class Decomposer:
    """A T5 with its tokens."""

    module: "T5ForConditionalGeneration"
    encoding: Encoding

    @classmethod
    def from_folder(cls, folder: Path) -> "Decomposer":
        """The decomposer of a folder with `config.json`, `model.safetensors` and `tokenizer.json`.

        Raises:
            OSError: there is none.
        """
        from transformers import T5ForConditionalGeneration

        from evaluator.execution.experts.pretrained import load_pretrained

        module = load_pretrained(T5ForConditionalGeneration, folder=folder, device="cpu")
        return cls(module=module, encoding=Encoding.load(folder))

    def decompose(self, reading: Reading) -> tuple[LinearSubtask, ...]:
        """The subtasks of a request; none only where it holds neither words nor files."""
        import torch

        grammar = Grammar(reading)
        if not reading.pieces or grammar.allowed([]) == [END]:
            return ()
        sequence: list[str] = []
        with torch.inference_mode():
            ids = torch.tensor([self.encoding.read(reading)])
            encoded = self.module.encoder(input_ids=ids)
            token, cache_ = self.module.config.decoder_start_token_id, None
            while not sequence or sequence[-1] != END:
                out = self.module(
                    encoder_outputs=encoded, decoder_input_ids=torch.tensor([[token]]), past_key_values=cache_,
                    use_cache=True,
                )  # fmt: skip
                cache_ = out.past_key_values
                allowed = [self.encoding.number(one) for one in grammar.allowed(sequence)]
                token = allowed[int(out.logits[0, -1, allowed].argmax())]
                sequence.append(self.encoding.token(token))
        return parsed(sequence)


def shipped_decomposer() -> Decomposer:
    """The decomposer that comes with PlanArena, loaded once."""
    with _LOADING:
        return _cached_decomposer()


@cache
def _cached_decomposer() -> Decomposer:
    return Decomposer.from_folder(shipped_folder(DECOMPOSER))


PAD, BEGIN, BREAK, TOOL, SOLUTION = "<pad>", "<begin>", "<break>", "<tool>", "<solution>"
SPECIAL = (PAD, BEGIN, BREAK, TOOL, SOLUTION)
LONGEST = 128
"""Tokens that are read at most: what is longer loses words of its description."""
_MOST_WORDS = 48
_ROWS = 64
_WORD = re.compile(r"[a-z]+")
_UNSPOKEN = re.compile(r"<[A-Z-]+>-[\w-]+|[\w\-./]+\.\w{2,4}\b")


def about_subtask(subtask: TypedSubtask) -> list[str]:
    """A subtask as it is read: words of its description without files, and its types."""
    said = _WORD.findall(_UNSPOKEN.sub(" ", subtask.description).lower())[:_MOST_WORDS]
    return [*said, BREAK, *map(str, subtask.arg_types), BREAK, *map(str, subtask.return_types)]


def about_tool(tool: Tool) -> list[str]:
    """A tool as it is read: words of its name and description, and its types."""
    said = _WORD.findall(f"{tool.name} {tool.description}".lower())
    return [*said, *map(str, tool.input_types), BREAK, *map(str, tool.output_types)]


def tool_text(*, subtask: TypedSubtask, tool: Tool) -> list[str]:
    """What is read to assess a tool."""
    return [BEGIN, TOOL, *about_subtask(subtask), BREAK, *about_tool(tool)]


def solution_text(*, subtask: TypedSubtask, path: Chain) -> list[str]:
    """What is read to judge a solution: the names of its tools in order, which say what they do."""
    named = [word for tool in path for word in (*_WORD.findall(tool.name), BREAK)]
    return [BEGIN, SOLUTION, *about_subtask(subtask), BREAK, *named]


@dataclass(frozen=True, slots=True)
class Scorer:
    """A BERT with its words."""

    module: "BertForSequenceClassification"
    tokenizer: "Tokenizer"

    @classmethod
    def from_folder(cls, folder: Path) -> "Scorer":
        """The scorer of a folder with `config.json`, `model.safetensors` and `tokenizer.json`.

        Raises:
            OSError: there is none.
        """
        from tokenizers import Tokenizer
        from transformers import BertForSequenceClassification

        from evaluator.execution.experts.pretrained import load_pretrained

        module = load_pretrained(BertForSequenceClassification, folder=folder, device="cpu")
        return cls(module=module, tokenizer=Tokenizer.from_file(str(folder / "tokenizer.json")))

    def tools(self, *, subtask: TypedSubtask, tools: Sequence[Tool]) -> list[float]:
        """The scores of tools for a subtask, each in [1, 5]."""
        return self.scores([tool_text(subtask=subtask, tool=tool) for tool in tools])

    def solutions(self, *, subtask: TypedSubtask, paths: Sequence[Chain]) -> list[float]:
        """The scores of solutions of a subtask, each in [1, 5]."""
        return self.scores([solution_text(subtask=subtask, path=path) for path in paths])

    def scores(self, texts: Sequence[Sequence[str]]) -> list[float]:
        """The mean score of each text, in [1, 5]."""
        import torch

        found: list[float] = []
        rows = [token_ids(text, tokenizer=self.tokenizer) for text in texts]
        with torch.inference_mode():
            for start in range(0, len(rows), _ROWS):
                batch = rows[start : start + _ROWS]
                longest = max(map(len, batch))
                ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in batch])
                logits = self.module(input_ids=ids, attention_mask=(ids != 0).long()).logits
                found += (logits.softmax(-1) @ torch.arange(1.0, 6.0)).tolist()
        return found


def token_ids(text: Sequence[str], *, tokenizer: "Tokenizer") -> list[int]:
    """The numbers of a text's words, spelt in pieces where they are rare."""
    return [number for word in text for number in tokenizer.encode(word, add_special_tokens=False).ids][:LONGEST]


def shipped_scorer() -> Scorer:
    """The scorer that comes with PlanArena, loaded once."""
    with _LOADING:
        return _cached_scorer()


@cache
def _cached_scorer() -> Scorer:
    return Scorer.from_folder(shipped_folder(SCORER))
