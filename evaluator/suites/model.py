"""What a suite is: a versioned benchmark, and its tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from evaluator import canonical_json
from evaluator.canonical_json import JsonValue
from evaluator.plans.model import Plan, PlanContext, plan_to_json
from evaluator.tools.types import Catalogue, ResourceType


class SuiteKind(StrEnum):
    """How the plans of a suite are scored."""

    EXECUTION = "execution"
    """They are executed with experts, and the results are scored."""
    PLANNING = "planning"
    """The plans themselves are judged; nothing is executed, so profile and samples do not matter."""


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """One column of a suite's board."""

    key: str
    label: str
    description: str
    higher_is_better: bool = True
    primary: bool = False
    """Whether the board ranks by it."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One request of a suite."""

    key: str
    text: str
    structure: str
    """`linear` or `nonlinear`."""
    metric: str
    resources: Mapping[str, ResourceType]
    """What the request gives, by name and in order."""
    expects: ResourceType | None
    """Type of the answer; None where a request may want several results."""
    gold: Plan | None
    """A right plan; None where none is known."""
    asked_as: str = ""
    """The name under which planners are asked for it, if that is not its key (`hidden.py`)."""

    @property
    def attributes(self) -> dict[str, JsonValue]:
        """Suite-specific facts to filter by."""
        return {}

    def to_json(self) -> dict[str, JsonValue]:
        """The task as `planarena suites show --json` prints it."""
        return {
            "id": self.key,
            "text": self.text,
            "structure": self.structure,
            "metric": self.metric,
            "resources": {name: str(kind) for name, kind in self.resources.items()},
            "expects": None if self.expects is None else str(self.expects),
            "gold": None if self.gold is None else plan_to_json(self.gold),
            **self.attributes,
        }


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A versioned benchmark. Its digest covers everything a score depends on except the profile."""

    slug: str
    version: str
    title: str
    description: str
    metrics: tuple[MetricColumn, ...]
    catalogue: Catalogue
    tasks: tuple[Task, ...]
    kind: SuiteKind = SuiteKind.EXECUTION

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the tasks with their gold plans, the catalogue's signatures and the metrics."""
        return canonical_json.digest(
            {
                "slug": self.slug,
                "version": self.version,
                "tasks": [task.to_json() for task in self.tasks],
                "metrics": [column.key for column in self.metrics],
                "tools": {name: [dict(tool.inputs), dict(tool.outputs)] for name, tool in self.catalogue.tools.items()},
            }
        )

    @cached_property
    def _by_key(self) -> dict[str, Task]:
        asked = {task.asked_as: task for task in self.tasks if task.asked_as}
        return {task.key: task for task in self.tasks} | asked

    def task(self, key: str) -> Task:
        """The task with this key, or that planners know under this name.

        Raises:
            LookupError: there is none; the message says which keys there are.
        """
        try:
            return self._by_key[key]
        except KeyError:
            first, last = self.tasks[0].key, self.tasks[-1].key
            raise LookupError(f"{self.slug} has no task {key!r}; its tasks are {first} to {last}") from None

    def context(self, *, task: Task, offered: frozenset[str]) -> PlanContext:
        """What a plan for `task` is checked against when the tools in `offered` have experts."""
        return PlanContext(
            catalogue=self.catalogue.restricted_to(offered),
            resources=task.resources,
            expects=task.expects,
            known=self.catalogue,
        )
