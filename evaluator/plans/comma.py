"""Parser for OpenAGI's comma sequences: `Image Denoising, Image Deblurring, Image Captioning`.

Grammar::

    sequence = name { "," name } [","]
    name     = any text without a comma; white space around it does not count

A sequence says nothing about data flow, so the steps are wired by the rule of `evaluator.plans.frontier`. The answer
is the first output of the last step. What a sequence cannot express (two texts repaired separately, say) needs a
tree or `plan/1`.

Tolerated and recorded: empty names, and a name or alias in any mix of case, blanks, hyphens and underscores.
"""

from evaluator.plans.frontier import known_names, resources_of, wire
from evaluator.plans.model import ParsedPlan, Plan, PlanContext, PlanSyntaxError
from evaluator.plans.values import spelling

FORM = "comma sequence"
MAX_NAMES = 100


def parse_comma(*, text: str, context: PlanContext) -> ParsedPlan:
    """Read a comma sequence and wire it. Unknown names become steps without inputs, for the checks to report.

    Raises:
        PlanSyntaxError: there is no name in the text, or there are too many.
    """
    tolerated: list[str] = []
    names = _names(text=text, context=context, tolerated=tolerated)
    frontier = resources_of(context)
    steps = tuple(
        wire(name=name, number=number, frontier=frontier, context=context) for number, name in enumerate(names)
    )
    answers = tuple(steps[-1].outputs.values())[:1]
    return ParsedPlan(plan=Plan(steps=steps, answers=answers), form=FORM, tolerated=tuple(tolerated))


def _names(*, text: str, context: PlanContext, tolerated: list[str]) -> list[str]:
    spellings = known_names(context)
    names = []
    position = 0
    for part in text.split(","):
        name = " ".join(part.split())
        known = spellings.get(spelling(name))
        if not name:
            tolerated.append(f"character {position + 1}: ignored an empty name")
        elif known is not None and known != part.strip():
            tolerated.append(f"character {position + 1}: read {part.strip()!r} as {known!r}")
        if name:
            names.append(known or name)
        position += len(part) + 1
    if not names:
        raise PlanSyntaxError("the plan is empty: it names no tool", tolerated=tuple(tolerated))
    if len(names) > MAX_NAMES:
        raise PlanSyntaxError(f"{len(names)} names; a plan has at most {MAX_NAMES}")
    return names
