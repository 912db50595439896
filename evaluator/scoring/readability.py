"""How replies were read: what readers tolerated, in a few labels, and the share of replies that could be read. Pure.

A record's `tolerated` has notes of the form `envelope: <what>` and `dialect: <name>` (`evaluator.replies`) beside free
texts about single steps. Notes with numbers or names in them have one label: `envelope: 140 characters of prose` is
`envelope: prose`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Outcome, Reason

MOST_LABELS = 20
"""Labels of one reply."""
_LONGEST_NAME = 40
_OTHER = "other"
_PATTERNS = {
    "prose": re.compile(r"\d+ characters of prose"),
    "reasoning": re.compile(r"reasoning( of \d+ characters)?"),
    "end mark": re.compile(r"end mark .*", re.DOTALL),
    "answer tags": re.compile(r"<\w+>"),
    "wrapper": re.compile(r"object with .*", re.DOTALL),
}
"""Names of envelopes whose notes have numbers or texts of the reply in them."""
_ENVELOPES = {
    "fence": ("Code fence", "The reply is in a code fence; its content is read."),
    "prose": ("Prose", "Sentences before or after the plan are left out."),
    "reasoning": ("Reasoning", "The model's reasoning is left out."),
    "channels": ("Channels", "Only the final channel is read."),
    "end mark": ("End mark", "Special tokens that end a reply are left out, with everything after them."),
    "role": ("Role", "Special tokens that begin a reply are left out."),
    "answer tags": ("Answer tags", "The content of the answer tags is read."),
    "wrapper": ("Wrapper", "An object whose only content is the plan; its content is read."),
    "invisible characters": ("Invisible characters", "Byte-order marks and zero-width characters are left out."),
    "response": ("Whole response", "The reply is a whole response of a service; its message is read."),
    "message": ("Whole message", "The reply is a whole message; its content is read."),
    "content parts": ("Content parts", "The reply is a list of parts; their texts are read together."),
    "event stream": ("Event stream", "The reply is a stream of events; they are read together."),
    "text in quotes": ("Quotes", "The reply is a text in quotes; its content is read."),
    "list": ("List", "Marks of a list are left out."),
    "list in lines": ("Lines", "A list with one name per line is read as one with commas."),
    _OTHER: ("Other envelope", "Text around the plan is left out."),
}
"""Label and sentence of each envelope."""
_NOTE = re.compile(r"(envelope|dialect): (.*)", re.DOTALL)
_DIALECT = re.compile(r"[\w][\w .+-]*")
_READ = frozenset(
    {
        Reason.INVALID_PLAN,
        Reason.ABSTAINED,
        Reason.LIMIT_EXCEEDED,
        Reason.UNFIT_INPUT,
        Reason.EXPERT_FAILED,
        Reason.SCORER_FAILED,
    }
)
"""Reasons of tasks whose reply was read."""


@dataclass(frozen=True, slots=True)
class Label:
    """What was tolerated, in a few words."""

    key: str
    """Such as `envelope: fence` or `dialect: hermes`."""
    name: str
    sentence: str


class TaskReading(Protocol):
    """What a task's result says about its reply, such as a `ResultRecord`."""

    @property
    def outcome(self) -> str: ...

    @property
    def reason(self) -> str | None: ...


def keys_of(tolerated: Iterable[str]) -> tuple[str, ...]:
    """The keys of the envelopes and the dialect in the notes of one reply, each once, in their order."""
    keys = (key for note in tolerated if (key := _key(note)))
    return tuple(dict.fromkeys(keys))[:MOST_LABELS]


def split_notes(tolerated: Sequence[str]) -> tuple[tuple[Label, ...], tuple[str, ...]]:
    """The notes of one reply: labels of envelopes and dialect, and the free texts about single steps."""
    return tuple(map(label_of, keys_of(tolerated))), tuple(note for note in tolerated if not _key(note))


