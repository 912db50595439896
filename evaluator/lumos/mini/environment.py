"""The tools of `lumos-mini`, its experts (a reader, and a visual question answerer), and its scores."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Call, Outcome, Refused, TurnScore
from evaluator.lumos.answering import LOOK, OF_OPENAGI, Answering, NoPictureError
from evaluator.lumos.maths.environment import MathsEnvironment
from evaluator.lumos.mini.databases import databases_for
from evaluator.lumos.mini.draws import EACH, VERSION, Source
from evaluator.lumos.mini.encyclopedia import chronicle
from evaluator.lumos.mini.groups import CLICK, MATHS, PARAGRAPHS, PICTURES, QA, SEARCH, SQL, WEB
from evaluator.lumos.mini.scenes import IMAGE, NOTICE, OTHER, given
from evaluator.lumos.mini.shop import run_click, run_search, score_purchase
from evaluator.lumos.retrieval import answers
from evaluator.lumos.retrieval.articles import Corpus
from evaluator.lumos.retrieval.dense import configured_retriever
from evaluator.lumos.retrieval.environment import ANSWER, KNOWLEDGE, find_article, find_paragraphs
from evaluator.lumos.retrieval.environment import PARAGRAPHS as PARAGRAPH_TOOL
from evaluator.lumos.sql.environment import TOOL as SQL_TOOL
from evaluator.lumos.sql.environment import SqlEnvironment
from evaluator.lumos.tasks import TurnTask
from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION

if TYPE_CHECKING:
    from PIL.Image import Image

    from evaluator.lumos.sql.running import Runner


def mini_experts(*, source: Source, setting: Setting) -> Answering:
    """The experts of the setting's profile for the tasks of a split."""
    return Answering(setting, given=_Drawn(source), experts=OF_OPENAGI)


def not_run(*, experts: Answering, suite: Suite, profile: str) -> Mapping[str, tuple[Reason, str]]:
    """The tasks whose gold plan needs an expert that the profile lacks."""
    lacking = experts.lacking()
    if not lacking:
        return {}
    reasons: dict[str, tuple[Reason, str]] = {}
    for task in suite.tasks:
        needed = sorted({step.tool for step in task.gold.steps} & lacking) if task.gold else []
        if needed:
            reasons[task.key] = (Reason.NO_EXPERT, f"The profile {profile} has no expert for {', '.join(needed)}.")
    return reasons


