"""Reader for the actions of a grounding reply: `R1 = Calculator(2 - 0.5); R2, R3 = SolveEquation(R1 = x, y = 2x)`.

Grammar, brackets and quotes as in `evaluator.replies.turns.scanning`::

    reply     = action { separator action } [separator]
    separator = ";" outside brackets and quotes | a line break there, before the outputs of an action
    action    = outputs "=" ( call | statement )
    outputs   = output { "," output }
    output    = "R" digits | "Output"
    call      = tool "(" any text in which brackets balance ")"
    tool      = letter { letter | digit | "_" | "-" | " " }
    statement = any text up to the separator; only if the list of tools has such a form, such as SQL

Where statements are allowed, a call needs one of the given names: `COUNT(*) FROM singer` is a statement.

Tolerated and recorded: a label `Action 1-1:` before an action; `= result` after a call, as annotated plans have it; a
line break as the separator.
"""

import re
from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise

from evaluator.core.plans.envelope import unfenced, without_reasoning
from evaluator.core.plans.literals import MAX_STEPS, short, spelling
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.replies.lumos import LABEL
from evaluator.replies.turns.model import Action, Actions, Argument, TurnSyntaxError
from evaluator.replies.turns.scanning import Balance, Mark, Scan, Source, references_of

MAX_ACTIONS = MAX_STEPS
_OUTPUT = re.compile(r"(?:R[0-9]{1,9}|Output)\b", re.ASCII)
_EQUALS = re.compile(r"=(?!=)")
_COMMA = re.compile(r",")
_TOOL = re.compile(r"([A-Za-z][A-Za-z0-9_ -]{0,98}[A-Za-z0-9_]|[A-Za-z])[ \t]{0,20}\(", re.ASCII)
_NEXT_LINE = re.compile(r"\n[ \t\r]*")
_OUTPUTS = re.compile(
    r"(?:R[0-9]{1,9}|Output)(?:[ \t]{0,9},[ \t]{0,9}(?:R[0-9]{1,9}|Output)){0,20}[ \t]{0,9}=(?!=)", re.ASCII
)


def read_actions(*, text: str, statements: bool = False, tools: Collection[str] = ()) -> Actions:
    """Read the actions of a reply, in time that grows with its length.

    Args:
        text: the reply.
        statements: whether the list of tools has a form without a name and parentheses.
        tools: names of the tools that are called by name where `statements` is true.

    Reasoning before the reply and a code fence around it are left out, and recorded.

    Raises:
        TurnSyntaxError: with the position in what is left, and with the actions before it.
    """
    try:
        bare, reasoning = without_reasoning(text)
        bare, fence = unfenced(bare) if bare.lstrip().startswith(("```", "~~~")) else (bare, ())
    except PlanSyntaxError as error:
        raise TurnSyntaxError(error.message, place=Source(text).place(0)) from None
    names = frozenset(map(spelling, tools)) if statements else None
    found = _Reader(source=Source(bare), structure=Scan(bare), named=names).read()
    return replace(found, tolerated=(*reasoning, *fence, *found.tolerated))


