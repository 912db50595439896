"""Plans without their particulars: references to resources and words of the request become slots.

A skeleton is filled with the resources and words of another request. Whatever a plan says that its request does not say
word for word stays as it is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, Step

_TOKEN = re.compile(r"\w+(?:[-'\u2019.]\w+)*|[^\w\s]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_COMMON = frozenset(
    ("a", "an", "the", "of", "in", "on", "to", "and", "or", "is", "are", "it", "its", "this", "that", "with", "for",
     "from", "by", "as", "at", "be")
)  # fmt: skip
"""Words that are copied only together with others."""
_MOST_CUT = 2
"""Letters by which a word of the request may be longer than that of the plan, such as the s of a plural."""
FILE, NUMBER = "<file>", "<number>"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number, name or punctuation mark of a text."""

    text: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        return bool(_NUMBER.fullmatch(self.text))


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, in order."""
    return [Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)]


def word_of(token: Token, *, resources: Mapping[str, str]) -> str:
    """A token as it is compared: in lower case, with one word for all numbers and one for all names of resources."""
    if token.text in resources:
        return FILE
    return NUMBER if token.is_number else token.text.casefold()


@dataclass(frozen=True, slots=True)
class Slot:
    """Words of the request within a text of the plan."""

    number: int
    """Slots of a plan are numbered by their place in the request. Equal words have one slot."""
    cut: int = 0
    """Letters that are left off at the end."""
    case: str = ""
    """`lower` or `upper`: what becomes of the first letter; empty: it stays."""

    def filled(self, words: str) -> str:
        """The words as the plan has them."""
        text = words[: len(words) - self.cut] if self.cut else words
        if self.case and text:
            return (text[0].lower() if self.case == "lower" else text[0].upper()) + text[1:]
        return text


@dataclass(frozen=True, slots=True)
class Resource:
    """The nth resource of a type, counted from 0 in the order of the request."""

    kind: str
    nth: int
    sign: str
    """`$` where the plan's references have one."""


Part = str | Slot | Resource


@dataclass(frozen=True)
class Skeleton:
    """A plan with slots."""

    steps: tuple[tuple[Step, Mapping[str, tuple[Part, ...]]], ...]
    """Each step with the parts of its inputs."""
    answers: tuple[tuple[Part, ...], ...]
    numbers: tuple[bool, ...]
    """Of each slot, whether it holds a number."""

    @cached_property
    def key(self) -> str:
        """Equal for equal skeletons."""
        return canonical_json.dumps(self.to_json())

    def to_json(self) -> JsonValue:
        """As JSON values, the inverse of `skeleton_from`."""
        return {
            "steps": [
                [step.id, step.tool, dict(step.outputs), {name: _parts_json(parts) for name, parts in inputs.items()}]
                for step, inputs in self.steps
            ],
            "answers": [_parts_json(parts) for parts in self.answers],
            "numbers": list(self.numbers),
        }

    @cached_property
    def needs(self) -> Mapping[str, int]:
        """How many resources of each type it refers to, at least."""
        needs: dict[str, int] = {}
        for part in self._parts():
            if isinstance(part, Resource):
                needs[part.kind] = max(needs.get(part.kind, 0), part.nth + 1)
        return needs

    def fits(self, resources: Mapping[str, str]) -> bool:
        """Whether there are enough resources of each type."""
        kinds = list(resources.values())
        return all(kinds.count(kind) >= count for kind, count in self.needs.items())

    @cached_property
    def labels(self) -> frozenset[str]:
        """The parts by which skeletons differ: tools with their number, edges, words, and the number of answers."""
        makers = {reference: step.tool for step, _ in self.steps for reference in step.outputs.values()}
        found = {f"answers {len(self.answers)}"}
        counts: dict[str, int] = {}
        for step, inputs in self.steps:
            counts[step.tool] = counts.get(step.tool, 0) + 1
            found.add(f"{step.tool} {counts[step.tool]}")
            for name, parts in inputs.items():
                found.update(f"{_source(part, makers)} > {step.tool}.{name}" for part in parts for part in _words(part))
        found.update(f"{_source(part, makers)} > answer {place}" for place, (part, *_) in enumerate(self.answers))
        return frozenset(found)

    def _parts(self) -> list[Part]:
        inputs = [part for _, inputs in self.steps for parts in inputs.values() for part in parts]
        return [*inputs, *(part for parts in self.answers for part in parts)]


