"""Parser for assignments: LUMOS' `R1 = Tool(args); R2, R3 = Tool2(R1, "x")`, ControlLLM's `out = tool(k=v)`.

Grammar::

    plan      = action { (";" | line break) action } [";"]
    action    = [ target { "," target } "=" ] tool "(" [ argument { "," argument } [","] ] ")"
    target    = letter { letter | digit | "_" | "." } | "<" letters ">-" { letter | digit | "_" | "-" }
    tool      = any text without ( ) = , ; and line breaks; surrounding white space is ignored
    argument  = [ identifier "=" ] value
    value     = string | "[" item { "," item } "]" | bare
    item      = string | bare
    bare      = any text without a comma outside brackets; surrounding white space is ignored

Strings are Python literals. Arguments without a name come first, in the order of the tool's signature; additional ones
are named `input0`, `input1`, ... by position. A value that equals a target refers to that result, quoted or not; the
bare word `None` is an empty value. `evaluator.replies.actions` converts actions to steps.

Tolerated and recorded: `Action 1-1:` before an action and `= result` after it, as in LUMOS' annotations; an action
without a target.
"""

import re

from evaluator.core.plans.literals import MAX_STEPS, Scanner, short
from evaluator.core.plans.model import ParsedPlan, PlanContext
from evaluator.replies.actions import Action, inputs_of, plan_of, tool_name

FORM = "assignments"
TARGET = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*|<[A-Za-z-]{1,20}>-[A-Za-z0-9_-]+")
TOOL = re.compile(r"[^()=,;\n]+")
LABEL = re.compile(r"Action[ 0-9.-]{0,20}:")
_KEYWORD = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s{0,20}=(?!=)")
_BLANKS = re.compile(r"[^\S\n]*")
_LINE = re.compile(r"[^;\n]*")
_BARE = re.compile(r"[^,()\[\]{}]+")
CLOSING = {"(": ")", "[": "]", "{": "}"}


def looks_like_assignments(text: str) -> bool:
    """Whether a text begins with an optional label, a target and `=`."""
    scanner = _Reader(text)
    scanner.label(record=False)
    return scanner.targets(record=False) is not None


def parse_lumos(*, text: str, context: PlanContext) -> ParsedPlan:
    """Parse assignments.

    Raises:
        PlanSyntaxError: the syntax is invalid; `where` is the position in the text.
    """
    reader = _Reader(text)
    actions: list[Action] = []
    while not reader.at_end():
        actions.append(reader.action(context))
        if len(actions) > MAX_STEPS:
            raise reader.fail(f"a plan has at most {MAX_STEPS} actions")
        reader.end_of_action()
    if not actions:
        raise reader.fail("the plan is empty")
    return plan_of(actions=actions, context=context, form=FORM, tolerated=reader.tolerated)


class _Reader(Scanner):
    def action(self, context: PlanContext) -> Action:
        self.label()
        start = self.index
        targets = self.targets()
        self.peek()
        match = TOOL.match(self.text, self.index)
        written = match[0].strip() if match else ""
        if match is None or not written:
            raise self.fail(f"expected a tool's name, found {self.found()}")
        self.index = match.end()
        self.expect("(", after=f"the tool {short(written)}")
        where = self.places[start]
        tool = tool_name(written=written, context=context, where=where, tolerated=self.tolerated)
        inputs = self._arguments(names=tuple(inputs_of(tool=tool, context=context)), opened=self.index - 1)
        return Action(tool=tool, inputs=inputs, outputs=targets, where=where)

    def label(self, *, record: bool = True) -> None:
        """Skip `Action 1-1:`."""
        self.peek()
        match = LABEL.match(self.text, self.index)
        if match is not None:
            if record:
                self.tolerated.append(f"{self.places[self.index]}: ignored {match[0]!r}")
            self.index = match.end()
            self.peek()

    def targets(self, *, record: bool = True) -> list[str] | None:
        """Parse targets and `=`. Returns None, at the same position, if there are none."""
        start = self.index
        targets = []
        while match := TARGET.match(self.text, self.index):
            targets.append(match[0])
            self.index = match.end()
            if self.take("="):
                return targets
            if not self.take(","):
                break
            self.peek()
        self.index = start
        if record:
            self.tolerated.append(f"{self.places[start]}: an action without a target")
        return None

    def end_of_action(self) -> None:
        """Skip a result, and a semicolon or line break."""
        self.index = _after(_BLANKS, self.text, self.index)
        if self.text.startswith("=", self.index):
            end = _after(_LINE, self.text, self.index)
            self.tolerated.append(f"{self.places[self.index]}: ignored the result {short(self.text[self.index : end])}")
            self.index = end
        if self.text[self.index : self.index + 1] not in (";", "\n", ""):
            raise self.fail(f"expected ';' or a new line after an action, found {self.found()}")
        self.index += 1

    def _arguments(self, *, names: tuple[str, ...], opened: int) -> dict[str, object]:
        arguments: dict[str, object] = {}
        position = 0

        def argument() -> None:
            nonlocal position
            if self.at_end():
                raise self.fail("the parenthesis of this action is never closed", index=opened)
            begin = self.index
            match = _KEYWORD.match(self.text, self.index)
            if match is not None:
                name, self.index = match[1], match.end()
            elif position < len(arguments):
                raise self.fail("an argument without a name follows one with a name")
            else:
                name = names[position] if position < len(names) else f"input{position}"
                position += 1
            if name in arguments:
                raise self.fail(f"the argument {name!r} occurs twice", index=begin)
            arguments[name] = self._value(close=")", opened=opened)

        self.items(close=")", read=argument, what="an argument")
        return arguments

    def _value(self, *, close: str, opened: int) -> object:
        symbol = self.peek()
        if symbol in ("'", '"'):
            return self.string()
        if symbol == "[" and close == ")":
            self.index += 1
            items: list[object] = []
            self.items(close="]", read=lambda: items.append(self._value(close="]", opened=opened)), what="an item")
            return items
        bare = self._bare(close=close, opened=opened)
        return None if bare == "None" else bare

    def _bare(self, *, close: str, opened: int) -> str:
        begin = self.index
        expected = [close]
        while True:
            self.index = _after(_BARE, self.text, self.index)
            symbol = self.text[self.index : self.index + 1]
            if not symbol:
                raise self.fail("the parenthesis of this action is never closed", index=opened)
            if len(expected) == 1 and symbol in (",", close):
                break
            if symbol in CLOSING:
                expected.append(CLOSING[symbol])
            elif symbol == expected[-1]:
                expected.pop()
            elif symbol != ",":
                raise self.fail(f"expected {expected[-1]!r} before {symbol!r}")
            self.index += 1
        bare = self.text[begin : self.index].strip()
        if not bare:
            raise self.fail(f"expected a value, found {self.found()}", index=begin)
        return bare


def _after(pattern: re.Pattern[str], text: str, index: int) -> int:
    match = pattern.match(text, index)
    return index if match is None else match.end()
