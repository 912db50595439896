"""The suites `gsm8k` and `svamp`: word problems solved in turns with exact tools."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType

from evaluator.core.suites.base import Conditions, Panel, Suite
from evaluator.core.suites.facets import Facet, Facets
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.episodes.base import Setting
from evaluator.lumos.maths.environment import MathsEnvironment
from evaluator.lumos.maths.source import GSM8K, RELEASE, SVAMP
from evaluator.lumos.maths.tasks import MathsFileError, WordProblem, read_gsm8k, read_svamp
from evaluator.lumos.tasks import EPISODES, TurnTask, plan_of_turns, share, solved

VERSION = "1"
_DESCRIPTIONS = {
    "Calculator": ("expression", "Computes an expression exactly. R4(R5) puts R5 in place of the variable of R4."),
    "SetEquation": ("equations", "Keeps equations or inequalities, so that later actions can solve them."),
    "SolveEquation": ("equations", "Solves equations; with several outputs each gets one unknown or one solution."),
    "SolveInequality": ("inequalities", "Says which numbers satisfy inequalities in one unknown."),
    "Define": ("definition", "Keeps an expression or a function such as f(x) = 2x + 1 under a name."),
    "Count": ("list", "Counts the items of a list."),
    "Code": (
        "program",
        "Runs a short Python program without imports; its last expression is the result. R1 is a variable.",
    ),
}


TOOLS = Catalogue(name="lumos-maths", tools=MappingProxyType({
    name: Tool(
        name=name, domain="maths", description=description, inputs=MappingProxyType({argument: ResourceType.TEXT}),
        outputs=MappingProxyType({"value": ResourceType.TEXT}),
    )
    for name, (argument, description) in _DESCRIPTIONS.items()
}))  # fmt: skip
COLUMNS = (
    solved("Share of problems whose answer is the right number."),
    share(
        key="same_text", label="Same text",
        description="Share of answers that equal the right one character by character, as LUMOS's evaluation compares.",
    ),
    *EPISODES,
)  # fmt: skip
_OPERATIONS = Facet(name="operations", label="Operations", attribute="operations", heading="Number of operations",
                    unit="operation", stands_alone=True)  # fmt: skip
_KIND = Facet(name="kind", label="Type", attribute="kind", heading="Type of problem")
_SCORING = (
    "Answers are compared as numbers: 72, 72.0 and $72 are equal. Tools are local and exact, not WolframAlpha. A "
    "planner that ends without an answer has not solved the problem."
)


def environment(_: Setting) -> MathsEnvironment:
    """The tools of word problems."""
    return MathsEnvironment()


def gsm8k_suite() -> Suite:
    """All 1,319 problems of GSM8K's test split.

    Raises:
        LookupError: the files were not fetched.
    """
    return _suite(
        slug="gsm8k", title="GSM8K", read=read_gsm8k, file=GSM8K, facets=(_OPERATIONS,),
        description="Grade-school word problems of one to eight operations, solved step by step with exact tools.",
    )  # fmt: skip


def svamp_suite() -> Suite:
    """All 1,000 problems of SVAMP.

    Raises:
        LookupError: the files were not fetched.
    """
    return _suite(
        slug="svamp", title="SVAMP", read=read_svamp, file=SVAMP, facets=(_KIND, _OPERATIONS),
        description="Elementary word problems of one or two operations whose wording misleads, solved step by step.",
    )  # fmt: skip


def _suite(
    *, slug: str, title: str, description: str, file: str, read: Callable[[Path], Sequence[WordProblem]],
    facets: tuple[Facet, ...],
) -> Suite:  # fmt: skip
    problem = RELEASE.problem_of(RELEASE.folder)
    if problem is not None:
        raise LookupError(problem)
    try:
        problems = read(RELEASE.folder / file)
    except MathsFileError as error:
        raise LookupError(str(error)) from error
    names = tuple(facet.name for facet in facets)
    return Suite(
        slug=slug, version=VERSION, title=title, description=description, metrics=COLUMNS, catalogue=TOOLS,
        tasks=tuple(map(_task, problems)), conditions=Conditions(experts=False, samples=False, splits=("test",)),
        panels=(Panel.TRANSCRIPT,), scoring=_SCORING,
        facets=Facets(filters=facets, facts=names, breakdowns=names, plots=names[:1], comparisons=names[:1]),
    )  # fmt: skip


def _task(problem: WordProblem) -> TurnTask:
    facts = problem.attributes
    return TurnTask(
        key=problem.key, text=problem.text, structure="linear", metric="solved", resources=MappingProxyType({}),
        expects=ResourceType.TEXT, gold=plan_of_turns(problem.gold, catalogue=TOOLS), answer=str(problem.answer),
        facts=MappingProxyType({name: facts[name] for name in ("operations", "kind") if name in facts}),
    )  # fmt: skip
