"""Readers of single values in a submitted `tokenizer.json`, each with the range that is accepted."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.sandbox.admission.rules import ModelRefusedError

NAME = "tokenizer.json"


LONGEST_TOKEN = 1000
"""Characters. The longest published ones are runs of 512 spaces."""


MOST_TOKEN_ID = 2**20


_LONGEST_CONTENT = 64
"""Characters of a replacement, a prefix and the like."""


Json = Any


Fields = Mapping[str, Json]


def refused(where: str, what: str) -> ModelRefusedError:
    return ModelRefusedError(f"{NAME}: {where} {what}.")


def read_object(value: Json, *, where: str) -> Fields:
    if not isinstance(value, dict):
        raise refused(where, "is no object")
    return value


def read_list(value: Json, *, where: str, most: int) -> Sequence[Json]:
    if not isinstance(value, list):
        raise refused(where, "is no list")
    if len(value) > most:
        raise refused(where, f"has {len(value)} entries; at most {most} are possible")
    return value


def read_text(value: Json, *, where: str, most: int = _LONGEST_CONTENT, least: int = 0) -> str:
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise refused(where, f"must be a text of {least} to {most} characters")
    return value


def read_flag(value: Json, *, where: str) -> bool:
    if not isinstance(value, bool):
        raise refused(where, "must be true or false")
    return value


def read_number(value: Json, *, where: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise refused(where, f"must be a whole number from {least} to {most}, not {shown(value)}")
    return value


def shown(value: Json) -> str:
    return repr(value)[:40] if isinstance(value, str | int | float | None) else type(value).__name__


def read_token_id(value: Json, *, where: str) -> int:
    return read_number(value, where=where, least=0, most=MOST_TOKEN_ID)
