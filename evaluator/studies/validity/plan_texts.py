"""The texts of gold plans by role, and texts of other requests that can replace them.

The role follows from types: a tool that takes a list and a text and returns a list of the same type selects by a
condition; one that takes an image or a video and a text and returns a text answers a question; all others take a
prompt.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Suite, Task
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.planners.ablations import literals

_MEDIA = frozenset({ResourceType.IMAGE, ResourceType.VIDEO, ResourceType.AUDIO})


_COMMON_WORDS = (
    "a an and any are as be been being but by can could did do does for from had has have how i if in into is it its"
    " like made make may might must new not of on or shall should so some tell that the their them then there these"
    " they this those to use was were what when where which while who whose why will with would you your"
    " about brief caption clip content contents depicted describe describing description detail detailed details"
    " display displayed elaborate element elements everything explain explanation feature features frame given give"
    " going great happen happening image images key main me narrate number object objects overview photo photograph"
    " picture pictures please portray portrayed present provide provided rundown scene scenes see seen show showcase"
    " showcases showing shown shows something specific summarise summarize summary thing things view visible visual"
    " write"
)
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that carry no information about the subject of a picture or a question."""
_ONE_THING = (
    frozenset({"person", "people", "man", "men", "woman", "women", "human", "child", "boy", "girl", "pedestrian"}),
    frozenset({"couch", "sofa", "settee"}),
    frozenset({"tv", "television", "monitor"}),
    frozenset({"airplane", "aeroplane", "plane", "aircraft"}),
    frozenset({"motorcycle", "motorbike"}),
    frozenset({"bicycle", "bike"}),
    frozenset({"car", "automobile", "vehicle", "taxi", "cab"}),
    frozenset({"boat", "ship", "canoe"}),
    frozenset({"phone", "cellphone", "smartphone", "telephone"}),
    frozenset({"handbag", "purse", "bag", "backpack", "rucksack"}),
    frozenset({"refrigerator", "fridge"}),
    frozenset({"cow", "cattle", "ox"}),
    frozenset({"donut", "doughnut"}),
    frozenset({"cup", "mug"}),
    frozenset({"suitcase", "luggage"}),
    frozenset({"truck", "lorry"}),
)
"""Names that may mean the same thing: none of a group replaces another."""
_LEAST_SPECIFIC = 2
"""Least number of informative words of a specific question. Requests for a description, and questions that only name an
object, have fewer."""


class Role(StrEnum):
    """The role of a text in a plan."""

    CONDITION = "condition"
    QUESTION = "question"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument of a gold plan that is a text."""

    step: str
    argument: str
    text: str
    role: Role
    about: tuple[ResourceType, ...]
    """Input types of the tool that made the list, or output types of the tool that takes the text. Texts can be
    exchanged if they share role and types."""


def slots_of(*, plan: Plan, task: Task, catalogue: Catalogue) -> tuple[Slot, ...]:
    """The texts of a gold plan, in the order of its steps."""
    makers = {reference: step for step in plan.steps for reference in step.outputs.values()}
    slots = []
    for step, argument in literals(plan=plan, resources=task.resources):
        tool = catalogue[step.tool]
        others = [(name, kind) for name, kind in tool.inputs.items() if name != argument]
        role, about = Role.PROMPT, tool.output_types
        if len(others) == 1 and others[0][1] in _MEDIA and tool.output_types == (ResourceType.TEXT,):
            role = Role.QUESTION
        elif len(others) == 1 and tool.output_types == (others[0][1],) and others[0][1] not in _MEDIA:
            maker = makers.get(step.inputs[others[0][0]])
            role, about = Role.CONDITION, () if maker is None else catalogue[maker.tool].input_types
        slots.append(Slot(step=step.id, argument=argument, text=step.inputs[argument], role=role, about=about))
    return tuple(slots)


@dataclass(frozen=True)
class Donors:
    """The texts of all gold plans of a suite."""

    suite: Suite

    @cached_property
    def _pools(self) -> dict[tuple[Role, tuple[ResourceType, ...]], tuple[str, ...]]:
        pools: dict[tuple[Role, tuple[ResourceType, ...]], dict[str, None]] = {}
        for task in self.suite.tasks:
            if task.gold is not None:
                for slot in slots_of(plan=task.gold, task=task, catalogue=self.suite.catalogue):
                    pools.setdefault((slot.role, slot.about), {})[slot.text] = None
        return {key: tuple(texts) for key, texts in pools.items()}

    @cached_property
    def idle_tools(self) -> tuple[Tool, ...]:
        """Tools of domains that no gold plan uses, and that cannot replace a tool that a gold plan calls."""
        catalogue = self.suite.catalogue
        used = {step.tool for task in self.suite.tasks if task.gold for step in task.gold.steps}
        domains = {catalogue[name].domain for name in used}
        return tuple(
            tool
            for tool in catalogue.tools.values()
            if tool.domain not in domains and not any(catalogue.may_replace(name, tool.name) for name in used)
        )

    def others_for(self, *, slot: Slot, request: str) -> list[str]:
        """Texts that can replace a text and are about another subject than the request: they share only common words
        with it, and name nothing that the request names differently. Questions are specific."""
        least = _LEAST_SPECIFIC if slot.role is Role.QUESTION else 1
        known = words_of(request)
        known = known.union(*(group for group in _ONE_THING if not group.isdisjoint(known)))
        return [
            text
            for text in self._pools[slot.role, slot.about]
            if len(words := words_of(text)) >= least and words.isdisjoint(known)
        ]


def words_of(text: str) -> frozenset[str]:
    """The informative words of a text, in lower case and without a plural `s`."""
    return frozenset(
        word.removesuffix("s") for word in re.findall(r"[^\W\d_]{2,}", text.lower()) if word not in _COMMON
    )
