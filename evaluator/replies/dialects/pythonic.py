"""Tool calls in the notation of Python: `[object_detection(image="a.png"), select_bbox(bbox_list=call_1)]`.

Grammar::

    calls    = "[" call { "," call } [","] "]" | call { (";" | line break | ",") call }
    call     = [ name "=" ] ( tool "(" [ argument { "," argument } [","] ] ")" | output "(" call ")" )
             | output "(" name ")"
    output   = "print" | "final_answer"
    argument = [ name "=" ] value
    value    = literal | call | name { "." name }

A nested call precedes the call that takes its result. A bare name refers to the call of that target or id. What
`final_answer` gives must be what no other call takes, because that is the plan's answer. Used by Llama 4, LFM, Gemma
(`tool_code`), smolagents and others.
"""

import re

from evaluator.core.plans.literals import MAX_DEPTH, Scanner
from evaluator.replies.calls import Call

_TOOL = re.compile(r"[A-Za-z_][\w.-]*(?=\s{0,20}\()")
_BEGINNING = re.compile(
    r"\s*\[?\s*(?:[A-Za-z_]\w*\s{0,20}=\s{0,20})?(?:(?:print|final_answer)\s{0,20}\(\s{0,20})?(?P<tool>[A-Za-z_][\w.-]*)\s{0,20}\("
)
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s{0,20}=(?!=)")
_NAME = re.compile(r"[A-Za-z_$][\w.-]*")
_CONSTANTS = frozenset({"True", "False", "None", "true", "false", "null"})
_FINAL = "final_answer"
OUTPUTS = frozenset({"print", _FINAL})
"""Functions that are no tools, but output a result."""


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
        self._taken: set[str] = set()
        self._final: str | None = None

    def calls(self) -> tuple[Call, ...]:
        bracketed = self.take("[")
        while not self.at_end() and not (bracketed and self.peek() == "]"):
            self._statement()
            end = self.index
            if self.take(",") or self.take(";") or self.at_end():
                continue
            if bracketed and self.peek() != "]":
                raise self.fail(f"expected ',' or ']' after a call, found {self.found()}")
            if not bracketed and "\n" not in self.text[end : self.index]:
                raise self.fail(f"expected a new line after a call, found {self.found()}")
        if bracketed:
            self.expect("]", after="the calls")
        if not self.at_end():
            raise self.fail(f"expected the end after the calls, found {self.found()}")
        unused = {call.id for call in self._calls} - self._taken
        if self._final is not None and unused != {self._final}:
            raise self.fail(f"the final answer is {self._final}, and not the only result that no call takes")
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
        if match[0] in OUTPUTS and depth == 0:
            self.peek()
            name = None if _TOOL.match(self.text, self.index) else _NAME.match(self.text, self.index)
            if name is not None:
                self.index = name.end()
            call_id = name[0] if name is not None else self._call(target=target, depth=depth + 1)
            if name is not None and name[0] not in {call.id for call in self._calls}:
                raise self.fail(f"no call before this gives {name[0]}")
            self.expect(")", after="a result")
            self._final = call_id if match[0] == _FINAL else self._final
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
            call_id = self._call(target=None, depth=depth + 1)
            self._taken.add(call_id)
            return call_id
        name = _NAME.match(self.text, self.index)
        if name is not None and name[0] not in _CONSTANTS:
            self.index = name.end()
            self._taken.add(name[0])
            return name[0]
        if self.peek() == "[":
            self.index += 1
            items: list[object] = []
            self.items(close="]", read=lambda: items.append(self._value(depth=depth + 1)), what="an item")
            if depth > MAX_DEPTH:
                raise self.fail(f"lists nested more than {MAX_DEPTH} deep")
            return items
        return self.value()
