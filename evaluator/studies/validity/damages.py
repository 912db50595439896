"""Kinds of damage to gold plans of suites whose plans are judged.

Each is drawn by a seed, and is not applied where the damaged plan might also be right; see `Damage.rule`.
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
"""None of them follows from the name of a thing."""


@dataclass(frozen=True)
class Patient:
    """A task with the gold plan to damage."""

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
        """A random one of several damaged plans; None if there are none."""
        return self.rng.choice(plans) if plans else None

    def with_text(self, slot: Slot, text: str) -> Plan:
        """The gold plan with another text in a slot."""
        return with_texts(plan=self.gold, texts={(slot.step, slot.argument): text})

    def with_input(self, step: Step, argument: str, value: str) -> Plan:
        """The gold plan with another value for an argument."""
        return with_texts(plan=self.gold, texts={(step.id, argument): value})

    def takes_file(self) -> Iterator[tuple[Step, str, str]]:
        """Each argument that is a file of the request: step, argument and file."""
        for step in self.gold.steps:
            for argument, value in step.inputs.items():
                if value.removeprefix("$") in self.task.resources:
                    yield step, argument, value.removeprefix("$")

    def like(self, file: str) -> list[str]:
        """The other files of the request with the same types."""
        types = self.task.types_given
        return [other for other in self.task.resources if other != file and types[other] == types[file]]

    def makes_other_calls(self, plan: Plan) -> bool:
        """Whether the calls of a plan differ from those of the gold plan, regardless of order."""
        return canonical_form(plan)[0] != canonical_form(self.gold)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A kind of damage."""

    name: str
    description: str
    rule: str = ""
    """Where it is not applied, as a sentence; empty if it always is."""
    indicator: str
    """Key of the column that must get worse."""
    apply: Callable[[Patient], Plan | None]
    """Returns None where it is not applied."""

    def plans(self, *, tasks: Sequence[str], donors: Donors, seed: str) -> dict[str, Plan]:
        """The damaged gold plans by key of the task, for the tasks where the damage is applied."""
        plans = {key: damaged(damage=self, task=donors.suite.task(key), donors=donors, seed=seed) for key in tasks}
        return {key: plan for key, plan in plans.items() if plan is not None}


def damaged(*, damage: Damage, task: Task, donors: Donors, seed: str = "") -> Plan | None:
    """A task's gold plan with a kind of damage, a function of the seed; None where it is not applied."""
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
    pairs = [pair for pair in combinations(patient.task.resources, 2) if pair[1] in patient.like(pair[0])]
    plans = []
    for first, second in pairs:
        swap = {first: f"${second}", second: f"${first}"}
        texts = {(step.id, name): swap[file] for step, name, file in patient.takes_file() if file in swap}
        plans.append(with_texts(plan=patient.gold, texts=texts))
    return patient.drawn([plan for plan in plans if patient.makes_other_calls(plan)])


def _wrong_picture(patient: Patient) -> Plan | None:
    questions = {slot.step for slot in patient.slots if slot.role is Role.QUESTION}
    return patient.drawn(
        [
            patient.with_input(step, argument, f"${other}")
            for step, argument, file in patient.takes_file()
            if step.id in questions
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
    slots = [slot for slot in patient.slots if slot.role is Role.CONDITION and slot.text != patient.task.text]
    return patient.drawn([patient.with_text(slot, patient.task.text) for slot in slots])


def _any_object(patient: Patient) -> Plan | None:
    slots = [slot for slot in patient.slots if slot.role is Role.CONDITION and words_of(slot.text)]
    return patient.drawn([patient.with_text(slot, "object") for slot in slots])


def _request_as_text(patient: Patient) -> Plan | None:
    if len(patient.gold.steps) < 2:
        return None
    slots = [slot for slot in patient.slots if slot.role is not Role.CONDITION and slot.text != patient.task.text]
    return patient.drawn([patient.with_text(slot, patient.task.text) for slot in slots])


def _wrong_tool(patient: Patient) -> Plan | None:
    catalogue = patient.suite.catalogue
    return patient.drawn(
        [
            replace(patient.gold, steps=tuple(other if s is step else s for s in patient.gold.steps))
            for step in patient.gold.steps
            for tool in catalogue.tools.values()
            if not catalogue.may_replace(step.tool, tool.name)
            and (other := _with_tool(step=step, own=catalogue[step.tool], tool=tool)) is not None
        ]
    )


def _with_tool(*, step: Step, own: Tool, tool: Tool) -> Step | None:
    """The step with another tool of the same types, its arguments matched by type."""
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
    values = {kind: f"${name}" for name, kind in patient.task.resources.items()}
    values[ResourceType.TEXT] = patient.task.text
    plans = []
    for tool in patient.donors.idle_tools:
        if values.keys() >= set(tool.input_types):
            inputs = {name: values[kind] for name, kind in tool.inputs.items()}
            outputs = {name: f"extra.{name}" for name in tool.outputs}
            step = Step(id="extra", tool=tool.name, inputs=inputs, outputs=outputs)
            plans.append(replace(patient.gold, steps=(*patient.gold.steps, step)))
    return patient.drawn(plans)


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
    """Another file name with the same beginning and extension, as both may indicate the type: `mask_3.png`."""
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
        rule="Plans of one step, which would be empty.",
        indicator="SE",
        apply=_dropped,
    ),
    Damage(
        name="swapped files",
        description="Two files of the request are exchanged throughout the plan.",
        rule="Plans that treat both alike, so that the result would be the gold plan again.",
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
        rule="Actions in videos.",
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
        rule="Requests for objects of any kind.",
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
        rule="Plans of one step, whose text may well be the request.",
        indicator="SE",
        apply=_request_as_text,
    ),
    Damage(
        name="wrong tool",
        description="A tool becomes another one with the same types.",
        rule="Pairs of tools that the catalogue declares interchangeable.",
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
        description="A step is listed before the one whose result it takes.",
        indicator="HR",
        apply=_shuffled_order,
    ),
)
"""All kinds. Other indicators of the paper than the expected one may get worse too."""
