"""The content of a turn's reply: actions with references to earlier results, subgoals, or a stop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A position in a reply: the offset counts characters from 0, line and column count from 1."""

    offset: int
    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to a result, such as `R12`, in a text."""

    name: str
    start: int
    end: int
    """Offsets in the reference's text, such as the raw arguments of its action."""
    quoted: bool = False
    """Whether it is inside quotes, where a tool may use it verbatim."""

    def shifted(self, offset: int) -> "Reference":
        """The same reference in a text that begins `offset` characters earlier."""
        return Reference(self.name, self.start + offset, self.end + offset, self.quoted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A part of an action's raw arguments: one item between commas, or the value of one parameter."""

    text: str
    """Without surrounding white space."""
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
    """The text between the parentheses, or the statement, without surrounding white space."""
    items: tuple[Argument, ...]
    """The raw arguments, split at commas outside brackets and quotes. `bind_arguments` assigns them to parameters."""
    references: tuple[Reference, ...]
    """With offsets in `raw`."""
    place: Place
    """Start of the action."""
    end: int
    """Offset of the first character after it, which may begin a result."""

    def with_values(self, values: Mapping[str, str]) -> str:
        """The raw arguments with values in place of references; see `substitute`."""
        return substitute(text=self.raw, references=self.references, values=values)

    def __str__(self) -> str:
        return f"{', '.join(self.outputs)} = " + (f"{self.tool}({self.raw})" if self.tool else self.raw)


@dataclass(frozen=True, slots=True)
class Actions:
    """The actions of a reply, in order, with the tolerated deviations."""

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
    """A planning reply with at least one subgoal."""

    subgoals: tuple[Subgoal, ...]
    tolerated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """A planning reply that ends the episode."""

    tolerated: tuple[str, ...] = ()


# Not frozen: `contextlib` sets `__traceback__` on an exception that crosses a context manager.
@dataclass(eq=False)
class TurnSyntaxError(Exception):
    """A reply has a syntax error."""

    message: str
    place: Place
    before: tuple[Action, ...] = ()
    """The actions before the error, which can still be executed."""
    tolerated: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class UnknownReferenceError(LookupError):
    """An action refers to an unknown result; the message names it and the known results."""


def substitute(*, text: str, references: Sequence[Reference], values: Mapping[str, str]) -> str:
    """Replace the references in a text by values, by offset: references within values are not replaced.

    Args:
        text: any text.
        references: references to replace, in order, with offsets in `text`.
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
