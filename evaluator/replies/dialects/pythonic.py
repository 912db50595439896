"""Tool calls in the notation of Python: `[object_detection(image="a.png"), select_bbox(bbox_list=call_1)]`.

Grammar::

    calls    = "[" call { "," call } [","] "]" | call { (";" | line break | ",") call }
    call     = [ name "=" ] [ "print(" ] tool "(" [ argument { "," argument } [","] ] ")" [ ")" ]
    argument = [ name "=" ] value
    value    = literal | call | name { "." name }

A nested call precedes the call that takes its result. A bare name refers to the call of that target or id. Used by
Llama 4, LFM, Gemma (`tool_code`) and others.
"""

import re

from evaluator.core.plans.literals import MAX_DEPTH, Scanner
from evaluator.replies.calls import Call

_TOOL = re.compile(r"[A-Za-z_][\w.-]*(?=\s{0,20}\()")
_BEGINNING = re.compile(
    r"\s*\[?\s*(?:[A-Za-z_]\w*\s{0,20}=\s{0,20})?(?:print\s{0,20}\(\s{0,20})?(?P<tool>[A-Za-z_][\w.-]*)\s{0,20}\("
)
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s{0,20}=(?!=)")
_NAME = re.compile(r"[A-Za-z_$][\w.-]*")
_CONSTANTS = frozenset({"True", "False", "None", "true", "false", "null"})
_WRAPPER = "print"


def first_tool(text: str) -> str | None:
    """The tool of the call with which a text begins; None if it does not begin with a call."""
    match = _BEGINNING.match(text)
    return match["tool"] if match else None


def calls_of(text: str) -> tuple[Call, ...]:
    """The calls of a text.

    Raises:
        PlanSyntaxError: the syntax is invalid; `where` is the position in the text.
    """
    return _Reader(text).calls()


class _Reader(Scanner):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._calls: list[Call] = []

    def calls(self) -> tuple[Call, ...]:
        bracketed = self.take("[")
        while not self.at_end() and not (bracketed and self.peek() == "]"):
            self._statement()
            if not (self.take(",") or self.take(";")) and bracketed and self.peek() != "]":
                raise self.fail(f"expected ',' or ']' after a call, found {self.found()}")
        if bracketed:
            self.expect("]", after="the calls")
        if not self.at_end():
            raise self.fail(f"expected the end after the calls, found {self.found()}")
        return tuple(self._calls)

    def _statement(self) -> None:
        self.peek()
        target = _KEYWORD.match(self.text, self.index)
        if target is not None:
            self.index = target.end()
            self.peek()
        self._call(target=target[1] if target else None, depth=0)

    def _call(self, *, target: str | None, depth: int) -> str:
        """Read a call and return its id."""
        if depth > MAX_DEPTH:
            raise self.fail(f"calls nested more than {MAX_DEPTH} deep")
        start = self.index
        match = _TOOL.match(self.text, self.index)
        if match is None:
            raise self.fail(f"expected a call, found {self.found()}")
        self.index = match.end()
        self.expect("(", after=f"the tool {match[0]}")
        if match[0] == _WRAPPER and depth == 0:
            call_id = self._call(target=target, depth=depth)
            self.expect(")", after="a call")
            return call_id
        named: dict[str, object] = {}
        positional: list[object] = []

        def argument() -> None:
            self.peek()
            keyword = _KEYWORD.match(self.text, self.index)
            if keyword is None:
                if named:
                    raise self.fail("an argument without a name follows one with a name")
                positional.append(self._value(depth=depth))
                return
            if keyword[1] in named:
                raise self.fail(f"the argument {keyword[1]!r} occurs twice")
            self.index = keyword.end()
            named[keyword[1]] = self._value(depth=depth)

        self.items(close=")", read=argument, what="an argument")
        call_id = target or f"call_{len(self._calls) + 1}"
        self._calls.append(
            Call(
                tool=match[0],
                arguments=named,
                where=self.places[start],
                id=call_id,
                positional=tuple(positional),
            )
        )
        return call_id

    def _value(self, *, depth: int) -> object:
        self.peek()
        if _TOOL.match(self.text, self.index):
            return self._call(target=None, depth=depth + 1)
        name = _NAME.match(self.text, self.index)
        if name is not None and name[0] not in _CONSTANTS:
            self.index = name.end()
            return name[0]
        if self.peek() == "[":
            self.index += 1
            items: list[object] = []
            self.items(close="]", read=lambda: items.append(self._value(depth=depth + 1)), what="an item")
            if depth > MAX_DEPTH:
                raise self.fail(f"lists nested more than {MAX_DEPTH} deep")
            return items
        return self.value()
