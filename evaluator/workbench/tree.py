"""A run as a tree: the planner, the steps with what went in and came out, and the end. Pure, but for the values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from evaluator.core.values import Boxes, Labels, Masks, Value
from evaluator.workbench.events import Ending
from evaluator.workbench.reply import kind_in_words

_LONGEST = 80
"""Characters of a text that is quoted."""
_MOST_NAMES = 5
"""Labels of findings that are named."""

Values = Callable[[Mapping[str, Any]], Value | None]
"""The value of an artefact as an event names it; None if it is not worth a look."""
ENDINGS: Mapping[Ending, str] = {
    Ending.MADE: "Done", Ending.PARTLY: "Partly done", Ending.DECLINED: "Declined", Ending.NO_PLAN: "No plan",
    Ending.FAILED: "Failed",
}  # fmt: skip
"""Endings in words."""


class StepState(StrEnum):
    """State of a step."""

    WAITS = "waits"
    DONE = "done"
    STORED = "from the store"
    FAILED = "failed"
    SKIPPED = "not run"


@dataclass(slots=True, kw_only=True)
class TreeStep:
    """A step of the plan."""

    id: str
    tool: str
    state: StepState = StepState.WAITS
    seconds: float = 0.0
    expert: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    """Values in words; references while the step waits."""
    outputs: dict[str, str] = field(default_factory=dict)
    why: str = ""
    """The error, or why it did not run."""

    @property
    def head(self) -> str:
        """Id, tool and state in one line."""
        how = f"{self.expert}, {self.seconds:.2f} s" if self.state is StepState.DONE else str(self.state)
        return f"{self.id} {self.tool} ({how})"


class RunTree:
    """What has happened in a run so far."""

    def __init__(self, *, request: str, values: Values) -> None:
        self.request = request
        self._values = values
        self.clear()

    def clear(self) -> None:
        """Forget all events: another worker starts the run again."""
        self.files: dict[str, str] = {}
        self.planning = ""
        """What the planner does or did, as a clause."""
        self.steps: dict[str, TreeStep] = {}
        self.ending: Ending | None = None
        self.text = ""
        """The reply."""
        self.details: list[str] = []
        """Faults of the plan, and what the planner replied instead of one."""
        self.results: list[str] = []

    @property
    def has_run_steps(self) -> bool:
        """Whether a step ran, though it may have failed."""
        return any(step.state not in {StepState.WAITS, StepState.SKIPPED} for step in self.steps.values())

    def take(self, event: Mapping[str, Any]) -> list[str]:
        """Add an event. Returns it as lines, for output that is no terminal."""
        match event["kind"]:
            case "again":
                self.clear()
                return ["Another worker starts again."]
            case "given":
                self.files = {name: str(file["type"]) for name, file in event["files"].items()}
                return [f"file {name}: {kind}" for name, kind in self.files.items()]
            case "asked":
                self.planning = f"{event['planner']} is asked, with {event['tools']} tools"
                return [self.planning]
            case "plan" if "plan" in event:
                return self._planned(event)
            case "step":
                return self._stepped(event)
            case "skipped":
                step = self._step(event)
                step.state, step.why = StepState.SKIPPED, event["why"]
                return _lines(step)
            case "ended":
                return self._ended(event)
        return []

    def _planned(self, event: Mapping[str, Any]) -> list[str]:
        steps = event["plan"].get("steps", ())
        self.steps = {
            step["id"]: TreeStep(id=step["id"], tool=step["tool"], inputs=dict(step["inputs"])) for step in steps
        }
        how = "given" if event["edited"] else f"planned in {event['seconds']:.2f} s"
        count = f"{len(steps)} step{'' if len(steps) == 1 else 's'}"
        self.planning = f"{how}: {count}" + "".join(f"; tolerated: {clause}" for clause in event["tolerated"])
        return [self.planning]

    def _step(self, event: Mapping[str, Any]) -> TreeStep:
        return self.steps.setdefault(event["step"], TreeStep(id=event["step"], tool=event["tool"]))

    def _stepped(self, event: Mapping[str, Any]) -> list[str]:
        step = self._step(event)
        step.state = StepState.FAILED if event["error"] else StepState.STORED if event["cached"] else StepState.DONE
        step.seconds, step.expert, step.why = event["seconds"], event["expert"], event["error"] or ""
        step.inputs = {name: self._in_words(artefact) for name, artefact in event["inputs"].items()} or step.inputs
        step.outputs = {name: self._in_words(artefact) for name, artefact in event["outputs"].items()}
        return _lines(step)

    def _ended(self, event: Mapping[str, Any]) -> list[str]:
        self.ending, self.text = Ending(event["ending"]), event["text"]
        self.details = [*event["problems"], *([f"it replied: {event['received']}"] if event["received"] else [])]
        self.results = [self._in_words(artefact) for artefact in event["answers"]]
        return [f"{ENDINGS[self.ending]}: {self.text}", *self.details]

    def _in_words(self, artefact: Mapping[str, Any]) -> str:
        value = self._values(artefact)
        if value is None:
            return {"image/png": "a picture", "image/apng": "a clip"}.get(artefact["media_type"], "a result")
        if isinstance(value, str):
            text = " ".join(value.split())
            return f'"{text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"}"'
        return f"{kind_in_words(value)}{_names(value)}"


def _names(value: Value) -> str:
    """The first labels of findings in parentheses."""
    labels = (
        [item.name for item in value.items]
        if isinstance(value, Labels)
        else [item.label for item in value.items if item.label]
        if isinstance(value, Boxes | Masks)
        else []
    )
    return f" ({', '.join(labels[:_MOST_NAMES])})" if labels else ""


def _lines(step: TreeStep) -> list[str]:
    """A step that has ended, in one line, and its error in another."""
    inputs, outputs = (", ".join(f"{name} = {value}" for name, value in part.items())
                       for part in (step.inputs, step.outputs))  # fmt: skip
    head = f"{step.head}: {inputs}" if inputs else step.head
    return [f"{head} -> {outputs}" if outputs else head, *([f"  {step.why}"] if step.why else [])]
