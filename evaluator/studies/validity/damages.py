"""Kinds of damage to gold plans of suites whose plans are judged.

Each is drawn by a seed, and is not done where the damaged plan might be right as well; `Damage.rule` says when that is.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import Suite, Task
from evaluator.core.tools.types import ResourceType, Tool
from evaluator.planners.ablations import minus_one, with_texts
from evaluator.scoring.metrics.plan_equality import canonical_form
from evaluator.studies.validity.plan_texts import Donors, Role, Slot, slots_of, words_of

ATTRIBUTES = ("purple", "striped", "broken", "tiny")
"""None of them is said of a thing by its name alone."""


@dataclass(frozen=True)
class Patient:
    """A task with the gold plan that is to be damaged."""

    suite: Suite
    task: Task
    gold: Plan
    donors: Donors
    rng: random.Random = field(compare=False)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The texts of the gold plan."""
        return slots_of(plan=self.gold, task=self.task, catalogue=self.suite.catalogue)

    def drawn(self, plans: Sequence[Plan]) -> Plan | None:
        """One of several damaged plans; None if there is none."""
        return self.rng.choice(plans) if plans else None

    def with_text(self, slot: Slot, text: str) -> Plan:
        """The gold plan with another text in one place."""
        return with_texts(plan=self.gold, texts={(slot.step, slot.argument): text})

    def with_input(self, step: Step, argument: str, value: str) -> Plan:
        """The gold plan with another value for one argument."""
        return with_texts(plan=self.gold, texts={(step.id, argument): value})

    def takes_file(self) -> Iterator[tuple[Step, str, str]]:
        """Every argument that is a file of the request: its step, its name and the file."""
        for step in self.gold.steps:
            for argument, value in step.inputs.items():
                if value.removeprefix("$") in self.task.resources:
                    yield step, argument, value.removeprefix("$")

    def like(self, file: str) -> list[str]:
        """The other files that the request gives as the same types."""
        types = self.task.types_given
        return [other for other in self.task.resources if other != file and types[other] == types[file]]

    def makes_other_calls(self, plan: Plan) -> bool:
        """Whether a plan makes other calls than the gold plan, in whatever order."""
        return canonical_form(plan)[0] != canonical_form(self.gold)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One kind of damage."""

    name: str
    description: str
    rule: str = ""
    """Where it is not done, as a sentence; empty: wherever there is something to damage."""
    indicator: str
    """Key of the column that must get worse."""
    apply: Callable[[Patient], Plan | None]
    """Returns None where it is not done."""


def damaged(*, damage: Damage, task: Task, donors: Donors, seed: str = "") -> Plan | None:
    """A task's gold plan with one kind of damage, always the same for a seed; None where it is not done."""
    if task.gold is None or not task.gold.steps:
        return None
    rng = random.Random(f"{seed} {damage.name} {task.key}")  # noqa: S311 - repeatable on purpose
    return damage.apply(Patient(suite=donors.suite, task=task, gold=task.gold, donors=donors, rng=rng))


def _dropped(patient: Patient) -> Plan | None:
    if len(patient.gold.steps) < 2:
        return None
    return minus_one(
        plan=patient.gold, seed=str(patient.rng.random()), catalogue=patient.suite.catalogue,
        resources=patient.task.resources,
    )  # fmt: skip


def _swapped_files(patient: Patient) -> Plan | None:
    pairs = [(one, other) for one, other in combinations(patient.task.resources, 2) if other in patient.like(one)]
    plans = (_exchanged(patient=patient, one=one, other=other) for one, other in pairs)
    return patient.drawn([plan for plan in plans if patient.makes_other_calls(plan)])


def _exchanged(*, patient: Patient, one: str, other: str) -> Plan:
    instead = {one: f"${other}", other: f"${one}"}
    places = {(step.id, name): instead[file] for step, name, file in patient.takes_file() if file in instead}
    return with_texts(plan=patient.gold, texts=places)


def _wrong_picture(patient: Patient) -> Plan | None:
    asked = {slot.step for slot in patient.slots if slot.role is Role.QUESTION}
    return patient.drawn(
        [
            patient.with_input(step, argument, f"${other}")
            for step, argument, file in patient.takes_file()
            if step.id in asked
            for other in patient.like(file)
        ]
    )


