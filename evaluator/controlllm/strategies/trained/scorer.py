"""The trained scorer: a small cross-encoder that reads a subtask beside a tool or a solution and scores it from 1 to 5.

It reads both texts at once, as a language model that is asked for a score does, and gives a distribution over the five
scores; its score is the mean of that. Torch is imported when it is loaded.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from evaluator.controlllm.strategies.search import Chain
from evaluator.controlllm.strategies.subtasks import TypedSubtask
from evaluator.controlllm.strategies.trained.shipped import SCORER, shipped_folder
from evaluator.core.tools.types import Tool

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import BertForSequenceClassification

PAD, BEGIN, BREAK, TOOL, SOLUTION = "<pad>", "<begin>", "<break>", "<tool>", "<solution>"
SPECIAL = (PAD, BEGIN, BREAK, TOOL, SOLUTION)
LONGEST = 128
"""Tokens that are read at most: what is longer loses words of its description."""
_MOST_WORDS = 48
_ROWS = 64
_WORD = re.compile(r"[a-z]+")
_UNSPOKEN = re.compile(r"<[A-Z-]+>-[\w-]+|[\w\-./]+\.\w{2,4}\b")
_LOADING = Lock()


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
        rows = [read(text, tokenizer=self.tokenizer) for text in texts]
        with torch.inference_mode():
            for start in range(0, len(rows), _ROWS):
                batch = rows[start : start + _ROWS]
                longest = max(map(len, batch))
                ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in batch])
                logits = self.module(input_ids=ids, attention_mask=(ids != 0).long()).logits
                found += (logits.softmax(-1) @ torch.arange(1.0, 6.0)).tolist()
        return found


def read(text: Sequence[str], *, tokenizer: "Tokenizer") -> list[int]:
    """The numbers of a text's words, spelt in pieces where they are rare."""
    return [number for word in text for number in tokenizer.encode(word, add_special_tokens=False).ids][:LONGEST]


def shipped_scorer() -> Scorer:
    """The scorer that comes with PlanArena, loaded once."""
    with _LOADING:
        return _shipped()


@cache
def _shipped() -> Scorer:
    return Scorer.from_folder(shipped_folder(SCORER))
