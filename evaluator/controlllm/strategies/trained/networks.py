"""The networks of `controlllm/trained`: a decomposer and a scorer. Torch is imported when they are loaded.

The decomposer is a small T5 that generates the linear form of a decomposition by greedy decoding. The grammar restricts
each step, so every output is a valid decomposition with files and texts of the request.

The scorer is a small cross-encoder for pairs of a subtask and a tool or solution. It replaces the scores of a language
model: its score is the mean of a distribution over 1 to 5.
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
"""Tokens of a request that are read. 160 words have far fewer, except rare words that are split into bytes."""


class Encoding:
    """Converts between tokens and their ids."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self.tokenizer = tokenizer
        self._ids = lru_cache(maxsize=65536)(lambda word: tuple(tokenizer.encode(word, add_special_tokens=False).ids))

    @classmethod
    def load(cls, folder: Path) -> "Encoding":
        """The encoding of a folder with `tokenizer.json`."""
        from tokenizers import Tokenizer

        return cls(Tokenizer.from_file(str(folder / "tokenizer.json")))

    def number(self, token: str) -> int:
        """The id of a token of the linear form.

        Raises:
            KeyError: there is no such token.
        """
        number: int | None = self.tokenizer.token_to_id(token)
        if number is None:
            raise KeyError(token)
        return number

    def token(self, number: int) -> str:
        """The token of an id."""
        return str(self.tokenizer.id_to_token(number))

    def read(self, reading: Reading) -> list[int]:
        """The ids of a request: each word after the marker of its position."""
        numbers: list[int] = []
        for piece in reading.pieces:
            if piece.position is not None:
                numbers.append(self.number(marker(piece.position)))
            numbers += self._ids(piece.text)
        return numbers[:MOST_TOKENS]

    def written(self, sequence: Sequence[str]) -> list[int]:
        """The ids of a linear decomposition."""
        return [self.number(token) for token in sequence]


_LOADING = Lock()


@dataclass(frozen=True, slots=True)
class Decomposer:
    """A T5 with its encoding."""

    module: "T5ForConditionalGeneration"
    encoding: Encoding

    @classmethod
    def from_folder(cls, folder: Path) -> "Decomposer":
        """The decomposer of a folder with `config.json`, `model.safetensors` and `tokenizer.json`.

        Raises:
            OSError: a file is missing.
        """
        from transformers import T5ForConditionalGeneration

        from evaluator.execution.experts.pretrained import load_pretrained

        module = load_pretrained(T5ForConditionalGeneration, folder=folder, device="cpu")
        return cls(module=module, encoding=Encoding.load(folder))

    def decompose(self, reading: Reading) -> tuple[LinearSubtask, ...]:
        """The subtasks of a request; empty only if it has neither words nor files."""
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
                allowed = [self.encoding.number(choice) for choice in grammar.allowed(sequence)]
                token = allowed[int(out.logits[0, -1, allowed].argmax())]
                sequence.append(self.encoding.token(token))
        return parsed(sequence)


PAD, BEGIN, BREAK, TOOL, SOLUTION = "<pad>", "<begin>", "<break>", "<tool>", "<solution>"
SPECIAL = (PAD, BEGIN, BREAK, TOOL, SOLUTION)
LONGEST = 128
"""Most tokens of a text; longer texts are cut off."""
_MOST_WORDS = 48
_ROWS = 64
_WORD = re.compile(r"[a-z]+")
_UNSPOKEN = re.compile(r"<[A-Z-]+>-[\w-]+|[\w\-./]+\.\w{2,4}\b")


def about_subtask(subtask: TypedSubtask) -> list[str]:
    """The words of a subtask's description without files, and its types."""
    words = _WORD.findall(_UNSPOKEN.sub(" ", subtask.description).lower())[:_MOST_WORDS]
    return [*words, BREAK, *map(str, subtask.arg_types), BREAK, *map(str, subtask.return_types)]


def tool_text(*, subtask: TypedSubtask, tool: Tool) -> list[str]:
    """The scorer's input for a tool: the words of its name and description, and its types."""
    words = _WORD.findall(f"{tool.name} {tool.description}".lower())
    types = [*map(str, tool.input_types), BREAK, *map(str, tool.output_types)]
    return [BEGIN, TOOL, *about_subtask(subtask), BREAK, *words, *types]


def solution_text(*, subtask: TypedSubtask, path: Chain) -> list[str]:
    """The scorer's input for a solution: the names of its tools in order."""
    words = [word for tool in path for word in (*_WORD.findall(tool.name), BREAK)]
    return [BEGIN, SOLUTION, *about_subtask(subtask), BREAK, *words]


@dataclass(frozen=True, slots=True)
class Scorer:
    """A BERT with its tokenizer."""

    module: "BertForSequenceClassification"
    tokenizer: "Tokenizer"

    @classmethod
    def from_folder(cls, folder: Path) -> "Scorer":
        """The scorer of a folder with `config.json`, `model.safetensors` and `tokenizer.json`.

        Raises:
            OSError: a file is missing.
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

        scores: list[float] = []
        rows = [token_ids(text, tokenizer=self.tokenizer) for text in texts]
        with torch.inference_mode():
            for start in range(0, len(rows), _ROWS):
                batch = rows[start : start + _ROWS]
                longest = max(map(len, batch))
                ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in batch])
                logits = self.module(input_ids=ids, attention_mask=(ids != 0).long()).logits
                scores += (logits.softmax(-1) @ torch.arange(1.0, 6.0)).tolist()
        return scores


def token_ids(text: Sequence[str], *, tokenizer: "Tokenizer") -> list[int]:
    """The ids of a text's words; rare words are split into pieces."""
    return [number for word in text for number in tokenizer.encode(word, add_special_tokens=False).ids][:LONGEST]


_load_decomposer = cache(Decomposer.from_folder)
_load_scorer = cache(Scorer.from_folder)


def shipped_decomposer() -> Decomposer:
    """The decomposer that ships with PlanArena, loaded once."""
    with _LOADING:
        return _load_decomposer(shipped_folder(DECOMPOSER))


def shipped_scorer() -> Scorer:
    """The scorer that ships with PlanArena, loaded once."""
    with _LOADING:
        return _load_scorer(shipped_folder(SCORER))
