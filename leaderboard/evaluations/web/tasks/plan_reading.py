"""From `plan/1` to the items of its drawing and the links between them, with marks and without geometry."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from evaluator.core.tools.types import Catalogue

FAILING, EXTRA, MISSING, DIFFERING = "failing", "extra", "missing", "differing"
_WORDS = {EXTRA: "not in the gold plan", MISSING: "missing from this plan", DIFFERING: "not in every plan"}


class Marks(NamedTuple):
    """Marks in a drawing."""

    problems: Mapping[str | None, str] = {}
    """A few words on each failing step by its id, and on the answer under None."""
    conflicts: frozenset[str | None] = frozenset()
    """Steps, and None for the answer, that get a value of a wrong type."""
    differing: Mapping[int, str] = {}
    """`EXTRA`, `MISSING` or `DIFFERING`, by the place of the step in the plan."""
    expects: str = ""
    """Type of the answer that the request wants."""


NOTHING = Marks()


class Item(NamedTuple):
    """A node without a place."""

    kind: str
    title: str
    sub: str = ""
    mark: str = ""


class Link(NamedTuple):
    """A value from its producer to its consumer, by their keys."""

    source: str
    target: str
    label: str
    argument: str
    """The target's input: two nodes may have several links."""
    conflict: bool = False


def types_of(tool: str, side: str, *, catalogue: Catalogue | None) -> dict[str, str]:
    """Types of the `inputs` or `outputs` of a tool by name; empty for a tool that the catalogue does not have."""
    if catalogue is None or tool not in catalogue:
        return {}
    return {name: str(kind) for name, kind in getattr(catalogue[tool], side).items()}


class Reader:
    """Reads one plan, which may be invalid."""

    def __init__(
        self, *, catalogue: Catalogue | None, resources: Mapping[str, str], marks: Marks, texts_inside: bool
    ) -> None:
        """`resources`: types of the request's resources. `texts_inside`: literals are shown in their steps."""
        self._catalogue = catalogue
        self._resources = resources
        self._marks = marks
        self._texts_inside = texts_inside
        self._items: dict[str, Item] = {}
        self._links: list[Link] = []
        self._makers: dict[str, tuple[str, str]] = {}
        """The node that makes a reference, and the type of what it makes; the name of the output if that is unknown."""

    def read(self, plan: Mapping[str, Any]) -> tuple[dict[str, Item], list[Link]]:
        """Items by key, and the links between them."""
        steps = plan.get("steps", [])
        for number, step in enumerate(steps):
            outputs = types_of(step["tool"], "outputs", catalogue=self._catalogue)
            for port, reference in (step.get("outputs") or {}).items():
                self._makers.setdefault(reference, (f"step:{number}", outputs.get(port, "") or port))
        self._items |= {f"step:{number}": self._step(step, number=number) for number, step in enumerate(steps)}
        for number, step in enumerate(steps):
            self._link_inputs(step, number=number)
        for number, value in enumerate(plan.get("answers", [])):
            self._add_answer(value, number=number)
        return self._items, self._links

    def _step(self, step: Mapping[str, Any], *, number: int) -> Item:
        problem = self._marks.problems.get(step["id"], "")
        differs = self._marks.differing.get(number, "")
        inside = [
            f'{argument} "{value}"' for argument, value in (step.get("inputs") or {}).items() if self._is_inside(value)
        ]
        sub = problem or _WORDS.get(differs, "") or ", ".join(inside) or step["id"]
        return Item("step", step["tool"], sub, FAILING if problem else differs)

    def _link_inputs(self, step: Mapping[str, Any], *, number: int) -> None:
        conflicts = step["id"] in self._marks.conflicts
        wanted = types_of(step["tool"], "inputs", catalogue=self._catalogue) if conflicts else {}
        for argument, value in (step.get("inputs") or {}).items():
            if not self._is_inside(value):
                self._link(value=value, target=f"step:{number}", argument=argument, wanted=wanted.get(argument, ""))

    def _add_answer(self, value: str, *, number: int) -> None:
        key = f"answer:{number}"
        failing = FAILING if None in self._marks.problems else ""
        self._items[key] = Item("answer", "Answer", self._marks.problems.get(None, ""), failing)
        wanted = self._marks.expects if None in self._marks.conflicts else ""
        self._link(value=value, target=key, argument="", wanted=wanted)

    def _is_inside(self, value: str) -> bool:
        """Whether a value is a text that is shown in its step's box."""
        refers = value in self._makers or value in self._resources or value.startswith(("$", "<"))
        return self._texts_inside and not refers

    def _link(self, *, value: str, target: str, argument: str, wanted: str) -> None:
        source, label = self._source(value=value, target=target, argument=argument or "answer")
        conflict = bool(wanted) and label != wanted
        words = f"{label}, wants {wanted}" if conflict else label
        self._links.append(Link(source, target, words, argument, conflict))

    def _source(self, *, value: str, target: str, argument: str) -> tuple[str, str]:
        """The node that a value comes from, and the value's type."""
        if value in self._makers:
            return self._makers[value]
        name = value.removeprefix("$")
        if value.startswith("$") or name in self._resources:
            self._items.setdefault(f"resource:{name}", Item("resource", value))
            return f"resource:{name}", self._resources.get(name, "") or argument
        node = f"literal:{target}:{argument}"
        if value.startswith("<") and self._texts_inside:
            self._items[node] = Item("literal", value, "nothing makes this")
            return node, argument
        self._items[node] = Item("literal", f'"{value}"')
        return node, "text"
