"""Which regular expressions of a submitted tokenizer are run. The engine behind `tokenizers` backtracks.

Two kinds pass: the published pre-tokenizer patterns, character by character, and patterns so simple that a backtracking
engine needs linear time for them: alternatives of characters and character classes in a row, where nothing that can
fail follows a long repetition.
"""

import re
from dataclasses import dataclass

from evaluator.sandbox.admission.rules import ModelRefusedError

_LONGEST_PATTERN = 2000
_MOST_BRANCHES = 64
_SHORT = 8
"""Repetitions up to this count as short: they may be followed by something that fails."""
_LONGEST_REPETITION = 1000
_MOST_VARIABLE = 3
"""Short repetitions of variable length in one alternative; each multiplies what is tried at one place."""

_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASED = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+%s|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*%s"
_O200K_END = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _SPACES

KNOWN = frozenset(
    {
        # GPT-2, and as tiktoken writes it; Falcon
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
        # cl100k_base: Llama 3, Phi-4, GLM-4, SmolLM3; Qwen2 to Qwen3 and StableLM 2; Qwen3.5; as tiktoken writes it
        _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _SPACES,
        _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _SPACES,
        _ENDINGS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + _SPACES,
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+",
        # o200k_base: GPT-4o, gpt-oss, Llama 4; Tekken: Mistral NeMo and later
        _CASED % (f"{_ENDINGS}?", f"{_ENDINGS}?") + r"|\p{N}{1,3}" + _O200K_END,
        _CASED % ("", "") + r"|\p{N}" + _O200K_END,
        # DeepSeek V3, Hunyuan
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
        r"| ?[\p{P}\p{S}]+[\r\n]*" + _SPACES,
        # BLOOM
        " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+",
    }
)
"""Patterns of published tokenizers that are linear, although the rule below does not see it."""
_LINEAR_FORMS = {r"\s+$": r"(?<!\s)\s+$"}
"""Of a published pattern (DeepSeek LLM) that takes quadratic time: one that finds the same in linear time."""

_CLASS = r"\[\^?(?:\\p\{\^?\w{1,30}\}|\\[^\w\s]|\\[sSdDwWrnt]|[^\[\]\\&])+\]"
_ITEM = re.compile(
    rf"(?P<one>{_CLASS}|\\p\{{\^?\w{{1,30}}\}}|\\[sSdDwWrnt]|\\[^\w\s]|[^\\^$|?*+()\[\]{{}}])"
    r"(?:(?P<sign>[?*+])|\{(?P<least>\d{1,4})(?P<comma>,(?P<most>\d{1,4})?)?\})?(?![?*+{])"
)


@dataclass(frozen=True, slots=True)
class _Repetition:
    least: int
    most: int | None

    @property
    def is_long(self) -> bool:
        return self.most is None or self.most > _SHORT


def checked_regex(pattern: str, *, where: str) -> str:
    """The pattern, or one that finds the same faster.

    Raises:
        ModelRefusedError: it is neither known nor simple.
    """
    if pattern in KNOWN:
        return pattern
    if pattern in _LINEAR_FORMS:
        return _LINEAR_FORMS[pattern]
    if len(pattern) <= _LONGEST_PATTERN and _is_linear(pattern):
        return pattern
    raise ModelRefusedError(
        f"{where} has the regular expression {pattern[:60]!r}, which is neither that of a published tokenizer nor "
        "simple enough to be run safely. Possible are alternatives of characters and character classes, with nothing "
        "after a repetition that may fail."
    )


def _is_linear(pattern: str) -> bool:
    branches: list[list[_Repetition]] = [[]]
    at = 0
    while at < len(pattern):
        if pattern[at] == "|":
            branches.append([])
            at += 1
            continue
        found = _ITEM.match(pattern, at)
        if found is None:
            return False
        branches[-1].append(_repetition(found))
        at = found.end()
    return len(branches) <= _MOST_BRANCHES and all(map(_is_linear_branch, branches))


def _repetition(found: re.Match[str]) -> _Repetition:
    if found["sign"]:
        return {"?": _Repetition(0, 1), "*": _Repetition(0, None), "+": _Repetition(1, None)}[found["sign"]]
    if not found["least"]:
        return _Repetition(1, 1)
    least = int(found["least"])
    return _Repetition(least, least if not found["comma"] else int(found["most"]) if found["most"] else None)


def _is_linear_branch(items: list[_Repetition]) -> bool:
    """Whether a match is found or given up after a bounded number of steps, or takes what it has read.

    After a long repetition everything may be absent, so that nothing is ever read twice.
    """
    if not any(item.least for item in items):
        return False
    if any(item.least > _SHORT or (item.most or 0) > _LONGEST_REPETITION for item in items):
        return False
    if sum(item.least != item.most and not item.is_long for item in items) > _MOST_VARIABLE:
        return False
    first = next((at for at, item in enumerate(items) if item.is_long), len(items))
    return all(item.least == 0 for item in items[first + 1 :])
