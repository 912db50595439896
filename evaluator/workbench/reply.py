"""What a run did, in sentences that name only steps that ran and results that exist."""

from collections.abc import Callable, Mapping

from evaluator.core.plans.model import Plan
from evaluator.core.records import ArtefactReference, StepRun
from evaluator.core.sounds import Sound
from evaluator.core.values import Boxes, Clip, Labels, Masks, Value

_LONGEST = 300
"""Characters of a result that is quoted."""


def made_in_words(
    *,
    plan: Plan,
    done: Mapping[str, StepRun],
    failed: Mapping[str, str],
    value: Callable[[ArtefactReference], Value],
    made: Mapping[str, ArtefactReference],
) -> str:
    """The sentences.

    Args:
        plan: that ran.
        done: runs of the steps that succeeded, by step.
        failed: by reference that does not exist, the step that failed.
        value: returns the value of an artefact.
        made: artefacts by reference.
    """
    called = [step.tool for step in plan.steps if step.id in done]
    sentences = [f"I called {_in_order(called)}."] if called else []
    makers = {reference: step.tool for step in plan.steps for reference in step.outputs.values()}
    several = len(plan.answers) > 1
    for number, answer in enumerate(plan.answers, start=1):
        if answer in made:
            result = value(made[answer])
            said = f'says "{_quoted(result)}"' if isinstance(result, str) else f"is {kind_in_words(result)}"
            by = f" of {makers[answer]}" if answer in makers else ""
            sentences.append(f"{f'Result {number}' if several else 'The result'}{by} {said}.")
    broken = dict.fromkeys(failed.values())
    tools = {step.id: step.tool for step in plan.steps}
    sentences += [f"{tools.get(step, step)} ({step}) failed, so what depends on it is missing." for step in broken]
    return " ".join(sentences) or "Nothing ran."


def _in_order(tools: list[str]) -> str:
    return tools[0] if len(tools) == 1 else f"{', '.join(tools[:-1])} and then {tools[-1]}"


def kind_in_words(value: Value) -> str:
    """What a value is, such as `2 boxes`."""
    match value:
        case Boxes():
            return _counted(len(value.items), "box", "boxes")
        case Masks():
            return _counted(len(value.items), "mask", "masks")
        case Labels():
            return _counted(len(value.items), "label", "labels")
        case Clip():
            return "a clip" if value.sound is None else "a clip with sound"
        case Sound():
            return f"a sound of {value.seconds:.1f} s"
        case str():
            return "a text"
    return "a picture"


def _counted(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _quoted(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
