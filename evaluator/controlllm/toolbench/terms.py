"""Symbolic execution of plans: every output has a term, its provenance.

A plan is read top to bottom: an output exists from the step that makes it onwards. A reference to anything else is a
false resource. If plans are executed, steps are read in execution order: an output exists for every step that does not
lead to it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from evaluator.core.plans.model import Plan, Step
from evaluator.core.tools.types import Catalogue, ResourceType


@dataclass(frozen=True, slots=True)
class FileTerm:
    """A file that the request gives."""

    name: str


@dataclass(frozen=True, slots=True)
class LiteralTerm:
    """A text in the plan."""

    text: str


@dataclass(frozen=True, slots=True)
class FalseTerm:
    """A reference to something that does not exist at this point."""

    reference: str


@dataclass(frozen=True, slots=True, eq=False)
class CallTerm:
    """An output of a call."""

    tool: str
    args: Mapping[str, "Term"]
    known: bool
    output: str
    number: int
    """Equal for equal calls of one plan. Comparing terms by it, not by their arguments, takes linear time: otherwise a
    step that takes one output twice would double the work of each later step."""


Term = FileTerm | LiteralTerm | FalseTerm | CallTerm

_PLACEHOLDER = re.compile(r"<(TOOL-)?GEN(?:ERATED)?>-([\w\-]+)")
_FILE_NAME = re.compile(
    r"[\w\-./]+\.(?:png|jpe?g|gif|bmp|webp|tiff?|mp4|avi|mov|mkv|webm|mp3|wav|flac|ogg)(?![A-Za-z0-9])", re.IGNORECASE
)
_REFERENCE = re.compile(r"(?:s|step)_?\d+\.[A-Za-z_]\w*")
_ENDINGS = {
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "bmp", "webp", "tif", "tiff"), ResourceType.IMAGE),
    **dict.fromkeys(("mp4", "avi", "mov", "mkv", "webm"), ResourceType.VIDEO),
    **dict.fromkeys(("mp3", "wav", "flac", "ogg"), ResourceType.AUDIO),
}
_ROLES = {
    kind.value: kind
    for kind in ResourceType
    if kind not in {ResourceType.TEXT, ResourceType.TITLE, ResourceType.TAGS, ResourceType.TIME, ResourceType.HTML}
}


def file_names(text: str) -> tuple[str, ...]:
    """The file names in a text, in order, each once."""
    return tuple(dict.fromkeys(_FILE_NAME.findall(text)))


def is_file_name(value: str) -> bool:
    """Whether a value is a file name as a whole."""
    return _FILE_NAME.fullmatch(value) is not None


@lru_cache(maxsize=16384)
def type_of_file(name: str) -> ResourceType:
    """The type that a file name implies: `..._mask.png` and `mask_3.png` are masks, other `.png` images."""
    stem, _, ending = name.rsplit("/", 1)[-1].rpartition(".")
    parts = stem.lower().split("_")
    for part in (parts[-1], parts[0]):
        if part in _ROLES:
            return _ROLES[part]
    return _ENDINGS.get(ending.lower(), ResourceType.IMAGE)


@lru_cache(maxsize=16384)
def normal_reference(value: str) -> str:
    """The canonical form: `<GENERATED>-0` becomes `<GEN>-0`, and `$x.png` the file `x.png`."""
    match = _PLACEHOLDER.fullmatch(value)
    return f"<{match[1] or ''}GEN>-{match[2]}" if match else value.removeprefix("$")


def type_of_placeholder(reference: str) -> ResourceType | None:
    """The type that a placeholder names: `<TOOL-GEN>-object_detection-bbox-0` is a bbox."""
    match = _PLACEHOLDER.fullmatch(reference)
    parts = reversed(match[2].split("-")) if match else ()
    return next((_ROLES[part] for part in parts if part in _ROLES), None)


@dataclass(frozen=True, slots=True)
class ReadArgument:
    """An argument of a call."""

    term: Term
    roles: frozenset[ResourceType]
    """The types in which the request gives a file; the one type of any other resource; empty if unknown."""
    false_references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A parsed step."""

    step: Step
    number: int
    known: bool
    arguments: Mapping[str, ReadArgument]
    outputs: tuple[CallTerm, ...]
    identity: int
    """Equal for two calls of one tool with the same arguments."""


