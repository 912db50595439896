"""The problems of GSM8K and SVAMP from their released files."""

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from evaluator.core.canonical_json import JsonValue
from evaluator.lumos.maths.gold import NoGold, gold_of_equation, gold_of_rationale
from evaluator.lumos.tasks import GoldTurn

_ANSWER = re.compile(r"\n#### (-?[0-9][0-9,]*(?:\.[0-9]+)?)\s*$")
_TYPOS = {"Common-Divison": "Common-Division"}
_OPERATOR = re.compile(r"[-+*/](?= )")


class MathsFileError(ValueError):
    """Invalid file; the message names the file, the place and the expected form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordProblem:
    """One problem with its answer."""

    key: str
    """GSM8K: the index in the file, from 0; SVAMP: its id, such as `chal-1`."""
    text: str
    answer: Fraction
    operations: int
    """Number of calculations in the reference solution: annotations (GSM8K) or operators (SVAMP)."""
    kind: str = ""
    """SVAMP's type, `Addition`, `Subtraction`, `Multiplication` or `Common-Division`; empty for GSM8K."""
    gold: tuple[GoldTurn, ...] = ()
    why_no_gold: NoGold | None = None

    @property
    def attributes(self) -> dict[str, JsonValue]:
        """Attributes for facets."""
        return {"operations": self.operations, "turns": len(self.gold), **({"kind": self.kind} if self.kind else {})}


def read_gsm8k(path: Path) -> tuple[WordProblem, ...]:
    """The problems of `gsm8k_test.jsonl`, in the file's order.

    Raises:
        MathsFileError: the file is missing or does not have the shape of GSM8K.
    """
    lines = [line for line in _text(path).split("\n") if line.strip()]
    return tuple(_gsm8k(path=path, index=index, row=_json(path, line, index)) for index, line in enumerate(lines))


def read_svamp(path: Path) -> tuple[WordProblem, ...]:
    """The problems of `svamp_test.json`, in the file's order.

    Raises:
        MathsFileError: the file is missing or does not have the shape of SVAMP.
    """
    rows = _json(path, _text(path), 0)
    if not isinstance(rows, list):
        raise MathsFileError(f"{path}: expected a list of problems")
    return tuple(_svamp(path=path, index=index, row=row) for index, row in enumerate(rows))


def _gsm8k(*, path: Path, index: int, row: object) -> WordProblem:
    question, rationale = (_field(row, name, path=path, index=index) for name in ("question", "answer"))
    match = _ANSWER.search(rationale)
    if match is None:
        raise MathsFileError(f"{path}: problem {index}: the answer must end with '#### ' and a number")
    answer = Fraction(match[1].replace(",", ""))
    gold = gold_of_rationale(question=question, rationale=rationale[: match.start()], answer=answer)
    return WordProblem(
        key=str(index), text=question, answer=answer, operations=rationale.count("<<"),
        gold=gold if isinstance(gold, tuple) else (), why_no_gold=gold if isinstance(gold, NoGold) else None,
    )  # fmt: skip


def _svamp(*, path: Path, index: int, row: object) -> WordProblem:
    names = ("ID", "Body", "Question", "Equation", "Type")
    key, body, question, equation, kind = (_field(row, name, path=path, index=index) for name in names)
    answer = row.get("Answer") if isinstance(row, dict) else None
    if not isinstance(answer, int | float) or isinstance(answer, bool) or answer != answer // 1:
        raise MathsFileError(f'{path}: problem {index}: "Answer" must be a whole number')
    gold = gold_of_equation(equation=equation, answer=Fraction(answer))
    return WordProblem(
        key=key, text=f"{body.strip()} {question.strip()}", answer=Fraction(answer),
        operations=len(_OPERATOR.findall(equation)), kind=_TYPOS.get(kind, kind),
        gold=gold if isinstance(gold, tuple) else (), why_no_gold=gold if isinstance(gold, NoGold) else None,
    )  # fmt: skip


def _field(row: object, name: str, *, path: Path, index: int) -> str:
    value = row.get(name) if isinstance(row, dict) else None
    if not isinstance(value, str) or not value:
        raise MathsFileError(f'{path}: problem {index}: "{name}" must be a text that is not empty')
    return value


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise MathsFileError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise MathsFileError(f"{path} is not UTF-8 text (byte {error.start})") from None


def _json(path: Path, text: str, index: int) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MathsFileError(f"{path}: line {index + 1} is not JSON: {error}") from None
