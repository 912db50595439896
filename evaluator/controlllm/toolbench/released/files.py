"""Parses the released files of Tool100 and Tool2K. Only their structure is checked; texts are not changed.

The level of a request is that of its file, else it follows from the length of its gold plan. The paper (ControlLLM,
section 4.1) calls a request easy if it needs fewer than two APIs, medium with two, and hard with more. Tool100 does not
follow that rule: nine of its ten easy requests about videos need a classifier and a selection. The thresholds here
agree best with the levels of Tool100, counting the calls of the shortest plan that follows the gold decomposition
(detect, select, count): they agree for 114 of 127 requests, and for 110 of the 122 that are not deprecated (90 %); the
paper's thresholds agree for 73. The others are two-step generations and answers, which Tool100 calls medium, and short
compound requests, which it calls hard. Counting the calls of the shortest sufficient plan (ask the image for the count)
agrees for at most 94 of 127.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTask:
    """One entry, with the defects of its texts."""

    key: str
    """`<group>/<index in the group>` for Tool100 and toolmini, `<index>` for Tool2K."""
    group: str
    """The file's `type`, such as `image_detection` or `image_QA,count_object`."""
    instruction: str
    output: str | None
    """The gold task decomposition, `<Solution>[...]</Solution>`; None if the file has none."""
    level: str | None
    """`easy`, `medium` or `hard`; None if the file does not have it."""
    deprecated: bool = False
    plain: str = ""
    """The request in words that the rules for goals know; empty: the instruction is."""
    other_words: str = ""
    """A paraphrase; empty if there is none."""


TOOL100 = "tool100.json"
TOOL2K = "tool2k.json"
TOOL2K_GOLD = "tool2k_w_output.json"
TOOL2K_GOLD_EVEN = "tool2k_gold_even.json"
LEVELS = ("easy", "medium", "hard")


class SuiteFileError(ValueError):
    """A file is invalid; the message names the file, the position and the valid form."""


def read_tool100(path: Path) -> tuple[RawTask, ...]:
    """The requests of `tool100.json` in the file's order, with keys `<group>/<index in the group>`.

    Raises:
        SuiteFileError: the file is missing or does not have the structure of Tool100.
    """
    groups = _load(path)
    if not isinstance(groups, dict):
        raise SuiteFileError(f"{path}: the whole must be an object of groups, not {_kind(groups)}")
    tasks: list[RawTask] = []
    for group, rows in groups.items():
        if not isinstance(rows, list):
            raise SuiteFileError(f'{path}: group "{group}" must be a list of requests, not {_kind(rows)}')
        tasks += [_tool100_task(path=path, group=group, index=index, row=row) for index, row in enumerate(rows)]
    return tuple(tasks)


def read_tool2k(tasks_path: Path, gold_path: Path | None = None) -> tuple[RawTask, ...]:
    """The requests of `tool2k.json` in the file's order, with keys `<index>`.

    Args:
        tasks_path: the public list of requests, without answers.
        gold_path: the gold decompositions: either the withdrawn `tool2k_w_output.json`, in the same order, or rows of
            it that have their `index`; None: no request has a gold.

    Raises:
        SuiteFileError: a file is missing or has another structure, or the files do not belong together.
    """
    rows = _rows(tasks_path)
    gold = {} if gold_path is None else _gold(path=gold_path, rows=rows)
    return tuple(
        RawTask(
            key=str(index),
            group=_text(path=tasks_path, place=f"request {index}", row=row, field="type"),
            instruction=_text(path=tasks_path, place=f"request {index}", row=row, field="instruction"),
            output=gold.get(index),
            level=None,
        )
        for index, row in enumerate(rows)
    )


def _tool100_task(*, path: Path, group: str, index: int, row: Any) -> RawTask:
    key = f"{group}/{index}"
    place = f"request {key}"
    if not isinstance(row, dict):
        raise SuiteFileError(f"{path}: {place} must be an object, not {_kind(row)}")
    level = row.get("level")
    if level is not None and level not in LEVELS:
        raise SuiteFileError(f'{path}: {place}: "level" is {level!r}; it must be one of {", ".join(LEVELS)}')
    return RawTask(
        key=key,
        group=_text(path=path, place=place, row=row, field="type"),
        instruction=_text(path=path, place=place, row=row, field="instruction"),
        output=_text(path=path, place=place, row=row, field="output") if "output" in row else None,
        level=level,
        deprecated=row.get("status") == "deprecated",
    )


def _gold(*, path: Path, rows: Sequence[dict[str, Any]]) -> dict[int, str]:
    """Gold decompositions by the index of their request."""
    answers = _rows(path)
    numbered = all("index" in answer for answer in answers)
    if not numbered and len(answers) != len(rows):
        raise SuiteFileError(
            f"{path}: {len(answers)} gold decompositions for {len(rows)} requests; "
            'a file with only some of them must give each an "index"'
        )
    gold: dict[int, str] = {}
    for position, answer in enumerate(answers):
        index = answer["index"] if numbered else position
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(rows) or index in gold:
            raise SuiteFileError(f'{path}: row {position}: "index" {index!r} is no request, or is there twice')
        if answer.get("instruction") != rows[index].get("instruction"):
            raise SuiteFileError(f"{path}: row {position}: its instruction is not that of request {index}")
        gold[index] = _text(path=path, place=f"row {position}", row=answer, field="output")
    return gold


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = _load(path)
    if not isinstance(rows, list):
        raise SuiteFileError(f"{path}: the whole must be a list of requests, not {_kind(rows)}")
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise SuiteFileError(f"{path}: row {index} must be an object, not {_kind(row)}")
    return rows


def _text(*, path: Path, place: str, row: dict[str, Any], field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value:
        found = "is missing" if field not in row else f"is {_kind(value)}"
        raise SuiteFileError(f'{path}: {place}: "{field}" {found}; it must be a text that is not empty')
    return value


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SuiteFileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise SuiteFileError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise SuiteFileError(f"{path}: is not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise SuiteFileError(f"{path}: is nested too deeply to be a list of requests") from None


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


MOST_CALLS_OF_EASY = 2
MOST_CALLS_OF_MEDIUM = 3


def level_of_plan(calls: int) -> str:
    """The level of a request, `easy`, `medium` or `hard`.

    Args:
        calls: tool calls of the shortest plan that follows its gold decomposition, at least 1.
    """
    if calls < 1:
        raise ValueError(f"a sufficient plan makes at least one call, not {calls}")
    if calls <= MOST_CALLS_OF_EASY:
        return "easy"
    return "medium" if calls <= MOST_CALLS_OF_MEDIUM else "hard"


def level_of(*, raw: RawTask, calls: int | None) -> str | None:
    """The level in the file, else that of the gold plan, else None.

    Args:
        raw: the request.
        calls: tool calls of the gold plan; None if there is none.
    """
    if raw.level is not None:
        return raw.level
    return None if calls is None else level_of_plan(calls)