def _words(part: Part) -> list[Part]:
    return [token.text for token in tokens_of(part)] if isinstance(part, str) else [part]


def _source(part: Part, makers: Mapping[str, str]) -> str:
    if isinstance(part, str):
        return makers.get(part, part)
    return f"{part.kind} {part.nth}" if isinstance(part, Resource) else "words"


def _parts_json(parts: Sequence[Part]) -> list[JsonValue]:
    return [
        part
        if isinstance(part, str)
        else [part.number, part.cut, part.case]
        if isinstance(part, Slot)
        else [part.kind, part.nth, part.sign]
        for part in parts
    ]


def _part_from(value: object) -> Part:
    if isinstance(value, str):
        return value
    assert isinstance(value, list)
    return Resource(*value) if isinstance(value[0], str) else Slot(*value)


def skeleton_from(value: Mapping[str, object]) -> Skeleton:
    """The inverse of `Skeleton.to_json`."""
    steps, answers, numbers = value["steps"], value["answers"], value["numbers"]
    assert isinstance(steps, list)
    assert isinstance(answers, list)
    assert isinstance(numbers, list)
    return Skeleton(
        steps=tuple(
            (
                Step(id=number, tool=tool, inputs={}, outputs=outputs),
                {name: tuple(map(_part_from, parts)) for name, parts in inputs.items()},
            )
            for number, tool, outputs, inputs in steps
        ),
        answers=tuple(tuple(map(_part_from, parts)) for parts in answers),
        numbers=tuple(numbers),
    )


Span = tuple[int, int]
"""The first token and the one after the last."""


def abstracted(
    *, plan: Plan, tokens: Sequence[Token], resources: Mapping[str, str], has_slots: bool = True
) -> tuple[Skeleton, list[Span]]:
    """The skeleton of a plan, and the span of the request that fills each slot.

    Args:
        plan: of the request.
        tokens: of the request's text.
        resources: types by name.
        has_slots: whether words of the request become slots; resources do in any case.
    """
    writer = _Writer(tokens=tokens if has_slots else (), resources=resources)
    references = {reference for step in plan.steps for reference in step.outputs.values()}

    def parts(value: str) -> tuple[Part, ...]:
        return (value,) if value in references else writer.parts(value)

    steps = [
        (Step(id=step.id, tool=step.tool, inputs={}, outputs=step.outputs),
         {name: parts(value) for name, value in step.inputs.items()})
        for step in plan.steps
    ]  # fmt: skip
    answers = tuple(parts(answer) for answer in plan.answers)
    spans = sorted(writer.spans)
    numbers = {span: number for number, span in enumerate(spans)}

    def numbered(found: tuple[Part, ...]) -> tuple[Part, ...]:
        by_place = {old: numbers[span] for old, span in enumerate(writer.spans)}
        return tuple(
            Slot(by_place[part.number], part.cut, part.case) if isinstance(part, Slot) else part for part in found
        )

    skeleton = Skeleton(
        steps=tuple((step, {name: numbered(found) for name, found in inputs.items()}) for step, inputs in steps),
        answers=tuple(map(numbered, answers)),
        numbers=tuple(end - start == 1 and tokens[start].is_number for start, end in spans),
    )
    return skeleton, spans


