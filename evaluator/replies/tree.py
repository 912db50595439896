"""Parser for OpenAGI's trees: `(Image Denoising,)(Fill Mask,)Visual Question Answering,`.

Grammar::

    tree   = [ branch branch { branch } ] { name "," } [ name ]
    branch = "(" tree ")"
    name   = any text without ( ) , { } [ ] " ` < >; surrounding white space is ignored

Each leaf branch works on one resource, in the order of the request; an empty leaf passes its resource on. The
concatenated results of a tree's branches are the frontier of the names after them (`evaluator.replies.frontier`); at
the top level, the remaining resources follow. The answer is the first output of the last step.

Tolerated and recorded: a single branch; empty names; names and aliases that differ in case, blanks, hyphens or
underscores.
"""

import re

from evaluator.core.plans.literals import MAX_STEPS, Places, short, spelling
from evaluator.core.plans.model import ParsedPlan, Plan, PlanContext, PlanSyntaxError, Step
from evaluator.replies.frontier import Value, known_names, resources_of, wire

FORM = "tree"
MAX_DEPTH = 20
_NO_NAME = re.compile(r"[{}\[\]\"`<>]")
_SYMBOL = re.compile(r"[(),]|[^(),]+")


def parse_tree(*, text: str, context: PlanContext) -> ParsedPlan:
    """Parse a tree and wire it. Unknown names become steps without inputs, for the checks to report.

    Raises:
        PlanSyntaxError: the syntax is invalid; `where` is the position in the text.
    """
    reader = _Reader(text=text, context=context)
    reader.tree(depth=0)
    if reader.symbol:
        raise reader.fail("this ')' closes nothing")
    if not reader.steps:
        raise PlanSyntaxError("the plan is empty: it names no tool", tolerated=tuple(reader.tolerated))
    plan = Plan(steps=tuple(reader.steps), answers=tuple(reader.steps[-1].outputs.values())[:1])
    return ParsedPlan(plan=plan, form=FORM, tolerated=tuple(reader.tolerated))


class _Reader:
    def __init__(self, *, text: str, context: PlanContext) -> None:
        self.text = text
        self.places = Places(text)
        self.context = context
        self.steps: list[Step] = []
        self.tolerated: list[str] = []
        self._resources = resources_of(context)
        self._names = known_names(context)
        self._index = 0
        self.symbol = ""
        self._next()

    def fail(self, message: str, *, index: int | None = None) -> PlanSyntaxError:
        where = self.places[self._index if index is None else index]
        return PlanSyntaxError(message, where=where, tolerated=tuple(self.tolerated))

    def tree(self, *, depth: int) -> list[Value]:
        """Parse a tree and return its resulting frontier."""
        if depth > MAX_DEPTH:
            raise self.fail(f"branches nested more than {MAX_DEPTH} deep")
        frontier, branches = [], 0
        start = self._index
        while self.symbol == "(":
            opening = self._index
            self._next()
            frontier += self.tree(depth=depth + 1)
            if self.symbol != ")":
                raise self.fail("this '(' is never closed", index=opening)
            self._next()
            branches += 1
        if branches == 1:
            self.tolerated.append(f"{self.places[start]}: a single branch")
        if depth == 0:
            frontier += self._resources
        elif not branches:
            frontier += self._resources[:1]
            del self._resources[:1]
        self._sequence(frontier)
        return frontier

    def _sequence(self, frontier: list[Value]) -> None:
        named = False
        while self.symbol and self.symbol != ")":
            if self.symbol == "(":
                raise self.fail("a branch must follow the names")
            if self.symbol == ",":
                if not named:
                    self.tolerated.append(f"{self.places[self._index]}: ignored an empty name")
                named = False
            else:
                self._step(frontier)
                named = True
            self._next()

    def _step(self, frontier: list[Value]) -> None:
        if _NO_NAME.search(self.symbol):
            raise self.fail(f"{short(self.symbol.strip())} is no name of a tool")
        written = " ".join(self.symbol.split())
        name = self._names.get(spelling(written), written)
        if name != self.symbol.strip() and name in self._names.values():
            where = self.places[self._index]
            self.tolerated.append(f"{where}: read {self.symbol.strip()!r} as {name!r}")
        self.steps.append(wire(name=name, number=len(self.steps), frontier=frontier, context=self.context))
        if len(self.steps) > MAX_STEPS:
            raise self.fail(f"a plan has at most {MAX_STEPS} names")

    def _next(self) -> None:
        """Advance to the next symbol that is not blank; "" at the end."""
        self._index += len(self.symbol)
        match = _SYMBOL.match(self.text, self._index)
        if match is not None and match[0].isspace():
            self._index = match.end()
            match = _SYMBOL.match(self.text, self._index)
        self.symbol = match[0] if match else ""
