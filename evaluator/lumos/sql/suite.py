"""The suite `intercode-sql`: questions on 20 databases, answered in turns with SQL.

`ENGINE_NOTE` describes where SQLite differs from InterCode's MySQL server.
"""

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluator.core.canonical_json import digest
from evaluator.core.suites.base import Column, Conditions, IntervalMethod, Panel, Suite
from evaluator.core.suites.facets import Facet, Facets
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.episodes.base import Setting
from evaluator.lumos.sql.environment import TOOL, SqlEnvironment
from evaluator.lumos.sql.source import DUMP, RELEASE, TASKS
from evaluator.lumos.sql.tasks import SqlTask, TaskFileError, read_tasks
from evaluator.lumos.tasks import EPISODES, GoldTurn, TurnTask, plan_of_turns, share, solved

if TYPE_CHECKING:
    from evaluator.lumos.sql.running import Runner

ENGINE_NOTE = """\
Statements are executed on SQLite, translated from MySQL. Of the 1,028 gold queries that MariaDB 10.11 executes, 967
give the same rows in the same order here, 41 the same rows in another order (37 of them without ORDER BY, 4 with ties),
and 20 depend on the engine's choice: ties at a LIMIT, or columns that the groups do not determine.

The same as in MySQL:

- Texts compare without case, accents and spaces at the end (utf8mb4_general_ci); LIKE ignores the case of ASCII
  letters.
- `/` gives a real number, and NULL for a division by zero.
- A text compared with a number counts as the number that it begins with; a text compared with a date counts as a date.
- ROUND rounds halves away from zero; functions of dates and texts have MySQL's meaning.

Different from MySQL:

- AVG, SUM of reals and `/` give double precision, not decimals of 4 digits; DECIMAL and FLOAT columns hold doubles.
- SUM and COUNT give integers of the same type, so `SUM(1)` equals `COUNT(*)`; in InterCode they differ.
- Columns that the groups do not determine are allowed; MySQL's default refuses them. So are derived tables without a
  name, the table `show`, `COUNT (*)`, and aliases in WHERE.
- Rows without ORDER BY, and ties of ORDER BY, come in SQLite's order.
- LIKE distinguishes accented letters from plain ones. Texts that functions compute compare by code points in GROUP BY,
  DISTINCT and ORDER BY.
- The time is fixed at 2023-04-28 07:04:13, and RAND gives the same numbers each time.
- Not available: statements that change anything, SET and variables, USE and other databases, information_schema,
  REGEXP, JSON, ROLLUP, full-text search, shifts of bits, column lists of derived tables, window functions of STDDEV and
  GROUP_CONCAT.
"""


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
        tasks = read_tasks(RELEASE.folder / TASKS)
    except TaskFileError as error:
        raise LookupError(str(error)) from error
    return Suite(
        slug=SLUG, version=VERSION, title="InterCode-SQL",
        description="Questions on 20 databases of Spider. The planner explores the database and writes the query.",
        metrics=COLUMNS, catalogue=TOOLS, tasks=tuple(map(_task, tasks)),
        conditions=Conditions(experts=False, samples=False, splits=("dev",)), panels=(Panel.TRANSCRIPT,),
        statement_tool=TOOL,
        scoring=ENGINE_NOTE.partition("\n\n")[0].replace("\n", " "),
        facets=Facets(
            filters=_FACETS, facts=("hardness", "database"), breakdowns=("hardness", "database"), plots=("hardness",),
            comparisons=("hardness",),
        ),
    )  # fmt: skip


@cache
def environment(_: Setting) -> SqlEnvironment:
    """The environment of the fetched databases.

    Raises:
        LookupError: the files were not fetched.
    """
    _check_fetched()

    def open_runner() -> "Runner":
        from evaluator.lumos.sql.databases import open_databases
        from evaluator.lumos.sql.running import Runner

        folder = RELEASE.folder
        return Runner(databases=open_databases(dump=folder / DUMP, cache=folder / "databases"))

    return SqlEnvironment(open_runner, data=digest({file.name: file.sha256 for file in RELEASE.files}))


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
            {"hardness": str(task.hardness), "database": task.database, "flags": list(map(str, task.defects))}
        ),
        scope=task.database,
    )  # fmt: skip
