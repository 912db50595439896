"""Parser for the actions of a grounding reply: `R1 = Calculator(2 - 0.5); R2, R3 = SolveEquation(R1 = x, y = 2x)`.

Grammar, brackets and quotes as in `evaluator.replies.turns.scanning`::

    reply     = action { separator action } [separator]
    separator = ";" or a line break before the outputs of an action, outside brackets and quotes
    action    = outputs "=" ( call | statement )
    outputs   = output { "," output }
    output    = "R" digits | "Output"
    call      = tool "(" any text in which brackets balance ")"
    tool      = letter { letter | digit | "_" | "-" | " " }
    statement = [quote] any text up to the separator [quote]; only with a tool of this form, such as SQL

If statements are allowed, a call needs one of the given names: `COUNT(*) FROM singer` is a statement. A statement that
ends with a sentence, or is followed by a line of prose, is refused: it cannot be told where it ends.

Tolerated and recorded: a label `Action 1-1:` before an action; `= result` after a call, as in annotated plans; a line
break as the separator.
"""

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from evaluator.core.plans.literals import MAX_STEPS, short, spelling
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.replies.envelope import BACKTICKS, opened
from evaluator.replies.lumos import LABEL
from evaluator.replies.turns.model import Action, Actions, Argument, TurnSyntaxError
from evaluator.replies.turns.scanning import Balance, Mark, Scan, Source, references_of

MAX_ACTIONS = MAX_STEPS
_OUTPUT = re.compile(r"(?:R[0-9]{1,9}|Output)\b", re.ASCII)
_EQUALS = re.compile(r"=(?!=)")
_COMMA = re.compile(r",")
_TOOL = re.compile(r"([A-Za-z][A-Za-z0-9_ -]{0,98}[A-Za-z0-9_]|[A-Za-z])[ \t]{0,20}\(", re.ASCII)
_OUTPUTS = re.compile(
    r"(?:R[0-9]{1,9}|Output)(?:[ \t]{0,9},[ \t]{0,9}(?:R[0-9]{1,9}|Output)){0,20}[ \t]{0,9}=(?!=)", re.ASCII
)
_FENCED = re.compile(BACKTICKS)
_FENCED_STATEMENT = re.compile(rf"(=[ \t]*){BACKTICKS}(?:[A-Za-z][\w-]*[ \t]*\n|sql\b)?\s*([^`]*?)\s*{BACKTICKS}")
"""A statement in a code fence of its own: R1 = ```sql ... ```."""
_DECORATION = re.compile(
    r"^[ \t]*(?:[-*•]|[0-9]{1,3}[.)])[ \t]+(?=(?:Action[ 0-9.-]{0,20}:[ \t]*)?(?:R[0-9]{1,9}|Output)\b)", re.MULTILINE
)
"""A bullet or number before an action."""
_IN_BACKTICKS = re.compile(r"^[ \t]*`((?:R[0-9]{1,9}|Output)\b[^`\n]*)`[ \t]*$", re.MULTILINE)
_FIRST = re.compile(
    rf"^[ \t]*(?:{LABEL.pattern}[ \t]*)?{_OUTPUTS.pattern}",
    re.MULTILINE | re.ASCII,
)
"""The first line that begins with an action."""
_QUOTED_STATEMENT = re.compile(r"([\"'`])\s*(?:SELECT|WITH)\b(?:(?!\1).)*\1", re.IGNORECASE | re.DOTALL)
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\[\]]*\]|--[^\n]*|/\*.*?\*/", re.DOTALL)
_PROSE_LINE = re.compile(
    r"[\w)*'][ \t\r]*\n\s*(?P<first>[A-Za-z][a-z'\u2019]*)"
    r"(?:[ \t]*[:!]|[ \t]+(?P<second>[A-Za-z][a-z'\u2019]*)\b(?![ \t]*[(.=<>]))"
)
"""Two words, or one before a colon, at the beginning of a line that follows a whole expression."""
_SQL_WORD = re.compile(
    r"select|distinct|all|as|from|where|group|order|by|having|limit|offset|union|except|intersect|inner|left|right|outer"
    r"|full|cross|natural|join|on|using|and|or|not|in|is|null|like|glob|between|exists|case|when|then|else|end|asc|desc"
    r"|nulls|first|last|with|recursive|values|cast|collate|escape|over|partition|rows|range|window|filter|match|regexp"
)
_NEXT_LINE = re.compile(r"\n[ \t\r]*")


def read_actions(*, text: str, statements: bool = False, tools: Collection[str] = ()) -> Actions:
    """Parse the actions of a reply, in linear time. Removes the envelope, which is recorded.

    Args:
        text: the reply.
        statements: whether there is a tool without name and parentheses.
        tools: names of the other tools, if `statements`.

    Raises:
        TurnSyntaxError: with the position in the remaining text, and the actions before it.
    """
    names = frozenset(map(spelling, tools)) if statements else None
    is_bare = _OUTPUTS.match(text.lstrip()) is not None and _FENCED.search(text) is None
    if is_bare and not statements:
        with suppress(TurnSyntaxError):
            return _parsed(text, names=names)
    try:
        bare, notes = opened(_FENCED_STATEMENT.sub(r"\1\2", text) if statements else text)
    except PlanSyntaxError as error:
        raise TurnSyntaxError(error.message, place=Source(text).place(0)) from None
    undecorated = _DECORATION.sub("", _IN_BACKTICKS.sub(r"\1", bare))
    if undecorated != bare:
        bare, notes = undecorated, (*notes, "envelope: list")
    first = _FIRST.search(bare)
    if first is not None and bare[: first.start()].strip():
        notes += (f"envelope: {len(bare[: first.start()].strip())} characters of prose",)
        bare = bare[first.start() :]
    actions = _parsed(bare, names=names)
    return replace(actions, tolerated=(*notes, *actions.tolerated))