def interpret(
    *, plan: Plan, catalogue: Catalogue, files: Mapping[str, frozenset[ResourceType]], as_executed: bool = False
) -> tuple[ReadCall, ...]:
    """Read a plan.

    Args:
        plan: the plan in its written order.
        catalogue: the available tools.
        files: the request's files with the types in which it gives them.
        as_executed: read each step after those whose results it takes, not in the written order.

    Returns:
        The calls in the written order, numbered from 1.
    """
    results: dict[str, tuple[CallTerm, ResourceType | None]] = {}
    later = {normal_reference(reference) for step in plan.steps for reference in step.outputs.values()}
    identities: dict[tuple[object, ...], int] = {}
    calls = []
    for number, step in _in_order(plan.steps, as_executed=as_executed):
        known = step.tool in catalogue
        signature = catalogue[step.tool].outputs if known else {}
        arguments = {
            name: _read(value=value, results=results, later=later, files=files) for name, value in step.inputs.items()
        }
        terms = {name: read.term for name, read in arguments.items()}
        key = (step.tool, *sorted((name, *_key(term)) for name, term in terms.items()))
        identity = identities.setdefault(key, len(identities))
        outputs = tuple(CallTerm(step.tool, terms, known, output, identity) for output in step.outputs or {"": ""})
        for place, (term, reference) in enumerate(zip(outputs, step.outputs.values(), strict=False)):
            # An output with a wrong name has the type of its position.
            by_place = list(signature.values())[place] if place < len(signature) else None
            kind = signature.get(term.output, by_place)
            results[normal_reference(reference)] = (term, kind or type_of_placeholder(reference))
        calls.append(ReadCall(step, number, known, arguments, outputs, identity))
    return tuple(sorted(calls, key=lambda call: call.number))


def _in_order(steps: Sequence[Step], *, as_executed: bool) -> Iterator[tuple[int, Step]]:
    """Steps with their numbers; as executed, each after those it depends on. Steps of a cycle come last, in order."""
    waiting = dict(enumerate(steps, start=1))
    while waiting and as_executed:
        pending = {normal_reference(reference) for step in waiting.values() for reference in step.outputs.values()}
        ready = {
            number: step
            for number, step in waiting.items()
            if pending.isdisjoint(normal_reference(value.strip()) for value in step.inputs.values())
        }
        if not ready:
            break
        yield from ready.items()
        waiting = {number: step for number, step in waiting.items() if number not in ready}
    yield from waiting.items()


def _key(term: Term) -> tuple[str, str]:
    """A term as part of a key, without the arguments of calls."""
    if isinstance(term, FileTerm):
        return "file", term.name
    if isinstance(term, LiteralTerm):
        return "text", term.text.strip().lower()
    if isinstance(term, FalseTerm):
        return "false", term.reference
    return "call", f"{term.number} {term.output}"


def _read(
    *,
    value: str,
    results: Mapping[str, tuple[CallTerm, ResourceType | None]],
    later: Set[str],
    files: Mapping[str, frozenset[ResourceType]],
) -> ReadArgument:
    reference = normal_reference(value.strip())
    if reference in results:
        term, kind = results[reference]
        return ReadArgument(term, frozenset() if kind is None else frozenset({kind}))
    if reference in files:
        return ReadArgument(FileTerm(reference), files[reference])
    if _PLACEHOLDER.fullmatch(reference) or is_file_name(reference) or value.startswith("$"):
        kind = type_of_placeholder(reference) or (type_of_file(reference) if is_file_name(reference) else None)
        return ReadArgument(FalseTerm(reference), frozenset() if kind is None else frozenset({kind}), (reference,))
    if reference in later or _REFERENCE.fullmatch(reference):
        return ReadArgument(FalseTerm(reference), frozenset(), (reference,))
    pieces = [normal_reference(piece) for piece in reference.split(", ")]
    if len(pieces) > 1 and all(_PLACEHOLDER.fullmatch(piece) or is_file_name(piece) for piece in pieces):
        # Several resources in one argument: no tool takes a list, so the type is unknown, but each must exist.
        missing = tuple(piece for piece in pieces if piece not in results and piece not in files)
        return ReadArgument(LiteralTerm(value), frozenset(), missing)
    quoted = (normal_reference(match[0]) for match in _PLACEHOLDER.finditer(value))
    missing = tuple(reference for reference in quoted if reference not in results)
    return ReadArgument(LiteralTerm(value), frozenset({ResourceType.TEXT}), missing)


def describe(term: Term, *, depth: int = 5) -> str:
    """A term as nested calls; calls deeper than `depth` are abbreviated to three dots."""
    if isinstance(term, FileTerm):
        return term.name
    if isinstance(term, LiteralTerm):
        return repr(term.text if len(term.text) <= 60 else term.text[:57] + "...")
    if isinstance(term, FalseTerm):
        return f"{term.reference} (does not exist)"
    if depth == 0:
        return f"{term.tool}(...)"
    arguments = ", ".join(f"{name}={describe(value, depth=depth - 1)}" for name, value in term.args.items())
    return f"{term.tool}({arguments})"
