"""Prompts and feedback for agents, in the paper's style or compactly.

The contents are the paper's (views, helpers with examples, rules, fields of the reply), the wording is not.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import ClassVar, Protocol

from evaluator.arc.candidates import Output
from evaluator.arc.grids import Demonstration, Grid
from evaluator.arc.helpers import functions
from evaluator.arc.helpers.catalogue import HELPERS
from evaluator.arc.strategies.agents import AGENTS, ONLY_GRID, Agent, agent_named
from evaluator.arc.strategies.compact import AGAIN, NO_PROGRAM, feedback_text, task_text
from evaluator.arc.strategies.replies import ENTRY, PROGRAM, PROSE
from evaluator.arc.views import task_view
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Message

PROMPT = "arc-experts/1"
_TASK = """You are given pairs of input and output grids, and find the one rule that turns each input into its output.
Then you write the rule as a Python function that also works for the test inputs, whose outputs you do not see.

Grids are lists of rows of letters. `.` is blank, `a` to `i` are colours without any order. Coordinates are
(row, column) from the top left, counted from 0.
"""
_RULES = f"""Rules for the program:
- It defines {ENTRY}(grid), which takes a grid and returns a grid. Both are lists of rows of letters.
- Start from a copy of the grid (copy.deepcopy), from empty_grid(row, col) or from crop_grid(grid, tl, br).
- Write for any grid of this kind: read sizes, places and colours from the grid where they differ between the pairs.
- Use the helpers where they fit. Those that change an argument say so.
- No import, no class, no exception handling, no input or output; copy is there.
"""
_EXAMPLES: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("get_objects", ([["a", "a", "."], [".", ".", "b"]],)),
    ("get_pixel_coords", ([["a", "a", "."], [".", ".", "b"]],)),
    ("get_size", ([["a", "b", "."], [".", ".", "b"]],)),
    ("empty_grid", (2, 3)),
    ("crop_grid", ([["a", "a", "b"], [".", "a", "b"]], (0, 0), (1, 1))),
    ("tight_fit", ([[".", ".", "."], [".", "a", "."], [".", ".", "."]],)),
    ("combine_object", ({"tl": (0, 0), "grid": [["a", "a"]]}, {"tl": (1, 0), "grid": [["b", "b"]]})),
    ("rotate_clockwise", ([["a", "b"], ["c", "."]], 90)),
    ("horizontal_flip", ([["a", "b"], ["c", "."]],)),
    ("vertical_flip", ([["a", "b"], ["c", "."]],)),
    ("replace", ([["a", "b"], ["a", "."]], "a", "c")),
    ("get_object_color", ({"tl": (0, 0), "grid": [[".", "a"]]},)),
    ("change_object_color", ({"tl": (0, 0), "grid": [["a", "."]]}, "b")),
    ("fill_object", ([[".", "."], [".", "."]], {"tl": (1, 0), "grid": [["c", "c"]]})),
    ("object_contains_color", ({"tl": (0, 0), "grid": [["a", "."]]}, "b")),
    ("fill_row", ([["a", "."], ["c", "."]], 0, "b")),
    ("fill_col", ([["a", "."], ["c", "."]], 1, "b")),
    ("fill_between_coords", ([[".", "."], [".", "."]], (0, 0), (1, 1), "a")),
    ("fill_rect", ([[".", "."], [".", "."]], (0, 0), (1, 1), "c")),
    ("fill_value", ([[".", "."], [".", "."]], (1, 1), "a")),
    ("on_same_line", ((1, 1), (1, 2), "row")),
)
_SHAPES: Mapping[str, str] = {
    "objects": "`..._objects` lists the objects of a grid: the place of the top left cell, the cells, the size, how "
    "many cells are not blank, and the shape, where x is not blank. Cells `$` are blank and enclosed by an object.",
    "pixels": "`..._pixel_coords` lists the coordinates of each colour but blank, the most frequent colour first.",
}


@cache
def example_lines() -> tuple[str, ...]:
    """A call of each helper with its computed result."""
    return tuple(
        # Helpers modify their arguments.
        f"{name}({', '.join(map(repr, arguments))}) == {getattr(functions, name)(*deepcopy(arguments))!r}"
        for name, arguments in _EXAMPLES
    )


def _in_views(
    agent: Agent, *, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid]
) -> dict[str, JsonValue]:
    """The task in the agent's views, with the field names of the released prompts."""
    merged: dict[str, list[dict[str, JsonValue]]] = {"train": [], "test": []}
    for view in agent.views:
        parts = task_view(demonstrations=demonstrations, test_inputs=test_inputs, view=view, more_info=True)
        for name, pairs in merged.items():
            rows = parts[name]
            assert isinstance(rows, list)
            pairs.extend({} for _ in range(len(rows) - len(pairs)))
            for pair, row in zip(pairs, rows, strict=True):
                assert isinstance(row, dict)
                pair.update(row)
    return {name: list(pairs) for name, pairs in merged.items()}