def has_action(text: str) -> bool:
    """Whether a line of a text begins with an action."""
    return _FIRST.search(text) is not None


def _parsed(text: str, *, names: frozenset[str] | None) -> Actions:
    return _Reader(source=Source(text), structure=Scan(text), named=names).read()


class _Reader:
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
            while True:
                self._skip()
                if self._at >= len(self._text):
                    break
                if len(actions) == MAX_ACTIONS:
                    raise self._fail(f"a reply has at most {MAX_ACTIONS} actions")
                actions.append(self._action())
            if not actions:
                raise self._fail("the reply has no action; expected one such as R1 = Tool(arguments)")
        except TurnSyntaxError as error:
            error.before, error.tolerated = tuple(actions), tuple(self._tolerated)
            raise
        return Actions(tuple(actions), tuple(self._tolerated))

    def _action(self) -> Action:
        if (label := LABEL.match(self._text, self._at)) is not None:
            self._note(f"ignored {label[0]!r}")
            self._at = label.end()
            self._skip()
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
            form = f"a tool and its arguments in parentheses, as in {', '.join(outputs)} = Tool(arguments)"
            raise self._fail(f"expected {form}; found {self._source.found(self._at)}")
        finish = self._at
        self._end_of_action(is_call=bool(tool))
        begin, end = self._trimmed(begin, end)
        if not tool:
            begin, end = self._unquoted(begin, end)
        return Action(
            outputs=outputs,
            tool=tool,
            raw=self._text[begin:end],
            items=self._items(begin=begin, end=end, commas=commas),
            references=references_of(self._text, structure=self._structure, start=begin, end=end),
            place=self._source.place(start),
            end=finish,
        )

    def _unquoted(self, begin: int, end: int) -> tuple[int, int]:
        """The offsets of a statement without quotes around all of it.

        Raises:
            TurnSyntaxError: there is prose after the statement.
        """
        statement = self._text[begin:end]
        if _QUOTED_STATEMENT.fullmatch(statement) is not None:
            self._note(f"envelope: statement in {statement[0]}")
            return self._trimmed(begin + 1, end - 1)
        plain = _LITERAL.sub("''", statement).rstrip()
        lines = ([word.lower() for word in found.groups() if word] for found in _PROSE_LINE.finditer(plain))
        if plain.endswith((".", "!", ":")) or any(not any(map(_SQL_WORD.fullmatch, words)) for words in lines):
            self._at = begin
            raise self._fail("there is prose after the statement, so that its end is unknown")
        return begin, end

    def _targets(self) -> tuple[str, ...]:
        outputs: list[str] = []
        while True:
            match = _OUTPUT.match(self._text, self._at)
            if match is None:
                form = "outputs and '=' before the action, as in R1 = Tool(arguments)"
                raise self._fail(f"expected {form}; found {self._source.found(self._at)}")
            if match[0] in outputs:
                raise self._fail(f"the output {match[0]} occurs twice")
            outputs.append(match[0])
            self._at = match.end()
            if self._took(_EQUALS):
                return tuple(outputs)
            if not self._took(_COMMA):
                form = f"'=' and an action after {match[0]}, as in {match[0]} = Tool(arguments)"
                raise self._fail(f"expected {form}; found {self._source.found(self._at)}")
            self._skip()

    def _to_close(self, *, opened: int) -> tuple[list[int], int]:
        """The offsets of the commas between the parentheses of a call, and of the closing parenthesis."""
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
        """The offsets of the commas of a statement outside brackets, and of its end. Advances to the end."""
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
        """Skip a result and the separator."""
        self._skip(" \t\r")
        if is_call and self._text.startswith("=", self._at):
            ends = (mark.offset for mark in self._structure.marks_from(self._at) if mark.symbol in ";\n")
            end = next(ends, len(self._text))
            self._note(f"ignored the result {short(self._text[self._at : min(end, self._at + 70)].strip())}")
            self._at = end
        self._skip(" \t\r")
        if self._at >= len(self._text):
            return
        if self._text[self._at] == ";":
            self._at += 1
        elif self._text[self._at] != "\n":
            raise self._fail(f"expected ';' after the action; found {self._source.found(self._at)}")
        elif self._text[self._at :].strip():
            self._note("a line break instead of ';' after an action")

    def _separates(self, mark: Mark) -> bool:
        if mark.symbol != "\n":
            return mark.symbol == ";"
        blanks = _NEXT_LINE.match(self._text, mark.offset)
        begin = blanks.end() if blanks else mark.offset
        return any(pattern.match(self._text, begin) for pattern in (LABEL, _OUTPUTS))

    def _items(self, *, begin: int, end: int, commas: list[int]) -> tuple[Argument, ...]:
        """The raw arguments between commas; none for an empty text."""
        if begin == end:
            return ()
        items = []
        edges = [begin - 1, *(comma for comma in commas if begin <= comma < end), end]
        for before, after in pairwise(edges):
            low, high = self._trimmed(before + 1, after)
            references = references_of(self._text, structure=self._structure, start=low, end=high)
            items.append(
                Argument(text=self._text[low:high], start=low - begin, end=high - begin, references=references)
            )
        return tuple(items)

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
