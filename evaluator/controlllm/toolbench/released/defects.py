"""Flags defects of requests in the released files. None is removed, and goals are derived from the gold as it is, but
for the object of a count (`wrong_object`).

Each rule looks at one request. Defects that excuse a planner, because no plan can be right or the gold is malformed,
exclude the request from the split `active`; the split `all` has every request.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from evaluator.controlllm.toolbench.meaning.sentences import shares_word
from evaluator.controlllm.toolbench.released.files import RawTask
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.replies.decomposition import Decomposition, Subtask, parse_decomposition

_TAGS = re.compile(r"\s*<Solution>(.*)</Solution>\s*", re.DOTALL)
_GLUED = re.compile(r"\.(?:png|jpe?g|gif|mp4|avi)(?:s\b|s?_)", re.IGNORECASE)
_KEEPING = re.compile(r"\b(?:separate|cut out|isolate)\b", re.IGNORECASE)
_GENERATED = re.compile(r"<GEN(?:ERATED)?>-\d+")


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of defect."""

    name: str
    description: str
    """The defect, as a phrase."""
    excludes: bool
    """Whether it excludes a request from the split `active`."""
    holds: Callable[[RawTask, tuple[Subtask, ...] | None], bool]
    """Whether a request has it, given the subtasks of its gold; None if there is none or it cannot be parsed."""


def _is_no_json(raw: RawTask) -> bool:
    if raw.output is None:
        return False
    match = _TAGS.fullmatch(raw.output)
    try:
        return match is None or not isinstance(json.loads(match[1]), list)
    except (ValueError, RecursionError):
        return True


def _is_unreachable(subtask: Subtask) -> bool:
    return subtask.domains == ("image-editing",) and [argument.type for argument in subtask.args] == ["bbox"]


def _needs_mask_image(subtask: Subtask) -> bool:
    takes_mask = any(argument.type == "mask" for argument in subtask.args)
    return takes_mask and _KEEPING.search(subtask.description) is not None


def _has_context_file(subtask: Subtask, *, text: str) -> bool:
    return any(
        # A part of a longer name does not count.
        re.search(rf"(?<![\w\-]){re.escape(argument.value)}(?!\w)", text) is None
        for argument in subtask.args
        if argument.type != "text" and _GENERATED.fullmatch(argument.value) is None
    )


def _counts_another(subtask: Subtask, *, text: str) -> bool:
    names = [argument.value for argument in subtask.args if argument.type == "text"]
    return subtask.description.lower().startswith("count ") and not any(
        shares_word(text=text, name=name) for name in names
    )


def _has_wrong_reference(subtasks: tuple[Subtask, ...]) -> bool:
    """Copies of a chain for several files often still take the result for the first file."""
    ancestors: dict[int, frozenset[int]] = {}
    kinds: dict[tuple[int, str], str] = {}
    for subtask in subtasks:
        own = frozenset(subtask.dependencies)
        own = own.union(*(ancestors.get(dependency, frozenset()) for dependency in own))
        for argument in subtask.args:
            types = {kinds[maker, argument.value] for maker in own if (maker, argument.value) in kinds}
            if _GENERATED.fullmatch(argument.value) and argument.type not in types:
                return True
        ancestors[subtask.id] = own
        kinds |= {(subtask.id, result.value): result.type for result in subtask.returns}
    return False


RULES = (
    Rule("deprecated", "the file itself marks the request as deprecated", True, lambda raw, _: raw.deprecated),
    Rule("unparsable", "the gold decomposition is not JSON", True, lambda raw, _: _is_no_json(raw)),
    Rule("unreadable", "no reader here understands the gold decomposition", True,
         lambda raw, gold: raw.output is not None and gold is None),
    Rule("unreachable", "a subtask is to edit an image but is given boxes only", True,
         lambda _, gold: any(map(_is_unreachable, gold or ()))),
    Rule("mangled_name", "names of files in the request are glued together", True,
         lambda raw, _: _GLUED.search(raw.instruction) is not None),
    Rule("needs_mask_image", "needs the tool `mask_image`, which the release leaves out", False,
         lambda _, gold: any(map(_needs_mask_image, gold or ()))),
    Rule("context_file", "the gold takes a file that the request does not name", False,
         lambda raw, gold: any(_has_context_file(subtask, text=raw.instruction) for subtask in gold or ())),
    Rule("wrong_object", "the gold counts an object that the request does not name; the request's is judged", False,
         lambda raw, gold: any(_counts_another(subtask, text=raw.plain or raw.instruction) for subtask in gold or ())),
    Rule("wrong_reference", "the gold takes a result of the wrong subtask or type", False,
         lambda _, gold: _has_wrong_reference(gold or ())),
    Rule("gold_missing", "there is no gold decomposition at hand", False, lambda raw, _: raw.output is None),
)  # fmt: skip
_EXCLUDING = frozenset(rule.name for rule in RULES if rule.excludes)


def gold_of(raw: RawTask) -> Decomposition | None:
    """The gold decomposition; None if there is none or it cannot be parsed."""
    if raw.output is None:
        return None
    try:
        return parse_decomposition(raw.output)
    except PlanSyntaxError:
        return None


def flags_of(raw: RawTask, gold: Decomposition | None = None) -> tuple[str, ...]:
    """Names of the rules that hold for a request, in the order of `RULES`.

    Args:
        raw: the request.
        gold: its parsed gold decomposition; None: parse it here.
    """
    gold = gold if gold is not None else gold_of(raw)
    subtasks = None if gold is None else gold.subtasks
    return tuple(rule.name for rule in RULES if rule.holds(raw, subtasks))


def is_active(flags: tuple[str, ...]) -> bool:
    """Whether a request with these flags belongs to the split `active`."""
    return _EXCLUDING.isdisjoint(flags)
