"""The suites `hotpotqa` and `strategyqa`."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from evaluator.core.suites.base import Column, Conditions, Panel, Suite
from evaluator.core.suites.facets import Facet, Facets
from evaluator.core.tools.types import Catalogue, ResourceType
from evaluator.episodes.base import Setting
from evaluator.lumos.maths.suite import TOOLS as MATHS_TOOLS
from evaluator.lumos.mounted import Mounted, digest_of
from evaluator.lumos.questions.accuracy import ANSWER_ACCURACY
from evaluator.lumos.questions.environment import BEST, CALCULATOR, QuestionEnvironment, score_verdict, score_words
from evaluator.lumos.questions.source import (
    DISTRACTORS,
    EVIDENCE,
    HOTPOTQA,
    RELEASE,
    STRATEGYQA,
    Distractors,
    Question,
    QuestionFileError,
    read_distractors,
    read_evidence,
    read_questions,
)
from evaluator.lumos.retrieval.articles import Article
from evaluator.lumos.retrieval.environment import retrieval_tools
from evaluator.lumos.tasks import EPISODES, GoldTurn, TurnTask, mean, plan_of_turns, share, solved
from evaluator.scoring.rating import with_rated_column

VERSION = "1"
_TOOLS = (*retrieval_tools(paragraphs=BEST), MATHS_TOOLS[CALCULATOR])
TOOLS = Catalogue(name="lumos-questions", tools=MappingProxyType({tool.name: tool for tool in _TOOLS}))
_WORDS = (
    solved("Share of questions whose answer equals the right one (HotpotQA's exact match)."),
    mean(key="f1", label="F1", description="F1 of the words of the answer."),
    *EPISODES,
)
_VERDICTS = (
    solved("Share of questions answered with the right one of yes and no (accuracy)."),
    share(
        key="as_lumos", label="As LUMOS counts",
        description="Accuracy of LUMOS's evaluation, which takes every answer without the letters yes for no.",
    ),
    *EPISODES,
)  # fmt: skip
_KIND = Facet(name="kind", label="Type", attribute="kind", heading="Type of question", stands_alone=True)
_ANSWER = Facet(name="verdict", label="Answer", attribute="verdict", heading="Right answer", tells_gold=True)
_CORPUS = (
    "Tools search a closed corpus by BM25, not the Web: {corpus}. An operator may have ParagraphRetrieve rank by "
    "embeddings, on boards of their own. QA is the reader of the profile, not GPT-3.5, so "
    "figures are not those of LUMOS."
)
_HOTPOTQA = (
    "Exact match and F1 after HotpotQA's normalisation. "
    + _CORPUS
    + " LUMOS reports 1,000 random questions; here are all."
).format(corpus="all paragraphs of the distractor setting's development questions together")
_STRATEGYQA = (
    "Accuracy; an answer that is neither yes nor no is wrong. {share:.1%} of the right answers are no, which is what "
    "the planner majority gets. Contamination: these are the questions of StrategyQA's public training split, on some "
    "of which LUMOS and other language models were trained. "
) + _CORPUS.format(corpus="the paragraphs that the annotators used as evidence")


def hotpotqa_suite() -> Suite:
    """All 7,405 questions of the development split.

    Raises:
        LookupError: files are missing or have another form, or the rater's name is invalid.
    """
    questions = _questions(HOTPOTQA, mounted=DISTRACTORS)
    supporting = _distractors().supporting
    lacking = [question.text for question in questions if question.text not in supporting]
    if lacking:
        raise LookupError(f"{_path(DISTRACTORS)} lacks {len(lacking)} of the questions, for example {lacking[0]!r}")
    suite = _suite(
        slug="hotpotqa", title="HotpotQA", columns=_WORDS, scoring=_HOTPOTQA, facets=(_KIND,), splits=("dev",),
        description="Questions that need two articles, answered from the paragraphs of the distractor setting.",
        tasks=tuple(
            _task(number=number, question=question, supporting=supporting[question.text], facts={"kind": question.kind})
            for number, question in enumerate(questions)
        ),
    )  # fmt: skip
    return with_rated_column(suite, rated=ANSWER_ACCURACY)


def strategyqa_suite() -> Suite:
    """All 2,290 questions of the public training split, the test set of LUMOS.

    Raises:
        LookupError: files are missing or have another form.
    """
    questions = _questions(STRATEGYQA, mounted=EVIDENCE)
    negative = Counter(question.answer for question in questions)["no"] / len(questions)
    return _suite(
        slug="strategyqa", title="StrategyQA", columns=_VERDICTS, scoring=_STRATEGYQA.format(share=negative),
        facets=(_ANSWER,), splits=("train",), majority=_majority,
        description="Yes-or-no questions whose steps are implicit, answered from the annotators' paragraphs.",
        tasks=tuple(
            _task(number=number, question=question, facts={"verdict": question.answer})
            for number, question in enumerate(questions)
        ),
    )  # fmt: skip


def hotpotqa_environment(setting: Setting) -> QuestionEnvironment:
    """The environment of HotpotQA's paragraphs.

    Raises:
        LookupError: the file is missing.
    """
    DISTRACTORS.check()
    return QuestionEnvironment(
        articles=lambda: _distractors().articles, data=digest_of(_path(DISTRACTORS)), score=score_words,
        setting=setting,
    )  # fmt: skip


def strategyqa_environment(setting: Setting) -> QuestionEnvironment:
    """The environment of StrategyQA's paragraphs.

    Raises:
        LookupError: the file is missing.
    """
    EVIDENCE.check()
    return QuestionEnvironment(
        articles=_evidence, data=digest_of(_path(EVIDENCE)), score=score_verdict, setting=setting
    )


def _majority() -> dict[str, str]:
    """The benchmark's own baseline (Geva et al., 2021): always no."""
    return {"solved": "no"}


