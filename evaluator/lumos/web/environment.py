"""Tools and scoring of recorded walks: each step is predicted, then the recorded step is taken (teacher forcing)."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.core.transcripts import ActionProblem, ActionRun, Transcript
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, TurnScore
from evaluator.lumos.exact_tools import ExactTools, several_results
from evaluator.lumos.tasks import TurnTask
from evaluator.lumos.web.steps import OPERATIONS, Step, Walk
from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.binding import BindingError, Parameter, bind_arguments
from evaluator.replies.turns.model import TurnSyntaxError

OPEN = "OPEN"
_RULES = 1
"""Version of results and scores; increase it when the same actions may yield different ones."""
_PAGE = re.compile(r"Step ([0-9]{1,4}) of [0-9]{1,4}\.")
_REFERENCE = re.compile(r"\s*\[?\s*(?P<name>R[0-9]+)\s*\]?\s*(?:,|$)")
_DONE = "All steps are done."
_PAGE_GIVEN, _ELEMENT = Parameter("page"), Parameter("element", aliases=("query",))
_TEXT = Parameter("text", aliases=("value",))


class _UnreadError(ValueError):
    """The arguments of an action cannot be read; the message is a sentence."""


def _tool(name: str, description: str, *inputs: str) -> Tool:
    return Tool(
        name=name, domain="web", description=description,
        inputs=MappingProxyType(dict.fromkeys(inputs, ResourceType.TEXT)),
        outputs=MappingProxyType({"page": ResourceType.TEXT}),
    )  # fmt: skip


_TOOLS = (
    _tool(OPEN, "Shows the elements of the first step: R1 = OPEN(start).", "start"),
    _tool("CLICK", "Clicks an element of a page by its number: R2 = CLICK(R1, 7).", "page", "element"),
    _tool("TYPE", "Types a text into an element: R2 = TYPE(R1, 7, TEXT: New York).", "page", "element", "text"),
    _tool("SELECT", "Selects an option of an element: R2 = SELECT(R1, 7, TEXT: 2 adults).", "page", "element", "text"),
)  # fmt: skip
TOOLS = Catalogue(name="lumos-web", tools=MappingProxyType({tool.name: tool for tool in _TOOLS}))


class WalkEnvironment(ExactTools):
    """The recorded walks of a file."""

    def __init__(self, *, walks: Mapping[str, Walk], data: str) -> None:
        """Args:
        walks: the tasks by key.
        data: digest of their file.
        """
        self._walks, self._data = walks, data

    def digest(self) -> str:
        return canonical_json.digest({"environment": "walks", "rules": _RULES, "data": self._data})

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """See `Environment`: the share of correctly predicted steps, by the first action of each step."""
        del answer
        assert isinstance(task, TurnTask)
        steps = self._walks[task.scope].steps
        predictions: dict[int, tuple[bool, bool]] = {}
        for action in (action for turn in transcript.turns for action in turn.actions):
            place = _place_of(action, steps=len(steps))
            if place is not None and place not in predictions:
                predictions[place] = _judged(action, step=steps[place])
        elements = sum(element for element, _ in predictions.values()) / len(steps)
        whole = sum(step for _, step in predictions.values()) / len(steps)
        indicators = {"step_success": whole, "element_accuracy": elements, "solved": float(whole == 1.0)}
        recorded = "\n".join(step.recorded for step in steps)
        return TurnScore(score=whole, indicators=indicators, expected=recorded)

    def run_one(self, call: Call) -> Outcome:
        if (refused := several_results(call)) is not None:
            return refused
        steps = self._walks[call.scope].steps
        if call.tool == OPEN:
            return Made((_page(steps, place=0),))
        if call.tool not in OPERATIONS:
            message = f"There is no tool {call.tool!r}; there are: {', '.join(TOOLS.tools)}."
            return Refused(ActionProblem.UNKNOWN_TOOL, message)
        reference = _REFERENCE.match(call.arguments)
        # The page must be a result. A planner could otherwise write the text of a page that it has not reached.
        page = _PAGE.search(call.values.get(reference["name"], "")) if reference else None
        if page is None:
            message = f"{call.tool} takes the result of the action before as its page: {call.tool}(R1, 7)."
            return Refused(ActionProblem.BAD_ARGUMENTS, message)
        place = int(page[1]) - 1
        try:
            element = _element(call.arguments, tool=call.tool)[0]
        except _UnreadError as error:
            return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
        # On a page without elements, an action on number 0 leads to the next page, and fails.
        last = max(len(steps[place].elements) - 1, 0)
        if element > last:
            message = f"There is no element {element}; the page has 0 to {last}."
            return Refused(ActionProblem.BAD_REFERENCE, message)
        return Made((_page(steps, place=place + 1),))


def _page(steps: Sequence[Step], *, place: int) -> str:
    before = f"Step {place} was recorded as: {steps[place - 1].recorded}\n" if place else ""
    if place == len(steps):
        return f"{_DONE} {before}".strip()
    listed = "\n".join(
        f"{number}: {element}" for number, element in enumerate(steps[place].elements or ("nothing is known",))
    )
    return f"Step {place + 1} of {len(steps)}. {before}\n{listed}"


def _place_of(action: ActionRun, *, steps: int) -> int | None:
    """The step of an action, by the resulting page; None if it took no step."""
    if action.tool not in OPERATIONS or action.problem is not None or not action.outputs:
        return None
    result = next(iter(action.outputs.values()))
    if result.startswith(_DONE):
        return steps - 1
    page = _PAGE.match(result)
    return int(page[1]) - 2 if page and int(page[1]) >= 2 else None


def _judged(action: ActionRun, *, step: Step) -> tuple[bool, bool]:
    """Whether the element is right, and whether the whole step is."""
    try:
        element, text = _element(action.arguments, tool=action.tool)
    except _UnreadError:
        return False, False
    is_element = element in step.right
    is_text = action.tool == "CLICK" or _plain(text) == _plain(step.value)
    return is_element, is_element and action.tool == step.operation and is_text


def _element(arguments: str, *, tool: str) -> tuple[int, str]:
    """The element's number and the text of an action, as literals, because records contain no resolved references.

    Raises:
        _UnreadError: the arguments cannot be parsed.
    """
    parameters = (_PAGE_GIVEN, _ELEMENT) if tool == "CLICK" else (_PAGE_GIVEN, _ELEMENT, _TEXT)
    try:
        (action,) = read_actions(text=f"R1 = {tool}({arguments})", tools=(tool,)).actions
        bound = bind_arguments(action=action, parameters=parameters)
    except (TurnSyntaxError, BindingError, ValueError) as error:
        raise _UnreadError(f"The arguments of {tool} cannot be read: {error}.") from None
    number = bound["element"].text.strip()
    if not re.fullmatch("[0-9]{1,4}", number):
        raise _UnreadError(f"The element is the number of one on the page, not {number[:100]!r}.")
    return int(number), bound["text"].text if "text" in bound else ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