class _Writer:
    """Finds the words of one request in the texts of its plan."""

    def __init__(self, *, tokens: Sequence[Token], resources: Mapping[str, str]) -> None:
        self._words = [token.text.casefold() for token in tokens]
        self._tokens = tokens
        self._resources = resources
        self.spans: list[Span] = []

    def parts(self, value: str) -> tuple[Part, ...]:
        """A text of the plan in parts."""
        sign = "$" if value.startswith("$") else ""
        name = value.removeprefix("$")
        if name in self._resources:
            kind = self._resources[name]
            same = [other for other, its in self._resources.items() if its == kind]
            return (Resource(kind, same.index(name), sign),)
        own = tokens_of(value)
        parts: list[Part] = []
        done = place = 0
        while place < len(own):
            length, start, cut = self._longest(own, place)
            if length:
                if own[place].start > done:
                    parts.append(value[done : own[place].start])
                parts.append(self._slot(own[place].text, (start, start + length), cut))
                done = own[place + length - 1].end
                place += length
            else:
                place += 1
        if done < len(value) or not parts:
            parts.append(value[done:])
        return tuple(parts)

    def _slot(self, first: str, span: Span, cut: int) -> Slot:
        if span not in self.spans:
            self.spans.append(span)
        there = self._tokens[span[0]].text
        case = "" if first[0] == there[0] else "lower" if first[0].islower() else "upper"
        return Slot(self.spans.index(span), cut, case)

    def _longest(self, own: Sequence[Token], place: int) -> tuple[int, int, int]:
        """Length, start and cut of the longest run of the request's words from here on; length 0: none."""
        best = (0, 0, 0)
        for start in range(len(self._words)):
            length = cut = 0
            while place + length < len(own) and start + length < len(self._words) and not cut:
                wanted, there = own[place + length].text.casefold(), self._words[start + length]
                if wanted == there:
                    length += 1
                elif len(wanted) > 2 and there.startswith(wanted) and len(there) - len(wanted) <= _MOST_CUT:
                    length, cut = length + 1, len(there) - len(wanted)
                else:
                    break
            while length and not own[place + length - 1].text[0].isalnum() and place + length < len(own):
                length -= 1  # a run does not end with a comma in the middle of a text
            if length > best[0] and self._tells(own[place : place + length]):
                best = (length, start, cut)
        return best

    @staticmethod
    def _tells(run: Sequence[Token]) -> bool:
        words = [token.text.casefold() for token in run]
        return any(token.is_number or (len(token.text) > 2 and token.text[0].isalnum()) for token in run) and not all(
            word in _COMMON for word in words
        )


def filled(skeleton: Skeleton, *, words: Sequence[str], resources: Mapping[str, str]) -> Plan:
    """The plan of a skeleton for another request.

    Args:
        skeleton: fits the resources.
        words: the text of each slot.
        resources: types by name.
    """
    by_kind: dict[str, list[str]] = {}
    for name, kind in resources.items():
        by_kind.setdefault(kind, []).append(name)

    def text(parts: Sequence[Part]) -> str:
        return "".join(
            part
            if isinstance(part, str)
            else part.filled(words[part.number])
            if isinstance(part, Slot)
            else f"{part.sign}{by_kind[part.kind][part.nth]}"
            for part in parts
        )

    steps = tuple(
        Step(id=step.id, tool=step.tool, inputs={name: text(parts) for name, parts in inputs.items()},
             outputs=step.outputs)
        for step, inputs in skeleton.steps
    )  # fmt: skip
    return Plan(steps=steps, answers=tuple(map(text, skeleton.answers)))


def words_given(given: Mapping[str, JsonValue]) -> list[str]:
    """What is given by value as words: each number or text with the names that lead to it, and the lengths of lists."""
    found: list[str] = []

    def read(value: object, path: str) -> None:
        if isinstance(value, Mapping):
            for name, inner in value.items():
                read(inner, f"{path}.{name}" if path else str(name))
        elif isinstance(value, list):
            found.append(f"{path}:length {len(value)}")
            for inner in value:
                read(inner, path)
        else:
            found.append(f"{path}:{value}")

    read(given, "")
    return found