def _other_text(role: Role) -> Callable[[Patient], Plan | None]:
    def apply(patient: Patient) -> Plan | None:
        return patient.drawn(
            [
                patient.with_text(slot, text)
                for slot in patient.slots
                if slot.role is role
                for text in patient.donors.others_for(slot=slot, request=patient.task.text)
            ]
        )

    return apply


def _added_attribute(patient: Patient) -> Plan | None:
    known = words_of(patient.task.text)
    return patient.drawn(
        [
            patient.with_text(slot, f"{attribute} {slot.text}")
            for slot in patient.slots
            if slot.role is Role.CONDITION and ResourceType.IMAGE in slot.about
            for attribute in ATTRIBUTES
            if attribute not in known
        ]
    )


def _request_as_condition(patient: Patient) -> Plan | None:
    found = [slot for slot in patient.slots if slot.role is Role.CONDITION and slot.text != patient.task.text]
    return patient.drawn([patient.with_text(slot, patient.task.text) for slot in found])


def _any_object(patient: Patient) -> Plan | None:
    found = [slot for slot in patient.slots if slot.role is Role.CONDITION and words_of(slot.text)]
    return patient.drawn([patient.with_text(slot, "object") for slot in found])


def _request_as_text(patient: Patient) -> Plan | None:
    if len(patient.gold.steps) < 2:
        return None
    found = [slot for slot in patient.slots if slot.role is not Role.CONDITION and slot.text != patient.task.text]
    return patient.drawn([patient.with_text(slot, patient.task.text) for slot in found])


def _wrong_tool(patient: Patient) -> Plan | None:
    catalogue = patient.suite.catalogue
    return patient.drawn(
        [
            replace(patient.gold, steps=tuple(made if one is step else one for one in patient.gold.steps))
            for step in patient.gold.steps
            for tool in catalogue.tools.values()
            if not catalogue.may_replace(step.tool, tool.name)
            and (made := _called_instead(step=step, own=catalogue[step.tool], tool=tool)) is not None
        ]
    )


def _called_instead(*, step: Step, own: Tool, tool: Tool) -> Step | None:
    """The step with another tool of the same types, its arguments in the order of their types."""
    if sorted(own.input_types) != sorted(tool.input_types) or own.output_types != tool.output_types:
        return None
    if set(step.inputs) != set(own.inputs):
        return None
    old = sorted(own.inputs, key=lambda name: own.inputs[name])
    new = sorted(tool.inputs, key=lambda name: tool.inputs[name])
    outputs = dict(zip(tool.outputs, step.outputs.values(), strict=False))
    inputs = {name: step.inputs[former] for name, former in zip(new, old, strict=True)}
    return Step(id=step.id, tool=tool.name, inputs=inputs, outputs=outputs)


def _extra_step(patient: Patient) -> Plan | None:
    given = {kind: f"${name}" for name, kind in patient.task.resources.items()}
    given[ResourceType.TEXT] = patient.task.text
    plans = [
        replace(patient.gold, steps=(*patient.gold.steps, _call(tool=tool, given=given)))
        for tool in patient.donors.idle_tools
        if given.keys() >= set(tool.input_types)
    ]
    return patient.drawn(plans)


def _call(*, tool: Tool, given: dict[ResourceType, str]) -> Step:
    inputs = {name: given[kind] for name, kind in tool.inputs.items()}
    return Step(id="extra", tool=tool.name, inputs=inputs, outputs={name: f"extra.{name}" for name in tool.outputs})


def _duplicate_step(patient: Patient) -> Plan | None:
    step = patient.rng.choice(patient.gold.steps)
    again = replace(step, id="again", outputs={name: f"again.{name}" for name in step.outputs})
    return replace(patient.gold, steps=(*patient.gold.steps, again))


def _wrong_reference(patient: Patient) -> Plan | None:
    catalogue, task = patient.suite.catalogue, patient.task
    types = {f"${name}": kinds for name, kinds in task.types_given.items()}
    plans: list[Plan] = []
    results: set[str] = set()
    for step in patient.gold.steps:
        tool = catalogue[step.tool]
        for argument, value in step.inputs.items():
            if value in results:
                others = [other for other, kinds in types.items() if tool.inputs[argument] not in kinds]
                plans += [patient.with_input(step, argument, other) for other in others]
        types |= {reference: frozenset({tool.outputs[name]}) for name, reference in step.outputs.items()}
        results |= set(step.outputs.values())
    return patient.drawn(plans)