class _Reader:
    """The state of one pass over a reply."""

    def __init__(self, *, source: Source, structure: Scan, named: frozenset[str] | None) -> None:
        self._source = source
        self._text = source.text
        self._structure = structure
        self._named = named
        self._at = 0
        self._tolerated: list[str] = []

    def read(self) -> Actions:
        actions: list[Action] = []
        try:
            while self._more():
                if len(actions) == MAX_ACTIONS:
                    raise self._fail(f"a reply has at most {MAX_ACTIONS} actions")
                actions.append(self._action())
            if not actions:
                raise self._fail("the reply has no action; expected one such as R1 = Tool(arguments)")
        except TurnSyntaxError as error:
            error.before, error.tolerated = tuple(actions), tuple(self._tolerated)
            raise
        return Actions(tuple(actions), tuple(self._tolerated))

    def _more(self) -> bool:
        self._skip()
        return self._at < len(self._text)

    def _action(self) -> Action:
        self._label()
        start = self._at
        outputs = self._targets()
        self._skip()
        call = _TOOL.match(self._text, self._at)
        if call is not None and (self._named is None or spelling(call[1]) in self._named):
            tool, begin = call[1], call.end()
            commas, end = self._to_close(opened=begin - 1)
            self._at = end + 1
        elif self._named is not None:
            tool, begin = "", self._at
            commas, end = self._statement()
        else:
            raise self._no_call(outputs)
        finish = self._at
        self._end_of_action(is_call=bool(tool))
        begin, end = self._trimmed(begin, end)
        return Action(
            outputs=outputs,
            tool=tool,
            raw=self._text[begin:end],
            items=self._items(begin=begin, end=end, commas=commas),
            references=references_of(self._text, structure=self._structure, start=begin, end=end),
            place=self._source.place(start),
            end=finish,
        )

    def _label(self) -> None:
        match = LABEL.match(self._text, self._at)
        if match is not None:
            self._note(f"ignored {match[0]!r}")
            self._at = match.end()
            self._skip()

    def _targets(self) -> tuple[str, ...]:
        outputs: list[str] = []
        while True:
            match = _OUTPUT.match(self._text, self._at)
            if match is None:
                wanted = "outputs and '=' before the action, as in R1 = Tool(arguments)"
                raise self._fail(f"expected {wanted}; found {self._source.found(self._at)}")
            if match[0] in outputs:
                raise self._fail(f"the output {match[0]} occurs twice")
            outputs.append(match[0])
            self._at = match.end()
            if self._took(_EQUALS):
                return tuple(outputs)
            if not self._took(_COMMA):
                wanted = f"'=' and an action after {match[0]}, as in {match[0]} = Tool(arguments)"
                raise self._fail(f"expected {wanted}; found {self._source.found(self._at)}")
            self._skip()

    def _to_close(self, *, opened: int) -> tuple[list[int], int]:
        """The offsets of the commas between the parentheses of a call, and of the closing one."""
        balance = Balance(self._source)
        commas: list[int] = []
        for mark in self._structure.marks_from(opened):
            balance.step(mark)
            if balance.depth == 0:
                return commas, mark.offset
            if mark.symbol == "," and balance.depth == 1:
                commas.append(mark.offset)
        raise self._unclosed(balance.innermost)

    def _statement(self) -> tuple[list[int], int]:
        """The offsets of the commas of a statement outside brackets, and of its end, which the reader steps to."""
        balance, end, begin = Balance(self._source), len(self._text), self._at
        commas: list[int] = []
        for mark in self._structure.marks_from(self._at):
            if balance.depth == 0 and self._separates(mark):
                end = mark.offset
                break
            balance.step(mark)
            if mark.symbol == "," and balance.depth == 0:
                commas.append(mark.offset)
        if balance.depth and end == len(self._text):
            raise self._unclosed(balance.innermost)
        if not self._text[begin:end].strip():
            raise self._fail(f"expected an action after '='; found {self._source.found(begin)}")
        self._at = end
        return commas, end

    def _end_of_action(self, *, is_call: bool) -> None:
        """Step over a result and the separator."""
        if is_call:
            self._result()
        self._skip(" \t\r")
        if self._at >= len(self._text):
            return
        if self._text[self._at] == ";":
            self._at += 1
        elif self._text[self._at] != "\n":
            raise self._fail(f"expected ';' after the action; found {self._source.found(self._at)}")
        elif self._text[self._at :].strip():
            self._note("a line break instead of ';' after an action")

    def _result(self) -> None:
        self._skip(" \t\r")
        if not self._text.startswith("=", self._at):
            return
        ends = (mark.offset for mark in self._structure.marks_from(self._at) if mark.symbol in ";\n")
        end = next(ends, len(self._text))
        self._note(f"ignored the result {short(self._text[self._at : min(end, self._at + 70)].strip())}")
        self._at = end

    def _separates(self, mark: Mark) -> bool:
        if mark.symbol != "\n":
            return mark.symbol == ";"
        blanks = _NEXT_LINE.match(self._text, mark.offset)
        begin = blanks.end() if blanks else mark.offset
        return any(pattern.match(self._text, begin) for pattern in (LABEL, _OUTPUTS))

    def _items(self, *, begin: int, end: int, commas: list[int]) -> tuple[Argument, ...]:
        """The raw arguments between commas; none where there is no text at all."""
        if begin == end:
            return ()
        edges = [begin - 1, *(comma for comma in commas if begin <= comma < end), end]
        return tuple(self._item(low=low + 1, high=high, origin=begin) for low, high in pairwise(edges))

    def _item(self, *, low: int, high: int, origin: int) -> Argument:
        low, high = self._trimmed(low, high)
        references = references_of(self._text, structure=self._structure, start=low, end=high)
        return Argument(text=self._text[low:high], start=low - origin, end=high - origin, references=references)

    def _trimmed(self, begin: int, end: int) -> tuple[int, int]:
        part = self._text[begin:end]
        lead = len(part) - len(part.lstrip())
        return begin + lead, begin + max(lead, len(part.rstrip()))

    def _skip(self, blanks: str | None = None) -> None:
        while self._at < len(self._text) and (
            self._text[self._at] in blanks if blanks else self._text[self._at].isspace()
        ):
            self._at += 1

    def _took(self, pattern: re.Pattern[str]) -> bool:
        self._skip(" \t\r")
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match is not None

    def _note(self, message: str) -> None:
        self._tolerated.append(f"{self._source.place(self._at)}: {message}")

    def _fail(self, message: str) -> TurnSyntaxError:
        return self._source.error(message, offset=self._at)

    def _unclosed(self, mark: Mark) -> TurnSyntaxError:
        return self._source.error(f"the bracket {mark.symbol!r} is never closed", offset=mark.offset)

    def _no_call(self, outputs: tuple[str, ...]) -> TurnSyntaxError:
        wanted = f"a tool and its arguments in parentheses, as in {', '.join(outputs)} = Tool(arguments)"
        return self._fail(f"expected {wanted}; found {self._source.found(self._at)}")
