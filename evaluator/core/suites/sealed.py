"""Sealed requests: requests of a hidden split that people or models wrote, which no seed determines.

An operator collects them outside the repository (`leaderboard.catalog.sealed`). A season takes the places of some of
its generated requests for them, each of a request that agrees with it in all that sites show of a task. Which entries
these are is part of the season's commitment; their texts are published with the seed when the season closes.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from evaluator.core import canonical_json
from evaluator.core.canonical_json import framed_digest
from evaluator.core.suites.secrets import derived

if TYPE_CHECKING:
    from evaluator.core.suites.base import Suite, Task

_ENTRY = "planarena sealed request/1"
_ENTRIES = "planarena sealed requests/1"
LONGEST_TEXT = 4_000
"""Characters of a request."""


class SealedRequestError(ValueError):
    """The request or its goal is invalid; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class SealedRequest:
    """The words of a request, and what they ask for."""

    text: str = field(repr=False)
    """With a slot such as `{image}` for the name of each input."""
    goal: str = field(repr=False)
    """Canonical JSON in the form of the suite (`SealedForm`)."""

    @property
    def digest(self) -> str:
        """SHA-256 of text and goal, as 64 hexadecimal digits."""
        return framed_digest(_ENTRY, self.text, self.goal)


def sealed_digest(requests: Sequence[SealedRequest]) -> str:
    """SHA-256 of the sorted digests of all requests, as 64 hexadecimal digits; empty if there are none.

    It would confirm a guess of the texts, so that it is published with them only.
    """
    return framed_digest(_ENTRIES, *sorted(request.digest for request in requests)) if requests else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalField:
    """A question about a request whose answer is one or several of some choices."""

    name: str
    label: str
    choices: Mapping[str, str]
    """Labels by value."""
    is_multiple: bool = False


class SealedForm(Protocol):
    """How a suite reads and asks for the goals of sealed requests."""

    example: SealedRequest
    """A valid one, for pages."""

    def task(self, request: SealedRequest, *, key: str, seed: str) -> "Task":
        """The request as a task.

        Args:
            request: with a goal in the suite's form.
            key: of the task.
            seed: of the hidden data; names of inputs follow from it.

        Raises:
            SealedRequestError: the goal is invalid, or does not fit the text.
        """
        ...

    def fields(self, text: str) -> tuple[GoalField, ...]:
        """What a reader of a text is asked, so that `goal` follows from the answers.

        Raises:
            SealedRequestError: a slot of the text names no input.
        """
        ...

    def goal(self, text: str, *, values: Mapping[str, Sequence[str]]) -> str:
        """The goal that the answers to `fields` give, as `SealedRequest.goal`."""
        ...

    def read(self, text: str) -> str | None:
        """The goal by rules that read the text with its slots; None if they leave something open.

        Raises:
            SealedRequestError: a slot of the text names no input.
        """
        ...


def form_of(suite: "Suite") -> SealedForm:
    """How the suite reads sealed requests.

    Raises:
        SealedRequestError: it takes none.
    """
    if suite.sealed_form is None:
        raise SealedRequestError(f"The suite {suite.slug} takes no sealed requests.")
    return suite.sealed_form


def placed(*, suite: "Suite", requests: Sequence[SealedRequest], seed: str) -> Iterator[tuple[SealedRequest, str]]:
    """The requests that find a place in a season, with the keys of their places. A request that finds none is left out.
    The seed determines the order of requests and, among equal places, which one they get.

    Args:
        suite: the public one.
        requests: in any order.
        seed: of the suite's hidden data.

    Raises:
        SealedRequestError: the suite takes none, or a request is invalid.
    """
    form = form_of(suite)
    free: dict[str, list[str]] = defaultdict(list)
    for task in sorted(suite.tasks, key=lambda task: derived("place", suite.slug, task.key, seed=seed)):
        free[shown_facts(task)].append(task.key)
    for request in sorted(requests, key=lambda request: derived("sealed", suite.slug, request.digest, seed=seed)):
        if places := free[shown_facts(form.task(request, key="", seed=seed))]:
            yield request, places.pop()


def has_place(*, suite: "Suite", request: SealedRequest) -> bool:
    """Whether the suite has a request that agrees with this one in all that sites show of a task.

    Raises:
        SealedRequestError: as for `placed`.
    """
    facts = shown_facts(form_of(suite).task(request, key="", seed=""))
    return any(shown_facts(task) == facts for task in suite.tasks)


def with_sealed(
    *, suite: "Suite", tasks: Sequence["Task"], requests: Sequence[SealedRequest], seed: str
) -> tuple["Task", ...]:
    """The hidden requests of a season, with sealed ones in the places of some.

    Args:
        suite: the public one.
        tasks: the generated hidden requests.
        requests: all sealed ones of the season.
        seed: of the suite's hidden data.

    Raises:
        SealedRequestError: a request is invalid or has no place, or the suite takes none.
    """
    if not requests:
        return tuple(tasks)
    form = form_of(suite)
    keys = {key: request for request, key in placed(suite=suite, requests=requests, seed=seed)}
    if len(keys) < len(requests):
        raise SealedRequestError(f"{len(requests) - len(keys)} sealed requests have no place in {suite.slug}.")
    made = {key: form.task(request, key=key, seed=seed) for key, request in keys.items()}
    return tuple(made.get(task.key, task) for task in tasks)


def shown_facts(task: "Task") -> str:
    """Digest of what sites show of a task besides its words. A request is shown by the public one with its key."""
    return canonical_json.digest([task.metric, task.structure, task.kind, task.is_closed, task.attributes])


def as_proof(request: SealedRequest, *, suite: "Suite") -> "Task":
    """The request as a task of its own, by which parsers are tried."""
    return replace(form_of(suite).task(request, key="0", seed=""), asked_as="sealed")