_FIELDS = {
    "reflection": "what the pairs have in common",
    "pixel_changes": "how cells change from input to output",
    "object_changes": "how objects change from input to output",
    "helper_functions": "which helpers fit",
    "overall_pattern": "the simplest rule that holds for all pairs",
    "program_instructions": "the program in words, step by step",
}
_FORMAT = "\n".join(
    [
        "Answer with one JSON object with these fields, in this order:",
        *(f'- "{name}": {_FIELDS[name]}' for name in PROSE),
        f'- "{PROGRAM}": the program as one text, with \\n for line breaks',
    ]
)


class Style(Protocol):
    """A style of prompts."""

    name: ClassVar[str]
    prompt: ClassVar[str]
    """Name and version of its prompts, for the notes."""
    agents: ClassVar[Sequence[Agent]]
    """The default agents."""
    most_tokens: ClassVar[int]
    """Maximum length of a reply, in tokens."""
    continues: ClassVar[bool]
    """Whether wrong outputs become the inputs of a further program; otherwise the program is corrected."""

    def first(
        self, *, agent: Agent, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid],
        before: Sequence[str],
    ) -> tuple[Message, ...]:  # fmt: skip
        """The first request to an agent, in its views.

        Args:
            agent: the agent.
            demonstrations: inputs and outputs.
            test_inputs: their outputs are not part of a request.
            before: descriptions of this sample's earlier programs, whose outputs are the inputs.
        """
        ...

    def correction(
        self, *, reply: str, problem: str, outputs: Sequence[Output], rights: Sequence[Grid]
    ) -> tuple[Message, ...]:
        """The messages that follow a reply that is not a solution.

        Args:
            reply: the reply.
            problem: description of the problem, in sentences.
            outputs: the program's outputs for the demonstrations; empty without a program.
            rights: the expected outputs of the demonstrations.
        """
        ...


class Paper:
    """The multi-expert paper's prompts, with thousands of tokens."""

    name: ClassVar[str] = "paper"
    prompt: ClassVar[str] = PROMPT
    agents: ClassVar[Sequence[Agent]] = AGENTS
    most_tokens: ClassVar[int] = 2048
    continues: ClassVar[bool] = True

    def first(
        self, *, agent: Agent, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid],
        before: Sequence[str],
    ) -> tuple[Message, ...]:  # fmt: skip
        views = [part for kind, part in _SHAPES.items() if any(view.startswith(kind) for view in agent.views)]
        helpers = [
            f"- {helper.signature}. {helper.description}" + (f" Changes {helper.changes}." if helper.changes else "")
            for helper in HELPERS.values()
            if helper.is_offered
        ]
        parts = [_TASK, *views, "", _RULES, "Helpers:", *helpers, "", "Examples of helpers:", *example_lines(), ""]
        if before:
            steps = [f"{number}. {words or 'It did not say.'}" for number, words in enumerate(before, start=1)]
            parts += [
                "Earlier programs were applied already. The inputs below are what they made; write the next program, "
                "which",
                "goes on from there. What they did:",
                *steps,
                "",
            ]
        task = _in_views(agent, demonstrations=demonstrations, test_inputs=test_inputs)
        return (Message("user", "\n".join([*parts, "The task:", json.dumps(task), "", _FORMAT])),)

    def correction(
        self, *, reply: str, problem: str, outputs: Sequence[Output], rights: Sequence[Grid]
    ) -> tuple[Message, ...]:
        del outputs, rights
        words = f"{problem}\n\nCorrect it, and answer with the whole JSON object again."
        return (Message("assistant", reply), Message("user", words))


class Compact:
    """Prompts of a few hundred tokens, for networks trained on them: one view, and a whole program after feedback."""

    name: ClassVar[str] = "compact"
    prompt: ClassVar[str] = "arc-compact/1"
    agents: ClassVar[Sequence[Agent]] = (
        ONLY_GRID, agent_named("objects"), agent_named("objects_multicolor"), agent_named("pixels"),
    )  # fmt: skip
    most_tokens: ClassVar[int] = 256
    continues: ClassVar[bool] = False

    def first(
        self, *, agent: Agent, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid],
        before: Sequence[str],
    ) -> tuple[Message, ...]:  # fmt: skip
        del before
        return (Message("user", task_text(agent=agent, demonstrations=demonstrations, test_inputs=test_inputs)),)

    def correction(
        self, *, reply: str, problem: str, outputs: Sequence[Output], rights: Sequence[Grid]
    ) -> tuple[Message, ...]:
        del problem
        words = feedback_text(outputs=outputs, rights=rights) if outputs else NO_PROGRAM + AGAIN
        return (Message("assistant", reply), Message("user", words))


PAPER, COMPACT = Paper(), Compact()
STYLES: Mapping[str, Style] = {style.name: style for style in (PAPER, COMPACT)}
