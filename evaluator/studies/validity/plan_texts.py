"""The texts of gold plans by what they are for, and texts of other requests that may take their place.

Which text is which follows from types: a tool that takes a list and a text and makes a list of the same type selects by
a condition; one that takes an image or a video and a text and makes a text answers a question; all others take a
prompt.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import Suite, Task
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.planners.ablations import literals

_MEDIA = frozenset({ResourceType.IMAGE, ResourceType.VIDEO, ResourceType.AUDIO})


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMMON = _listed(
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
"""Words that say nothing of what a picture or a question is about."""
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
"""Names that may mean one thing, so that none of a group takes another's place."""
_LEAST_SPECIFIC = 2
"""Words that say what a question is about. Fewer have those that ask for a description, however it is put, and those
that only name an object."""


class Role(StrEnum):
    """What a text of a plan is for."""

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
    """What the list was made of, or what the text makes: texts of one role and with this in common may change
    places."""


def slots_of(*, plan: Plan, task: Task, catalogue: Catalogue) -> tuple[Slot, ...]:
    """The texts of a gold plan, in the order of its steps."""
    makers = {reference: step for step in plan.steps for reference in step.outputs.values()}
    return tuple(
        _slot(step=step, argument=argument, makers=makers, catalogue=catalogue)
        for step, argument in literals(plan=plan, resources=task.resources)
    )


def _slot(*, step: Step, argument: str, makers: Mapping[str, Step], catalogue: Catalogue) -> Slot:
    tool = catalogue[step.tool]
    others = [(name, kind) for name, kind in tool.inputs.items() if name != argument]
    role, about = Role.PROMPT, tool.output_types
    if len(others) == 1 and others[0][1] in _MEDIA and tool.output_types == (ResourceType.TEXT,):
        role = Role.QUESTION
    elif len(others) == 1 and tool.output_types == (others[0][1],) and others[0][1] not in _MEDIA:
        maker = makers.get(step.inputs[others[0][0]])
        role, about = Role.CONDITION, () if maker is None else catalogue[maker.tool].input_types
    return Slot(step=step.id, argument=argument, text=step.inputs[argument], role=role, about=about)


@dataclass(frozen=True)
class Donors:
    """The texts of all gold plans of a suite."""

    suite: Suite

    @cached_property
    def _pools(self) -> dict[tuple[Role, tuple[ResourceType, ...]], tuple[str, ...]]:
        found: dict[tuple[Role, tuple[ResourceType, ...]], dict[str, None]] = {}
        for task in self.suite.tasks:
            if task.gold is not None:
                for slot in slots_of(plan=task.gold, task=task, catalogue=self.suite.catalogue):
                    found.setdefault((slot.role, slot.about), {})[slot.text] = None
        return {key: tuple(texts) for key, texts in found.items()}

    @cached_property
    def idle_tools(self) -> tuple[Tool, ...]:
        """Tools of domains from which no gold plan calls a tool, and that may not serve for one that a plan calls."""
        catalogue = self.suite.catalogue
        used = {step.tool for task in self.suite.tasks if task.gold for step in task.gold.steps}
        domains = {catalogue[name].domain for name in used}
        return tuple(
            tool
            for tool in catalogue.tools.values()
            if tool.domain not in domains and not any(catalogue.may_replace(name, tool.name) for name in used)
        )

    def others_for(self, *, slot: Slot, request: str) -> list[str]:
        """Texts that may take a text's place and are about something else than the request: they share no word with
        it but common ones, and name nothing that the request names otherwise. Questions name what they are about."""
        known = words_of(request)
        known = known.union(*(group for group in _ONE_THING if not group.isdisjoint(known)))
        return [
            text
            for text in self._pools[slot.role, slot.about]
            if (words := words_of(text)) and words.isdisjoint(known) and _is_specific(role=slot.role, words=words)
        ]


def words_of(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, in lower case and without the `s` of a plural."""
    return frozenset(
        word.removesuffix("s") for word in re.findall(r"[^\W\d_]{2,}", text.lower()) if word not in _COMMON
    )


def _is_specific(*, role: Role, words: frozenset[str]) -> bool:
    return role is not Role.QUESTION or len(words) >= _LEAST_SPECIFIC
