"""Tools and scoring of questions over a closed corpus."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.refusals import refuses
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Call, Outcome, Refused, TurnScore
from evaluator.lumos.answering import Answering, NothingGiven
from evaluator.lumos.maths.environment import MathsEnvironment
from evaluator.lumos.retrieval import answers
from evaluator.lumos.retrieval.articles import Article, Corpus
from evaluator.lumos.retrieval.dense import configured_retriever
from evaluator.lumos.retrieval.environment import ANSWER, KNOWLEDGE, PARAGRAPHS, find_article, find_paragraphs
from evaluator.lumos.tasks import TurnTask

if TYPE_CHECKING:
    from evaluator.core.records import Reason

CALCULATOR = "Calculator"
BEST = 2
"""Number of results of `ParagraphRetrieve`."""
_RULES = 1
"""Version of results and scores; increase it when the same action or answer may yield a different one."""


class Score(Protocol):
    """Compares an answer, empty if there is none, with the reference."""

    def __call__(self, *, answer: str, reference: str) -> Mapping[str, float]:
        """The indicators, including `solved`."""
        ...


class QuestionEnvironment:
    """Not thread-safe."""

    def __init__(self, *, articles: Callable[[], Sequence[Article]], data: str, score: Score, setting: Setting) -> None:
        """Args:
        articles: reads the corpus; called when it is first needed.
        data: digest of the corpus's files.
        score: scoring of the benchmark.
        setting: profile and store of the experts.

        Raises:
            LookupError: see `configured_retriever`.
        """
        self._retriever = configured_retriever()
        self._articles, self._data, self._score = articles, data, score
        self._experts = Answering(setting, given=NothingGiven())
        self._maths = MathsEnvironment(programs=False)
        self._profile = setting.profile

    def digest(self) -> str:
        return canonical_json.digest(
            {
                "environment": "questions", "rules": _RULES, "ranking": self._retriever.identity,
                "answers": answers.VERSION, "paragraphs": BEST, "maths": self._maths.digest(), "corpus": self._data,
            }
        )  # fmt: skip

    def not_run(self, suite: Suite) -> "Mapping[str, tuple[Reason, str]]":
        """See `Environment`: no task runs in a profile without a reader."""
        if ANSWER not in self._experts.lacking():
            return {}
        from evaluator.core.records import Reason

        reason = Reason.NO_EXPERT, f"The profile {self._profile} has no expert for {ANSWER}."
        return dict.fromkeys((task.key for task in suite.tasks), reason)

    def scope(self, task: Task) -> str:
        """See `Environment`: one corpus for all tasks."""
        del task
        return ""

    def offered(self, suite: Suite) -> frozenset[str]:
        return frozenset(suite.catalogue.tools) - self._experts.lacking()

    def source(self) -> str:
        return self._data

    def facts(self) -> dict[str, JsonValue]:
        return {**self._experts.facts(), **self._retriever.facts}

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        """See `Environment`. Calls of experts run together."""
        places = [place for place, call in enumerate(calls) if call.tool == ANSWER]
        outcomes = dict(zip(places, self._experts.run([calls[place] for place in places]), strict=True))
        return [outcomes[place] if place in outcomes else self._run(call) for place, call in enumerate(calls)]

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        del transcript
        assert isinstance(task, TurnTask)
        indicators = self._score(answer=answer or "", reference=task.answer)
        return TurnScore(score=indicators["solved"], indicators=indicators, expected=task.answer)

    @cached_property
    def _corpus(self) -> Corpus:
        return Corpus(self._articles(), ranked=self._retriever.ranked)

    def _run(self, call: Call) -> Outcome:
        if call.tool == KNOWLEDGE:
            return find_article(call, corpus=self._corpus)
        if call.tool == PARAGRAPHS:
            return find_paragraphs(call, corpus=self._corpus, count=BEST)
        if call.tool == CALCULATOR:
            return self._maths.run([call])[0]
        return Refused(ActionProblem.UNKNOWN_TOOL, f"There is no tool {call.tool!r}.")


def score_words(*, answer: str, reference: str) -> Mapping[str, float]:
    """HotpotQA: exact match and F1 of words."""
    right = float(answers.exact_match(answer=answer, reference=reference))
    return {"solved": right, "f1": answers.f1(answer=answer, reference=reference)}


def score_verdict(*, answer: str, reference: str) -> Mapping[str, float]:
    """StrategyQA: yes or no; `No, I cannot say.` is neither. Like LUMOS, `as_lumos` counts every answer without the
    letters `yes` as no."""
    first = "" if refuses(answer) else answers.plain(answer).partition(" ")[0]
    verdict = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}.get(first)
    lumos = "yes" if "yes" in answer.lower() else "no"
    return {"solved": float(verdict == reference), "as_lumos": float(lumos == reference)}
