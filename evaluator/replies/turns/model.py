"""What a reply of one turn says: actions with references to earlier results, subgoals, or the wish to stop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A position in a reply: the offset counts characters from 0, line and column from 1."""

    offset: int
    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True)
class Reference:
    """A result that a text refers to, such as `R12`, and where the text has it."""

    name: str
    start: int
    end: int
    """Offsets in the text that the reference belongs to, such as the raw arguments of its action."""
    quoted: bool = False
    """Whether it is inside quotes, where a tool may want it as it is written."""

    def shifted(self, offset: int) -> "Reference":
        """The same reference in a text that begins `offset` characters earlier."""
        return Reference(self.name, self.start + offset, self.end + offset, self.quoted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A part of an action's raw arguments: one item between commas, or the value of one parameter."""

    text: str
    """Without white space around it."""
    start: int
    end: int
    """Offsets in the action's raw arguments."""
    references: tuple[Reference, ...] = ()
    """With offsets in `text`."""

    def with_values(self, values: Mapping[str, str]) -> str:
        """The text with values in place of references; see `substitute`."""
        return substitute(text=self.text, references=self.references, values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action: `outputs = tool(arguments)`, or a statement without a tool's name, such as SQL."""

    outputs: tuple[str, ...]
    """`R1`, `R2`, ... or `Output`; at least one, without duplicates."""
    tool: str
    """The name as written; empty for a statement."""
    raw: str
    """The text between the parentheses, or the statement, without white space around it."""
    items: tuple[Argument, ...]
    """The raw arguments, split at commas outside brackets and quotes. `bind_arguments` assigns them to parameters."""
    references: tuple[Reference, ...]
    """With offsets in `raw`."""
    place: Place
    """Where the action begins."""
    end: int
    """Offset of the first character after it, without a result that follows it."""

    def with_values(self, values: Mapping[str, str]) -> str:
        """The raw arguments with values in place of references; see `substitute`."""
        return substitute(text=self.raw, references=self.references, values=values)

    def __str__(self) -> str:
        """The action as `read_actions` reads it."""
        return f"{', '.join(self.outputs)} = " + (f"{self.tool}({self.raw})" if self.tool else self.raw)


@dataclass(frozen=True, slots=True)
class Actions:
    """The actions of a reply, in order, with everything that was tolerated."""

    actions: tuple[Action, ...]
    tolerated: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join(map(str, self.actions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgoal:
    """One subgoal of a planning reply."""

    number: int
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Subgoals:
    """A planning reply that goes on: at least one subgoal."""

    subgoals: tuple[Subgoal, ...]
    tolerated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """A planning reply that ends the episode."""

    tolerated: tuple[str, ...] = ()


# Not frozen: `contextlib` sets `__traceback__` on an exception that crosses a context manager.
@dataclass(eq=False)
class TurnSyntaxError(Exception):
    """A reply that cannot be read."""

    message: str
    place: Place
    before: tuple[Action, ...] = ()
    """The actions before the error, which can still be executed."""
    tolerated: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class UnknownReferenceError(LookupError):
    """An action refers to a result that no earlier action has; the message names both."""


def substitute(*, text: str, references: Sequence[Reference], values: Mapping[str, str]) -> str:
    """A text with values in place of its references, by their offsets: a value is never searched for references.

    Args:
        text: any text.
        references: those to replace, in order, with offsets in `text`.
        values: texts by the reference's name.

    Raises:
        UnknownReferenceError: a reference has no value.
    """
    parts, at = [], 0
    for reference in references:
        if reference.name not in values:
            known = ", ".join(list(values)[:20]) or "none yet"
            raise UnknownReferenceError(f"{reference.name} is not the result of an earlier action; there are: {known}")
        parts += [text[at : reference.start], values[reference.name]]
        at = reference.end
    return "".join((*parts, text[at:]))
