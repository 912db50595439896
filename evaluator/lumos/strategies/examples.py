"""Solved tasks that prompts show before the task, so that modules plan and ground with tools that they were not trained
on (LUMOS, section 4.4, appendices J and K). They are tasks of training splits, with the results of their actions.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evaluator.core.turns import PastTurn

MOST = 3
"""Examples of a set of tools. The paper shows two of WebShop, and three of InterCode."""
FILE = Path(__file__).with_name("examples.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A solved task."""

    task: str
    """Its text in prompts."""
    turns: tuple[PastTurn, ...]


@cache
def _sets() -> tuple[tuple[frozenset[str], tuple[Example, ...]], ...]:
    return tuple(
        (
            frozenset(one["tools"]),
            tuple(
                Example(task=example["task"], turns=tuple(map(PastTurn.model_validate, example["turns"])))
                for example in one["examples"]
            ),
        )
        for one in json.loads(FILE.read_text(encoding="utf-8"))
    )


def examples_for(tools: Collection[str], *, count: int) -> tuple[Example, ...]:
    """At most `count` examples that use only these tools, of the set with most of them; none if no set fits."""
    fitting = [(names, examples) for names, examples in _sets() if names <= {*tools}]
    return max(fitting, key=lambda one: len(one[0]))[1][:count] if fitting else ()