def _invented_file(patient: Patient) -> Plan | None:
    return patient.drawn(
        [
            patient.with_input(step, argument, f"${_unseen(file)}")
            for step, argument, file in patient.takes_file()
            if _unseen(file) not in patient.task.resources
        ]
    )


def _unseen(file: str) -> str:
    """Another name that begins and ends as a file's name does, since both may show its type: `mask_3.png`."""
    stem, dot, ending = file.rpartition(".")
    return f"{stem.replace('_', '_unseen_', 1) if '_' in stem else f'{stem}unseen'}{dot}{ending}"


def _shuffled_order(patient: Patient) -> Plan | None:
    steps = patient.gold.steps
    plans = [
        replace(patient.gold, steps=(*steps[:first], steps[later], *steps[first:later], *steps[later + 1 :]))
        for first, later in combinations(range(len(steps)), 2)
        if not set(steps[first].outputs.values()).isdisjoint(steps[later].inputs.values())
    ]
    return patient.drawn(plans)


_OF_OTHERS = "Texts that share a word with the request, or name the same thing otherwise, are not taken."
DAMAGES = (
    Damage(
        name="dropped step",
        description="A step is missing. Steps that used its result take its input if types allow, or are missing too.",
        rule="Not for plans of one step, which would be empty.",
        indicator="SE",
        apply=_dropped,
    ),
    Damage(
        name="swapped files",
        description="Two files of the request are exchanged throughout the plan.",
        rule="Not where the plan treats both alike, so that it would be the gold plan again.",
        indicator="SE",
        apply=_swapped_files,
    ),
    Damage(
        name="right question, wrong picture",
        description="A question is asked of another picture of the request.",
        indicator="SE",
        apply=_wrong_picture,
    ),
    Damage(
        name="wrong question, right picture",
        description="A question about a picture becomes the question of another request.",
        rule=f"{_OF_OTHERS} Nor are questions that only ask for a description.",
        indicator="SE",
        apply=_other_text(Role.QUESTION),
    ),
    Damage(
        name="wrong target",
        description="The object or action that is selected becomes that of another request.",
        rule=_OF_OTHERS,
        indicator="SE",
        apply=_other_text(Role.CONDITION),
    ),
    Damage(
        name="added attribute",
        description="The selected object gets an attribute that the request does not have: “purple car” for “car”.",
        rule="Not for actions in videos.",
        indicator="SE",
        apply=_added_attribute,
    ),
    Damage(
        name="request as condition",
        description="The condition of a selection is the whole request.",
        indicator="SE",
        apply=_request_as_condition,
    ),
    Damage(
        name="over-broad condition",
        description="The condition of a selection is “object”.",
        rule="Not where the request wants objects of any kind.",
        indicator="SE",
        apply=_any_object,
    ),
    Damage(
        name="wrong prompt",
        description="A prompt, or a question without a picture, becomes that of another request.",
        rule=_OF_OTHERS,
        indicator="SE",
        apply=_other_text(Role.PROMPT),
    ),
    Damage(
        name="request as text",
        description="A question or a prompt is the whole request.",
        rule="Not for plans of one step, whose text may well be the request.",
        indicator="SE",
        apply=_request_as_text,
    ),
    Damage(
        name="wrong tool",
        description="A tool becomes another one with the same types.",
        rule="Not where the catalogue says that one may serve for the other.",
        indicator="SE",
        apply=_wrong_tool,
    ),
    Damage(
        name="extra step",
        description="A call of a tool from a domain that no gold plan of the suite uses is added. SE stays 1.",
        indicator="IR",
        apply=_extra_step,
    ),
    Damage(
        name="duplicate step",
        description="A call is made twice. SE stays 1.",
        indicator="IR",
        apply=_duplicate_step,
    ),
    Damage(
        name="wrong reference",
        description="An argument that takes a step's result takes another result or a file, of another type.",
        indicator="CR",
        apply=_wrong_reference,
    ),
    Damage(
        name="invented file",
        description="A file becomes one that the request does not give.",
        indicator="HR",
        apply=_invented_file,
    ),
    Damage(
        name="shuffled order",
        description="A step stands before one whose result it takes.",
        indicator="HR",
        apply=_shuffled_order,
    ),
)
"""All kinds. Those of the paper's indicators that a kind is not expected to worsen may get worse too."""
