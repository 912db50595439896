"""Generated requests as tasks with gold plans.

Each needed input is repaired once, in the order of the released gold plans (`evaluator.openagi.tasks`). Each answer
then has its base model, and Machine Translation for German. If no tool can meet the request, the plan has no steps and
no answers.
"""

from dataclasses import dataclass, field, replace

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import ABSTENTION, Task
from evaluator.core.tools.types import ResourceType
from evaluator.openagi.grammar import CLOSED_BASES, Base
from evaluator.openagi.season.requests import NOUNS, AnswerSpec, Composition, InputSpec, Language, RequestSpec
from evaluator.openagi.tasks import BASE_TOOLS, RESTORERS, answer_kind, call


def gold_plan(spec: RequestSpec) -> Plan:
    """The plan that meets a request."""
    if spec.stratum.composition is Composition.NO_TOOL:
        return Plan(steps=(), answers=())
    steps: list[Step] = []
    repaired = {given.noun: _repaired(given, steps=steps) for given in spec.needed}
    answers = [_answered(wanted, repaired=repaired, steps=steps) for wanted in spec.stratum.wanted]
    return Plan(steps=tuple(steps), answers=tuple(answers))


def _repaired(given: InputSpec, *, steps: list[Step]) -> str:
    value = f"${given.name}"
    for degradation in given.degradations:
        value = call(tool=RESTORERS[degradation], values=[value], steps=steps)
    return call(tool="Fill Mask", values=[value], steps=steps) if given.is_clozed else value


def _answered(wanted: AnswerSpec, *, repaired: dict[str, str], steps: list[Step]) -> str:
    values = [repaired[noun] for noun in NOUNS[wanted.base]]
    tool = BASE_TOOLS.get(wanted.base)
    answer = values[0] if tool is None else call(tool=tool, values=values, steps=steps)
    if wanted.language is Language.GERMAN:
        answer = call(tool="Machine Translation", values=[answer], steps=steps)
    return answer


SEVERAL = "several"
"""The metric of requests for several answers: the mean of the scores of the answers."""
_METRICS = {Base.RESTORATION: "ViT", Base.TEXT_TO_IMAGE: "CLIP"}


@dataclass(frozen=True, kw_only=True)
class SeasonTask(Task):
    """A generated request."""

    spec: RequestSpec
    wanted: AnswerSpec
    """The answer, or the first of several."""
    lexicon: str = field(default="", repr=False)
    """Of a hidden request: the secret that determines its season's lexicon. Empty for the public grammar."""

    @property
    def answers(self) -> tuple[Task, ...]:
        """See `Task`."""
        if self.metric != SEVERAL:
            return (self,)
        return tuple(
            replace(self, wanted=wanted, metric=_metric(wanted), expects=_type(wanted))
            for wanted in self.spec.stratum.wanted
        )

    @property
    def kind(self) -> str:
        """See `Task`."""
        return answer_kind(base=self.wanted.base, language=self.wanted.language)

    @property
    def is_closed(self) -> bool:
        """See `Task`."""
        return self.metric == "BERT" and self.wanted.base in CLOSED_BASES

    @property
    def tells_answers(self) -> bool:
        """See `Task`: what a hidden request asks for is said by its words alone."""
        return not self.lexicon

    @property
    def attributes(self) -> dict[str, JsonValue]:
        """Facts that the key determines, equal in every season."""
        stratum = self.spec.stratum
        is_possible = stratum.composition is not Composition.NO_TOOL
        languages: list[JsonValue] = []
        languages += sorted({str(answer.language) for answer in stratum.wanted if answer.language and is_possible})
        return {
            "composition": str(stratum.composition),
            "trick": str(stratum.trick),
            "goals": [str(wanted.base) for wanted in stratum.wanted] if is_possible else [],
            "request_language": str(stratum.spoken),
            "answer_language": languages,
            "degradations": str(stratum.degradations),
            "gold_steps": len(self.gold.steps) if self.gold is not None else None,
        }


def season_task(*, key: str, text: str, spec: RequestSpec, lexicon: str = "") -> SeasonTask:
    """The task of a worded request."""
    stratum = spec.stratum
    first = stratum.wanted[0]
    metric, expects = _metric(first), _type(first)
    if stratum.composition is Composition.NO_TOOL:
        metric = ABSTENTION
    is_several = len(stratum.wanted) > 1
    return SeasonTask(
        key=key,
        text=text,
        structure="nonlinear" if is_several or len(spec.needed) > 1 else "linear",
        metric=SEVERAL if is_several else metric,
        resources={given.name: given.kind for given in spec.given},
        expects=None if is_several else expects,
        gold=gold_plan(spec),
        spec=spec,
        wanted=first,
        lexicon=lexicon,
    )


def _metric(wanted: AnswerSpec) -> str:
    return _METRICS.get(wanted.base, "BERT")


def _type(wanted: AnswerSpec) -> ResourceType:
    return ResourceType.IMAGE if wanted.base in _METRICS else ResourceType.TEXT
