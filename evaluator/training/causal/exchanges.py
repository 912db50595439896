"""Prompts with their replies."""

from dataclasses import dataclass

OF_PROMPTS = 0.2
"""Weight of the tokens of prompts. They repeat names and numbers, which teaches the network to look them up."""


class DataError(ValueError):
    """A file is not training data; the message names the file, the line and what would be right."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One reply with everything before it."""

    prompt: str
    reply: str
    of_prompt: float = OF_PROMPTS
    """Weight of the tokens of its prompt."""