def _path(mounted: Mounted) -> Path:
    return mounted.path(mounted.files[0])


def _questions(name: str, *, mounted: Mounted) -> list[Question]:
    problem = RELEASE.problem_of(RELEASE.folder)
    if problem is not None:
        raise LookupError(f"{mounted.suite} is unavailable: {problem}")
    mounted.check()
    try:
        return read_questions(RELEASE.folder / name)
    except QuestionFileError as error:
        raise LookupError(str(error)) from error


def _distractors() -> Distractors:
    return _read_distractors(_path(DISTRACTORS), digest_of(_path(DISTRACTORS)))


@cache
def _read_distractors(path: Path, digest: str) -> Distractors:
    del digest
    try:
        return read_distractors(path)
    except QuestionFileError as error:
        raise LookupError(str(error)) from error


def _evidence() -> Sequence[Article]:
    try:
        return read_evidence(_path(EVIDENCE))
    except QuestionFileError as error:
        raise LookupError(str(error)) from error


def _task(*, number: int, question: Question, facts: Mapping[str, str], supporting: Sequence[str] = ()) -> TurnTask:
    return TurnTask(
        key=str(number), text=question.text, structure="linear", metric="solved", resources=MappingProxyType({}),
        expects=ResourceType.TEXT, gold=plan_of_turns(_gold(question.text, titles=supporting), catalogue=TOOLS),
        answer=question.answer, facts=MappingProxyType(dict(facts)),
    )  # fmt: skip


def _gold(question: str, *, titles: Sequence[str]) -> tuple[GoldTurn, ...]:
    """Finds the supporting articles and asks the reader. The evidence is right; the answer depends on the reader."""
    turns = [
        GoldTurn(f"Find the article {title}.", f"R{number} = KnowledgeQuery({_argument(title)})")
        for number, title in enumerate(titles, start=1)
    ]
    if not turns:
        return ()
    results = ", ".join(f"R{number}" for number in range(1, len(titles) + 1))
    action = f"R{len(titles) + 1} = QA([{results}], Question: {_argument(question)})"
    return *turns, GoldTurn("Answer from them.", action)


_SEPARATORS = re.compile(r"""[\[\]{}"'`;=\n]""")


def _argument(text: str) -> str:
    """A text without characters that end or split the arguments of an action."""
    text = _SEPARATORS.sub(" ", text)
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
    return text if depth == 0 else text.replace("(", " ").replace(")", " ")


def _suite(
    *, slug: str, title: str, description: str, columns: tuple[Column, ...], scoring: str, facets: tuple[Facet, ...],
    splits: tuple[str, ...], tasks: tuple[TurnTask, ...], majority: Callable[[], Mapping[str, str]] | None = None,
) -> Suite:  # fmt: skip
    names = tuple(facet.name for facet in facets)
    return Suite(
        slug=slug, version=VERSION, title=title, description=description, metrics=columns, catalogue=TOOLS,
        tasks=tasks, conditions=Conditions(experts=True, samples=False, splits=splits), panels=(Panel.TRANSCRIPT,),
        scoring=scoring, majority=majority,
        facets=Facets(filters=facets, facts=names, breakdowns=names, plots=names, comparisons=names),
    )  # fmt: skip