def label_of(key: str) -> Label:
    """The label of a key that `keys_of` returned."""
    kind, _, name = key.partition(": ")
    if kind == "dialect":
        sentence = "The plan is read from this dialect."
        return Label(key=key, name=f"Dialect: {name}", sentence=sentence)
    words, sentence = _ENVELOPES.get(name, _ENVELOPES[_OTHER])
    return Label(key=key, name=words, sentence=sentence)


def is_readable(*, outcome: str, reason: str | None) -> bool | None:
    """Whether the reply of a task could be read; None if there was none."""
    if outcome == Outcome.SCORED:
        return True
    if reason == Reason.UNPARSABLE_PLAN:
        return False
    return True if reason in _READ else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the replies of an evaluation were read."""

    replies: int
    """Tasks that got a reply."""
    unreadable: int
    """Those whose reply could not be read."""
    tolerated: Mapping[str, int]
    """Number of replies by key, the most frequent first."""

    @classmethod
    def of(cls, tasks: Iterable[tuple[TaskReading, Iterable[str]]]) -> "Reading":
        """Count the replies of tasks, each with its keys."""
        replies = unreadable = 0
        counts = Counter[str]()
        for task, keys in tasks:
            readable = is_readable(outcome=task.outcome, reason=task.reason or None)
            if readable is not None:
                replies += 1
                unreadable += not readable
                counts.update(dict.fromkeys(keys, 1))
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls(replies=replies, unreadable=unreadable, tolerated=dict(ordered))

    @classmethod
    def from_json(cls, value: object) -> "Reading | None":
        """The inverse of `to_json`; None for anything else, such as the summaries of older releases."""
        if not isinstance(value, Mapping) or not isinstance(counts := value.get("tolerated"), Mapping):
            return None
        numbers: list[Any] = [value.get("replies"), value.get("unreadable"), *counts.values()]
        if not all(type(number) is int and number >= 0 for number in numbers) or numbers[1] > numbers[0]:
            return None
        # JSON objects in the database have no order.
        ordered = sorted(((str(key), count) for key, count in counts.items()), key=lambda item: (-item[1], item[0]))
        return cls(replies=numbers[0], unreadable=numbers[1], tolerated=dict(ordered))

    def to_json(self) -> dict[str, JsonValue]:
        """As in summaries of evaluations."""
        return {"replies": self.replies, "unreadable": self.unreadable, "tolerated": dict(self.tolerated)}

    @property
    def share(self) -> dict[str, float | int | None] | None:
        """The share of readable replies in [0, 1] with its Wilson interval; None without any reply."""
        if not self.replies:
            return None
        # Loaded here: a pipeline's client prints sentences without numpy.
        from evaluator.scoring.metrics.statistics import wilson

        found = wilson(successes=self.replies - self.unreadable, total=self.replies)
        return {"mean": found.mean, "low": found.low, "high": found.high, "tasks": found.count}

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many replies could be read, and what was tolerated in them; none where all are plans in a documented
        form."""
        if not self.replies or not (self.unreadable or self.tolerated):
            return ()
        count, total = self.replies - self.unreadable, self.replies
        replies = f"{total} {'reply' if total == 1 else 'replies'}"
        first = f"All {replies} could be read." if count == total else f"{count} of {replies} could be read."
        if not self.tolerated:
            return (first,)
        parts = (f"{label_of(key).name.lower()} {number}" for key, number in self.tolerated.items())
        return first, f"Tolerated: {', '.join(parts)}."


def _key(note: str) -> str:
    found = _NOTE.fullmatch(note)
    if found is None:
        return ""
    kind, what = found[1], found[2].strip()
    if kind == "dialect":
        return f"dialect: {what}" if len(what) <= _LONGEST_NAME and _DIALECT.fullmatch(what) else ""
    name = next((name for name, pattern in _PATTERNS.items() if pattern.fullmatch(what)), what)
    return f"envelope: {name if name in _ENVELOPES else _OTHER}"
