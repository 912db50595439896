"""What a plan computes, symbolically: every output carries its provenance as a term.

A plan is read as it is written, top to bottom: an output exists from the step that makes it onwards. A reference to
anything else is a false resource. Where plans are executed, steps are read in the order in which they run: an output
exists for every step that does not lead to it.
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
    """A text written into the plan."""

    text: str


@dataclass(frozen=True, slots=True)
class FalseTerm:
    """A reference to something that does not exist (at this point)."""

    reference: str


@dataclass(frozen=True, slots=True, eq=False)
class CallTerm:
    """An output of a call. `args` holds the terms of the arguments that were passed."""

    tool: str
    args: Mapping[str, "Term"]
    known: bool
    output: str
    number: int
    """Equal for equal calls of one plan. Comparing terms by it, not by what is inside, keeps that linear: a step that
    takes one output twice would otherwise double the work of each step after it."""


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
    """Whether a whole value is a file name."""
    return _FILE_NAME.fullmatch(value) is not None


@lru_cache(maxsize=16384)
def type_of_file(name: str) -> ResourceType:
    """The type that a file's name shows: `..._mask.png` and `mask_3.png` are masks, other `.png` images."""
    stem, _, ending = name.rsplit("/", 1)[-1].rpartition(".")
    parts = stem.lower().split("_")
    for part in (parts[-1], parts[0]):
        if part in _ROLES:
            return _ROLES[part]
    return _ENDINGS.get(ending.lower(), ResourceType.IMAGE)


@lru_cache(maxsize=16384)
def normal_reference(value: str) -> str:
    """`<GENERATED>-0` and `<GEN>-0` are one reference; `$x.png` is the file `x.png`."""
    found = _PLACEHOLDER.fullmatch(value)
    if found:
        return f"<{found[1] or ''}GEN>-{found[2]}"
    return value.removeprefix("$")


def type_of_placeholder(reference: str) -> ResourceType | None:
    """The type that the name of a placeholder shows: `<TOOL-GEN>-object_detection-bbox-0` is a bbox."""
    found = _PLACEHOLDER.fullmatch(reference)
    if not found:
        return None
    parts = found[2].split("-")
    return next((_ROLES[part] for part in reversed(parts) if part in _ROLES), None)


@dataclass(frozen=True, slots=True)
class ReadArgument:
    """An argument of a call: its term and the type of what was passed, None if nothing shows it."""

    term: Term
    type: ResourceType | None
    roles: frozenset[ResourceType]
    """All types that the request gives the file; the same one type for everything else."""
    false_references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A step with its arguments read."""

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
    """Read a plan top to bottom.

    Args:
        plan: the plan, in the order in which it was written.
        catalogue: the tools there are.
        files: the request's files with the types that the request gives them.
        as_executed: whether steps are read in the order in which they run: each after those whose results it takes.

    Returns:
        The calls in the order in which they are written, whose numbers they have.
    """
    made: dict[str, tuple[CallTerm, ResourceType | None]] = {}
    later = {normal_reference(reference) for step in plan.steps for reference in step.outputs.values()}
    identities: dict[tuple[object, ...], int] = {}
    calls = []
    for number, step in _in_order(plan.steps, as_executed=as_executed):
        known = step.tool in catalogue
        signature = catalogue[step.tool].outputs if known else {}
        arguments = {
            name: _read(value=value, made=made, later=later, files=files) for name, value in step.inputs.items()
        }
        terms = {name: read.term for name, read in arguments.items()}
        key = (step.tool, *sorted((name, *_flat(term)) for name, term in terms.items()))
        identity = identities.setdefault(key, len(identities))
        outputs = [CallTerm(step.tool, terms, known, output, identity) for output in step.outputs or {"": ""}]
        for place, (term, reference) in enumerate(zip(outputs, step.outputs.values(), strict=False)):
            kind = _type_of_output(signature=signature, name=term.output, place=place)
            made[normal_reference(reference)] = (term, kind or type_of_placeholder(reference))
        calls.append(
            ReadCall(
                step=step,
                number=number,
                known=known,
                arguments=arguments,
                outputs=tuple(outputs),
                identity=identity,
            )
        )
    return tuple(sorted(calls, key=lambda call: call.number))


def _in_order(steps: Sequence[Step], *, as_executed: bool) -> Iterator[tuple[int, Step]]:
    """Steps with their numbers; as executed, each behind those that it waits for. Steps that wait for each other come
    last, as they are written."""
    waiting = dict(enumerate(steps, start=1))
    while waiting and as_executed:
        made_later = {normal_reference(reference) for step in waiting.values() for reference in step.outputs.values()}
        ready = {number: step for number, step in waiting.items() if not _taken(step) & made_later}
        if not ready:
            break
        yield from ready.items()
        waiting = {number: step for number, step in waiting.items() if number not in ready}
    yield from waiting.items()


def _taken(step: Step) -> frozenset[str]:
    return frozenset(normal_reference(value.strip()) for value in step.inputs.values())


def _type_of_output(*, signature: Mapping[str, ResourceType], name: str, place: int) -> ResourceType | None:
    """The declared type of an output: by its name; one that is misnamed counts by its place."""
    if name in signature:
        return signature[name]
    return list(signature.values())[place] if place < len(signature) else None


def _flat(term: Term) -> tuple[str, str]:
    """A term as part of a key, without going into calls."""
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
    made: Mapping[str, tuple[CallTerm, ResourceType | None]],
    later: Set[str],
    files: Mapping[str, frozenset[ResourceType]],
) -> ReadArgument:
    reference = normal_reference(value.strip())
    if reference in made:
        term, kind = made[reference]
        return ReadArgument(term, kind, frozenset() if kind is None else frozenset({kind}))
    if reference in files:
        roles = files[reference]
        return ReadArgument(FileTerm(reference), min(roles), roles)
    if _PLACEHOLDER.fullmatch(reference) or is_file_name(reference) or value.startswith("$"):
        kind = type_of_placeholder(reference) or (type_of_file(reference) if is_file_name(reference) else None)
        roles = frozenset() if kind is None else frozenset({kind})
        return ReadArgument(FalseTerm(reference), kind, roles, (reference,))
    if reference in later or _REFERENCE.fullmatch(reference):
        return ReadArgument(FalseTerm(reference), None, frozenset(), (reference,))
    pieces = [normal_reference(piece) for piece in reference.split(", ")]
    if len(pieces) > 1 and all(_PLACEHOLDER.fullmatch(piece) or is_file_name(piece) for piece in pieces):
        # Several resources in one argument: no tool takes a list, so nothing is obtained, but each must exist.
        missing = tuple(piece for piece in pieces if piece not in made and piece not in files)
        return ReadArgument(LiteralTerm(value), None, frozenset(), missing)
    inside = (normal_reference(found[0]) for found in _PLACEHOLDER.finditer(value))
    return ReadArgument(
        LiteralTerm(value),
        ResourceType.TEXT,
        frozenset({ResourceType.TEXT}),
        tuple(reference for reference in inside if reference not in made),
    )


def describe(term: Term, *, depth: int = 5) -> str:
    """A term in words, as nested calls; deeper ones as three dots."""
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
