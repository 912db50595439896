"""Parser for ControlLLM's action lists in the notation of its paper.

Grammar::

    plan     = { list [","] } | { action [","] }
    list     = "[" [ item { "," item } [","] ] "]"
    item     = list | action
    action   = "Action" "(" [ argument { "," argument } [","] ] ")"
    argument = ["tool_name" "=" | "tool" "="] string
             | ["inputs" "=" | "args" "="] mapping
             | ["outputs" "=" | "returns" "="] outputs
    outputs  = list of strings | mapping | string

Values, strings and mappings are Python literals (`evaluator.core.plans.literals`). Arguments without a name are in the
order of the grammar. Lists are subtasks, whose actions are concatenated. References are kept verbatim.
`evaluator.replies.actions` converts actions to steps.

Tolerated and recorded: missing outputs, a single text as outputs, a line break inside quotes.
"""

from collections.abc import Mapping

from evaluator.core.plans.literals import MAX_DEPTH, MAX_STEPS, Scanner, kind_of
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.replies.actions import Action, plan_of

FORM = "printed actions"
_NAMES = {
    "tool_name": "tool_name",
    "tool": "tool_name",
    "inputs": "inputs",
    "args": "inputs",
    "outputs": "outputs",
    "returns": "outputs",
}
_ORDER = ("tool_name", "inputs", "outputs")


def parse_printed(*, text: str, context: PlanContext) -> ParsedPlan:
    """Parse printed actions.

    Raises:
        PlanSyntaxError: the syntax is invalid; `where` is the position in the text.
    """
    scanner = Scanner(text)
    actions: list[Action] = []
    if scanner.at_end():
        raise scanner.fail("the plan is empty")
    while not scanner.at_end():
        _item(scanner=scanner, actions=actions, depth=0)
        scanner.take(",")
    return plan_of(actions=actions, context=context, form=FORM, tolerated=scanner.tolerated)


def _item(*, scanner: Scanner, actions: list[Action], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise scanner.fail(f"lists nested more than {MAX_DEPTH} deep")
    if scanner.take("["):
        scanner.items(
            close="]", read=lambda: _item(scanner=scanner, actions=actions, depth=depth + 1), what="an action"
        )
        return
    actions.append(_action(scanner))
    if len(actions) > MAX_STEPS:
        raise scanner.fail(f"a plan has at most {MAX_STEPS} actions")


def _action(scanner: Scanner) -> Action:
    scanner.peek()
    start = scanner.index
    if scanner.name(what="'Action(' or a list of actions") != "Action":
        raise scanner.fail("expected 'Action(' or a list of actions", index=start)
    scanner.expect("(", after="Action")
    arguments: dict[str, object] = {}
    scanner.items(close=")", read=lambda: _argument(scanner=scanner, arguments=arguments), what="an argument")
    where = scanner.places[start]
    if "tool_name" not in arguments:
        raise PlanSyntaxError("an action needs a tool_name", where=where)
    if "inputs" not in arguments:
        scanner.tolerated.append(f"{where}: an action without inputs")
    inputs, outputs = arguments.get("inputs", {}), arguments.get("outputs")
    assert isinstance(inputs, Mapping)
    assert outputs is None or isinstance(outputs, list | Mapping)
    return Action(tool=str(arguments["tool_name"]), inputs=inputs, outputs=outputs, where=where)


def _argument(*, scanner: Scanner, arguments: dict[str, object]) -> None:
    symbol = scanner.peek()
    start = scanner.index
    if symbol.isalpha():
        written = scanner.name(what="an argument")
        if written not in _NAMES:
            raise scanner.fail(f"an action has no {written!r}; it has tool_name, inputs and outputs", index=start)
        scanner.expect("=", after=written)
        name = _NAMES[written]
    elif len(arguments) < len(_ORDER):
        name = _ORDER[len(arguments)]
    else:
        raise scanner.fail("an action has three arguments: tool_name, inputs and outputs")
    if name in arguments:
        raise scanner.fail(f"{name} occurs twice", index=start)
    arguments[name] = _READERS[name](scanner)


def _tool_name(scanner: Scanner) -> str:
    scanner.peek()
    start = scanner.index
    name = scanner.string(what="the tool's name in quotes")
    if not name:
        raise scanner.fail("the tool's name is empty", index=start)
    return name


def _inputs(scanner: Scanner) -> dict[str, object]:
    if scanner.peek() != "{":
        raise scanner.fail(f"expected the inputs as {{'argument': value}}, found {scanner.found()}")
    return scanner.mapping()


def _outputs(scanner: Scanner) -> list[str] | dict[str, str]:
    scanner.peek()
    start = scanner.index
    value = scanner.value()
    if isinstance(value, str):
        scanner.tolerated.append(f"{scanner.places[start]}: read a text as a list of one output")
        value = [value]
    items = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(items, list):
        raise scanner.fail(f"outputs are a list of texts, not {kind_of(value)}", index=start)
    for item in items:
        if not isinstance(item, str) or not item:
            raise scanner.fail(f"an output is a non-empty text, not {kind_of(item)}", index=start)
    return value  # type: ignore[return-value]  # its items were checked above


_READERS = {"tool_name": _tool_name, "inputs": _inputs, "outputs": _outputs}
