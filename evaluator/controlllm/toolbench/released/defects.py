"""What is wrong with requests of the released files, rule by rule. Nothing is mended or left out: it is flagged.

Each rule looks at one request only. Those that excuse a planner from answering, because no plan could be right or
the gold is not what its form promises, keep the request out of the split `active`; all stay in the split `all`.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

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
    """What is wrong, as a phrase."""
    excludes: bool
    """Whether a request with it is kept out of the split `active`."""
    holds: Callable[[RawTask, Decomposition | None], bool]
    """Whether a request has it, given its gold decomposition, or None where there is none or nobody can read it."""


def _is_deprecated(raw: RawTask, gold: Decomposition | None) -> bool:
    del gold
    return raw.deprecated


def _is_no_json(raw: RawTask, gold: Decomposition | None) -> bool:
    del gold
    if raw.output is None:
        return False
    found = _TAGS.fullmatch(raw.output)
    try:
        return found is None or not isinstance(json.loads(found[1]), list)
    except (ValueError, RecursionError):
        return True


def _is_unreadable(raw: RawTask, gold: Decomposition | None) -> bool:
    return raw.output is not None and gold is None


def _is_unreachable(raw: RawTask, gold: Decomposition | None) -> bool:
    del raw
    return any(
        subtask.domains == ("image-editing",) and [argument.type for argument in subtask.args] == ["bbox"]
        for subtask in _subtasks(gold)
    )


def _has_mangled_name(raw: RawTask, gold: Decomposition | None) -> bool:
    del gold
    return _GLUED.search(raw.instruction) is not None


def _needs_mask_image(raw: RawTask, gold: Decomposition | None) -> bool:
    del raw
    return any(
        any(argument.type == "mask" for argument in subtask.args) and _KEEPING.search(subtask.description) is not None
        for subtask in _subtasks(gold)
    )


def _has_context_file(raw: RawTask, gold: Decomposition | None) -> bool:
    return any(
        not _names(text=raw.instruction, file=argument.value)
        for subtask in _subtasks(gold)
        for argument in subtask.args
        if argument.type != "text" and _GENERATED.fullmatch(argument.value) is None
    )


def _has_wrong_reference(raw: RawTask, gold: Decomposition | None) -> bool:
    """Copies of a chain for several files often go on taking the first file's result."""
    del raw
    before: dict[int, frozenset[int]] = {}
    kinds: dict[tuple[int, str], str] = {}
    for subtask in _subtasks(gold):
        needed = frozenset(subtask.dependencies).union(*(before.get(one, frozenset()) for one in subtask.dependencies))
        for argument in subtask.args:
            makers = [(one, argument.value) for one in needed if (one, argument.value) in kinds]
            if _GENERATED.fullmatch(argument.value) and argument.type not in {kinds[maker] for maker in makers}:
                return True
        before[subtask.id] = needed
        kinds |= {(subtask.id, result.value): result.type for result in subtask.returns}
    return False


def _has_no_gold(raw: RawTask, gold: Decomposition | None) -> bool:
    del gold
    return raw.output is None


def _subtasks(gold: Decomposition | None) -> tuple[Subtask, ...]:
    return () if gold is None else gold.subtasks


def _names(*, text: str, file: str) -> bool:
    """Whether a text names a file, not only as a part of a longer name."""
    return re.search(rf"(?<![\w\-]){re.escape(file)}(?!\w)", text) is not None


RULES = (
    Rule("deprecated", "the file itself marks the request as deprecated", True, _is_deprecated),
    Rule("unparsable", "the gold decomposition is not JSON", True, _is_no_json),
    Rule("unreadable", "no reader here understands the gold decomposition", True, _is_unreadable),
    Rule("unreachable", "a subtask is to edit an image but is given boxes only", True, _is_unreachable),
    Rule("mangled_name", "names of files in the request are glued together", True, _has_mangled_name),
    Rule("needs_mask_image", "needs the tool `mask_image`, which the release leaves out", False, _needs_mask_image),
    Rule("context_file", "the gold takes a file that the request does not name", False, _has_context_file),
    Rule("wrong_reference", "the gold takes a result of the wrong subtask or type", False, _has_wrong_reference),
    Rule("gold_missing", "there is no gold decomposition at hand", False, _has_no_gold),
)
_EXCLUDING = frozenset(rule.name for rule in RULES if rule.excludes)


def gold_of(raw: RawTask) -> Decomposition | None:
    """The gold decomposition, or None where there is none or no reader here understands it."""
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
        gold: its gold decomposition, where the caller has read it already.
    """
    read = gold if gold is not None else gold_of(raw)
    return tuple(rule.name for rule in RULES if rule.holds(raw, read))


def is_active(flags: tuple[str, ...]) -> bool:
    """Whether a request with these flags belongs to the split `active`."""
    return _EXCLUDING.isdisjoint(flags)
