"""Requests and linear decompositions as numbers of tokens."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.controlllm.strategies.trained.linear import marker
from evaluator.controlllm.strategies.trained.reading import Reading

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LONGEST = 768
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
        return numbers[:LONGEST]

    def written(self, sequence: Sequence[str]) -> list[int]:
        """A linear decomposition."""
        return [self.number(token) for token in sequence]

    def _spelt(self, word: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(word, add_special_tokens=False).ids)
