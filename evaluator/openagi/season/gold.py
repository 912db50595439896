"""The gold plan of a generated request, by the convention of the released list's.

Each needed input is repaired once: Image Super Resolution, Image Denoising, Image Deblurring, Colorization in this
order, as far as needed; Fill Mask where a word is missing. Then each answer has its base model, and Machine
Translation where it is to be German. Where no tool can meet the request, there are neither steps nor answers.
"""

from evaluator.core.plans.model import Plan, Step
from evaluator.openagi.gold import BASE_TOOLS, RESTORERS, call
from evaluator.openagi.season.wishes import NOUNS, Composition, Given, Language, Wanted, Wish


def gold_plan(wish: Wish) -> Plan:
    """The plan that meets a request."""
    if wish.stratum.composition is Composition.NO_TOOL:
        return Plan(steps=(), answers=())
    steps: list[Step] = []
    repaired = {given.noun: _repaired(given, steps=steps) for given in wish.needed}
    answers = [_answered(wanted, repaired=repaired, steps=steps) for wanted in wish.stratum.wanted]
    return Plan(steps=tuple(steps), answers=tuple(answers))


def _repaired(given: Given, *, steps: list[Step]) -> str:
    value = f"${given.name}"
    for degradation in given.degradations:
        value = call(tool=RESTORERS[degradation], values=[value], steps=steps)
    return call(tool="Fill Mask", values=[value], steps=steps) if given.is_clozed else value


def _answered(wanted: Wanted, *, repaired: dict[str, str], steps: list[Step]) -> str:
    values = [repaired[noun] for noun in NOUNS[wanted.base]]
    tool = BASE_TOOLS.get(wanted.base)
    answer = values[0] if tool is None else call(tool=tool, values=values, steps=steps)
    if wanted.language is Language.GERMAN:
        answer = call(tool="Machine Translation", values=[answer], steps=steps)
    return answer