class _Drawn:
    """The named inputs of a split's tasks: scenes and notices."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def picture(self, *, scope: str, name: str) -> "Image":
        from PIL import Image

        from evaluator.miniature.rendering import render
        from evaluator.miniature.scenes import Scene

        scene = self._given(scope).get(name)
        if not isinstance(scene, Scene):
            names = ", ".join(image for image in (IMAGE, OTHER) if image in self._given(scope)) or "none"
            raise NoPictureError(f"There is no picture {name[:100]!r}; there are: {names}.")
        return Image.fromarray(render(scene))

    def text(self, *, scope: str, name: str) -> str | None:
        """See `Given`: the notice, if the task has one."""
        notice = self._given(scope).get(name) if name == NOTICE else None
        return notice if isinstance(notice, str) else None

    def _given(self, scope: str) -> Mapping[str, object]:
        kind, _, number = scope.partition(" ")
        return given(source=self._source, number=int(number)) if kind == "scenes" else {}


_RULES = 1
"""Version of results and scores; increase it when the same action or answer may yield a different one."""


class MiniEnvironment:
    """The tools of all five groups on one split. Not thread-safe."""

    def __init__(self, *, source: Source, setting: Setting, tasks: int = EACH) -> None:
        """Args:
        source: random source of the tasks.
        setting: profile and store of the experts.
        tasks: number of tasks of each group, which determines the number of databases.

        Raises:
            LookupError: see `configured_retriever`.
        """
        self._retriever = configured_retriever()
        self._source = source
        self._databases = databases_for(tasks)
        self._maths = MathsEnvironment(programs=False)
        self._sql = SqlEnvironment(self._open_databases, data=f"drawn/{VERSION}")
        self._experts = mini_experts(source=source, setting=setting)
        self._profile = setting.profile
        self._corpora: dict[str, Corpus] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def digest(self) -> str:
        parts = {"maths": self._maths.digest(), "sql": self._sql.digest(), "answers": answers.VERSION}
        return canonical_json.digest(
            {"environment": "mini", "rules": _RULES, "draws": VERSION, "ranking": self._retriever.identity, **parts}
        )

    def not_run(self, suite: Suite) -> "Mapping[str, tuple[Reason, str]]":
        """See `Environment`: tasks that need an expert which the profile lacks."""
        return not_run(experts=self._experts, suite=suite, profile=self._profile)

    def scope(self, task: Task) -> str:
        assert isinstance(task, TurnTask)
        return task.scope

    def offered(self, suite: Suite) -> frozenset[str]:
        return frozenset(suite.catalogue.tools) - self._experts.lacking()

    def source(self) -> str:
        """See `ExpertEnvironment`: the generators of pictures, notices, articles and items."""
        return canonical_json.digest({"draws": VERSION, "world": f"{WORLD_VERSION}/{PICTURES_VERSION}"})

    def facts(self) -> dict[str, JsonValue]:
        return {**self._experts.facts(), **self._retriever.facts}

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        """See `Environment`. Calls of experts run together."""
        places = [place for place, call in enumerate(calls) if call.tool in {LOOK, ANSWER}]
        outcomes = dict(zip(places, self._experts.run([calls[place] for place in places]), strict=True))
        return [outcomes[place] if place in outcomes else self._run(call) for place, call in enumerate(calls)]

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """See `Environment`: 1 for a solved task."""
        assert isinstance(task, TurnTask)
        if task.metric == MATHS:
            return self._maths.score(task=task, answer=answer, transcript=transcript)
        if task.metric == SQL:
            # InterCode's success, except that order counts only if the gold query has one.
            result = self._sql.score(task=task, answer=answer, transcript=transcript)
            solved = result.indicators["solved" if " ORDER BY " in task.answer else "any_order"]
            indicators = {**result.indicators, "solved": solved}
            return TurnScore(score=solved, indicators=indicators, expected=result.expected)
        if task.metric == WEB:
            return score_purchase(task=task, answer=answer, source=self._source)
        assert task.metric in {QA, PICTURES}
        right = float(answers.exact_match(answer=answer or "", reference=task.answer))
        overlap = answers.f1(answer=answer or "", reference=task.answer)
        return TurnScore(score=right, indicators={"solved": right, "f1": overlap}, expected=task.answer)

    def _run(self, call: Call) -> Outcome:
        if call.tool in {SEARCH, CLICK}:
            return (run_search if call.tool == SEARCH else run_click)(call, source=self._source)
        if call.tool == SQL_TOOL:
            return self._sql.run([call])[0]
        if call.tool not in {KNOWLEDGE, PARAGRAPH_TOOL}:
            return self._maths.run([call])[0]
        kind, _, number = call.scope.partition(" ")
        if kind != "chronicle":
            return Refused(ActionProblem.UNKNOWN_TOOL, f"{call.tool} is not offered for this task.")
        if call.scope not in self._corpora:
            articles = chronicle(source=self._source, number=int(number)).articles
            self._corpora[call.scope] = Corpus(articles, ranked=self._retriever.ranked)
        corpus = self._corpora[call.scope]
        if call.tool == KNOWLEDGE:
            return find_article(call, corpus=corpus)
        return find_paragraphs(call, corpus=corpus, count=PARAGRAPHS)

    def _open_databases(self) -> "Runner":
        from evaluator.lumos.mini.databases import database, name_of
        from evaluator.lumos.sql.databases import built
        from evaluator.lumos.sql.running import Runner

        self._folder = tempfile.TemporaryDirectory(prefix="planarena-databases-")
        drawn = {name_of(number): database(source=self._source, number=number) for number in range(self._databases)}
        return Runner(databases=built(databases=drawn, digest=self.digest(), cache=Path(self._folder.name)))
