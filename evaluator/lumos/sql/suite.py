"""The suite `intercode-sql`: questions on 20 databases, answered in turns with SQL."""

from functools import cache
from types import MappingProxyType

from evaluator.core.canonical_json import digest
from evaluator.core.suites.base import Column, Conditions, IntervalMethod, Panel, Suite
from evaluator.core.suites.facets import Facet, Facets
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.lumos.columns import EPISODES, share, solved
from evaluator.lumos.gold_turns import GoldTurn
from evaluator.lumos.sql.differences import ENGINE_NOTE
from evaluator.lumos.sql.environment import TOOL, SqlEnvironment
from evaluator.lumos.sql.source import DUMP, RELEASE, TASKS
from evaluator.lumos.sql.tasks import SqlTask, TaskFileError, read_tasks
from evaluator.lumos.tasks import TurnTask, plan_of_turns

SLUG = "intercode-sql"
VERSION = "1"
_SQL = Tool(
    name=TOOL,
    domain="sql",
    description="Runs one query of MySQL on the database of the request, which nothing can change; SHOW TABLES and "
    "DESCRIBE say what it contains. An action is the statement itself: R1 = SHOW TABLES.",
    inputs=MappingProxyType({"statement": ResourceType.TEXT}),
    outputs=MappingProxyType({"rows": ResourceType.TEXT}),
)
TOOLS = Catalogue(name="lumos-sql", tools=MappingProxyType({TOOL: _SQL}))
COLUMNS = (
    solved("Share of requests whose result has the rows of the gold query in its order."),
    Column(
        key="reward", label="Reward", indicator=True, low=-1.0, interval=IntervalMethod.BOOTSTRAP,
        description="InterCode's reward: the overlap of the rows times Kendall's tau of the order of shared rows.",
    ),
    share(key="any_order", label="Any order", description="Share of results with the gold query's rows in any order."),
    *EPISODES,
)  # fmt: skip
_FACETS = (
    Facet(name="hardness", label="Hardness", attribute="hardness", heading="Hardness",
          order=("easy", "medium", "hard", "extra"), stands_alone=True),
    Facet(name="flag", label="Known defect", attribute="flags", heading="Known defect", tells_gold=True),
    Facet(name="database", label="Database", attribute="database", heading="Database", is_searched=True),
)  # fmt: skip


def intercode_suite() -> Suite:
    """All 1,034 requests of InterCode-SQL.

    Raises:
        LookupError: the files were not fetched.
    """
    _check_fetched()
    try:
        found = read_tasks(RELEASE.folder / TASKS)
    except TaskFileError as error:
        raise LookupError(str(error)) from error
    return Suite(
        slug=SLUG, version=VERSION, title="InterCode-SQL",
        description="Questions on 20 databases of Spider. The planner explores the database and writes the query.",
        metrics=COLUMNS, catalogue=TOOLS, tasks=tuple(map(_task, found)),
        conditions=Conditions(experts=False, samples=False, splits=("dev",)), panels=(Panel.TRANSCRIPT,),
        statement_tool=TOOL,
        scoring=ENGINE_NOTE.partition("\n\n")[0].replace("\n", " "),
        facets=Facets(
            filters=_FACETS, facts=("hardness", "database"), breakdowns=("hardness", "database"), plots=("hardness",),
            comparisons=("hardness",),
        ),
    )  # fmt: skip


@cache
def environment() -> SqlEnvironment:
    """The databases of the fetched files.

    Raises:
        LookupError: they were not fetched.
    """
    _check_fetched()

    def opened() -> "object":
        from evaluator.lumos.sql.databases import open_databases
        from evaluator.lumos.sql.running import Runner

        folder = RELEASE.folder
        return Runner(databases=open_databases(dump=folder / DUMP, cache=folder / "databases"))

    files = digest({file.name: file.sha256 for file in RELEASE.files})
    return SqlEnvironment(opened, data=files)  # type: ignore[arg-type]


def _check_fetched() -> None:
    problem = RELEASE.problem_of(RELEASE.folder)
    if problem is not None:
        raise LookupError(problem)


def _task(task: SqlTask) -> TurnTask:
    gold = (GoldTurn("Write the query that answers the request.", f"R1 = {task.gold}"),)
    return TurnTask(
        key=task.key, text=task.request, structure="linear", metric="solved", resources=MappingProxyType({}),
        expects=ResourceType.TEXT, gold=plan_of_turns(gold, catalogue=TOOLS, statement_tool=TOOL), answer=task.gold,
        facts=MappingProxyType(
            {"hardness": str(task.hardness), "database": task.database, "flags": [str(one) for one in task.defects]}
        ),
        scope=task.database,
    )  # fmt: skip
