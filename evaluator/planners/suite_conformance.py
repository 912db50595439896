"""Whether a suite measures planning: gold plans are perfect, floors are not, runs repeat, no request gives gold away.

The suite's code runs in this process and in one that it starts; nothing of it is confined.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from evaluator.core import canonical_json
from evaluator.core.planner import request_for
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import ResultRecord, without_timings
from evaluator.core.suites.base import Column, Suite, Task
from evaluator.core.suites.metadata import SECTIONS, croissant, datasheet
from evaluator.core.suites.registry import entry_of
from evaluator.episodes.base import Episode, Evaluator, Setting, episode_of
from evaluator.planners.bundled import BUNDLED, bundled_planner
from evaluator.scoring.metrics.aggregate import TaskScore, counted

_LONGEST = {"slug": 50, "version": 20, "title": 100}
"""Columns of a site's tables."""
_LONGEST_OF_TASKS = {"key": 60, "structure": 20, "metric": 20}
_LEAST_LITERAL = 4
"""Shorter texts of a gold plan may be in a request's other parts by chance."""
_SECONDS = 300.0
_FRESH = (
    "import json, sys\n"
    "from evaluator.core.suites.registry import suite_of\n"
    "from evaluator.episodes.base import episode_of\n"
    "slug, profile = sys.argv[1:]\n"
    "print(json.dumps([suite_of(slug).digest, episode_of(slug).rules_digest(profile)]))\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    check: str
    holds: bool
    detail: str
    """What was found; of a check that does not hold, where, and what would be right."""


def conformance(slug: str, *, setting: Setting) -> Iterator[Finding]:
    """Check a suite. Checks are left out where one fails that they depend on.

    Args:
        slug: of a suite of the registry.
        setting: split, profile, samples and store.

    Raises:
        LookupError: there is no such suite.
    """
    suite, problem = _built(slug)
    if suite is None:
        yield Finding(check="builds", holds=False, detail=problem)
        return
    yield Finding(check="builds", holds=True, detail=f"{len(suite.tasks)} tasks, digest {suite.digest[:12]}")
    wrong = list(_wrong_shape(suite))
    yield _finding("shape", wrong, right="names, keys and columns fit a site")
    if wrong:
        return
    episode = episode_of(slug)
    try:
        differences = _new_process_differences(slug, suite=suite, episode=episode, profile=setting.profile)
        evaluator = episode.evaluator(suite=suite, setting=setting)
        left_out = episode.not_run(suite=suite, setting=setting)
        offered = episode.offered(suite=suite, profile=setting.profile)
    except Exception as error:  # noqa: BLE001 - foreign code
        yield Finding(check="can be evaluated", holds=False, detail=str(error))
        return
    yield _finding("new process", differences, right="the digests of suite and rules are those of this process")
    tasks = [task.key for task in suite.tasks if task.key not in left_out]
    invalid = _invalid_gold(suite, offered=offered, tasks=tasks)
    yield _finding("gold plans", invalid, right="none has a problem")
    leaks = _leaks(evaluator.suite, offered=offered)
    yield _finding("leakage", leaks, right="no request contains its gold plan, or texts that only the plan should have")
    yield from _metadata(suite)
    try:
        found = list(_scores(suite=suite, episode=episode, setting=setting, tasks=tasks))
    except Exception as error:  # noqa: BLE001 - foreign code
        what = "a judge and a scorer give every plan a verdict, also a wrong one"
        yield Finding(check="can be scored", holds=False, detail=f"{type(error).__name__}: {error}; {what}")
        return
    yield from found


def _scores(*, suite: Suite, episode: Episode, setting: Setting, tasks: Sequence[str]) -> Iterator[Finding]:
    """The checks that evaluate planners."""
    column = next(column for column in suite.metrics if column.primary)
    evaluator = episode.evaluator(suite=suite, setting=setting)
    gold, repeated = (_run("gold", evaluator=evaluator, tasks=tasks) for _ in range(2))
    names = [entry.name for entry in BUNDLED.values() if entry.is_floor and entry.understands(suite.slug)]
    floors = {name: _run(name, evaluator=evaluator, tasks=tasks) for name in names}
    perfect = "is executed and scored" if episode.executes else "has the best value"
    imperfect = _imperfect(gold, column=column, executes=episode.executes)
    yield _finding("gold perfect", imperfect, right=f"every gold plan {perfect}")
    outside = _out_of_range([gold, *floors.values()], columns=suite.metrics)
    yield _finding("ranges", outside, right="all values are within the ranges of their columns")
    yield _high_floors(gold=gold, floors=floors, column=column)
    differing = [
        f"task {task} has another record in a second run of its gold plan: time, order and chance must not decide"
        for task in gold
        if without_timings(gold[task]) != without_timings(repeated[task])
    ]
    yield _finding("determinism", differing, right="two runs of the gold plans have equal records")


def _run(name: str, *, evaluator: Evaluator, tasks: Sequence[str]) -> dict[str, ResultRecord]:
    planner = bundled_planner(name=name, suite=evaluator.suite)
    records = {record.task: record for record in evaluator.run(planner=planner, tasks=tasks)}
    return {task: records[task] for task in tasks}


def _high_floors(
    *, gold: dict[str, ResultRecord], floors: dict[str, dict[str, ResultRecord]], column: Column
) -> Finding:
    """Whether planners that do not plan are below the gold plans."""
    best = _mean(gold, column=column)
    means = {name: mean for name, run in floors.items() if (mean := _mean(run, column=column)) is not None}
    sign = 1 if column.higher_is_better else -1
    if best is None:
        return _finding("floors", [f"no gold plan has a value in {column.key}: the judge must give one"], right="")
    wrong = [
        f"{name} has {mean:.3f} in {column.key}, and the gold plans {best:.3f}: the score must tell them apart"
        for name, mean in means.items()
        if sign * mean >= sign * best
    ]
    listed = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    return _finding("floors", wrong, right=f"below the gold plans: {listed}")


def _finding(check: str, wrong: Sequence[str], *, right: str) -> Finding:
    if not wrong:
        return Finding(check=check, holds=True, detail=right)
    more = f" ({len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return Finding(check=check, holds=False, detail=f"{wrong[0]}{more}")


def _built(slug: str) -> tuple[Suite | None, str]:
    """The suite, built twice; or why it cannot be built."""
    build = entry_of(slug).build
    try:
        suite, other = build(), build()
    except Exception as error:  # noqa: BLE001 - foreign code
        return None, f"its function raises {type(error).__name__}: {error}"
    if not isinstance(suite, Suite):
        return None, f"its function returns {type(suite).__name__}; it must return evaluator.core.suites.base.Suite"
    if suite.slug != slug:
        return None, f"its entry is called {slug!r} and the suite {suite.slug!r}: give both the same slug"
    if suite.digest != other.digest:
        return None, "built twice, it has two digests: tasks must not depend on time, order of sets or chance"
    return suite, ""


def _wrong_shape(suite: Suite) -> Iterator[str]:
    for name, most in _LONGEST.items():
        text = str(getattr(suite, name))
        if not 1 <= len(text) <= most:
            yield f"its {name} has {len(text)} characters: give it 1 to {most}"
    if not suite.tasks:
        yield "it has no task"
    primary = [column.key for column in suite.metrics if column.primary]
    if len(primary) != 1:
        yield f"{len(primary)} columns have primary=True ({', '.join(primary) or 'none'}): boards rank by exactly one"
    for what, keys in (
        ("columns", [column.key for column in suite.metrics]),
        ("tasks", [task.key for task in suite.tasks]),
    ):
        if twice := next((key for number, key in enumerate(keys) if key in keys[:number]), None):
            yield f"two {what} are {twice[:80]!r}: they must differ"
    for task in suite.tasks:
        for name, most in _LONGEST_OF_TASKS.items():
            if not 1 <= len(str(getattr(task, name))) <= most:
                yield f"task {task.key[:80]!r}: its {name} must have 1 to {most} characters"
        if task.structure not in {"linear", "nonlinear"}:
            yield f"task {task.key!r}: its structure is {task.structure!r}; it is linear or nonlinear"


def _new_process_differences(slug: str, *, suite: Suite, episode: Episode, profile: str) -> list[str]:
    """Digests that differ in a new process with another hash seed."""
    done = subprocess.run(  # noqa: S603 - fixed program; the slug is an argument
        [sys.executable, "-c", _FRESH, slug, profile],
        capture_output=True, text=True, timeout=_SECONDS, check=False, env={**os.environ, "PYTHONHASHSEED": "12345"},
    )  # fmt: skip
    if done.returncode:
        *_, reason = done.stderr.strip().splitlines() or ["it gave no reason"]
        return [f"a new process cannot build it: {reason}"]
    here = [suite.digest, episode.rules_digest(profile)]
    return [
        f"the digest of the {what} is {mine[:12]} here and {other[:12]} in a new process: it must follow from the code "
        "alone, not from the order of sets, time or chance"
        for what, mine, other in zip(("suite", "rules"), here, json.loads(done.stdout.splitlines()[-1]), strict=True)
        if mine != other
    ]


def _invalid_gold(suite: Suite, *, offered: frozenset[str], tasks: Sequence[str]) -> list[str]:
    known = [(task, task.gold) for task in map(suite.task, tasks) if task.gold is not None]
    if not known:
        return ["no task has a gold plan: without one neither floors nor gold can be compared"]
    return [
        f"task {task.key}: {problem.message}"
        for task, gold in known
        for problem in check_plan(plan=gold, context=suite.context(task=task, offered=offered))
    ]


def _leaks(suite: Suite, *, offered: frozenset[str]) -> list[str]:
    """Requests that give their gold plan away.

    Args:
        suite: as planners see it.
        offered: names of the tools.
    """
    found = []
    for task in suite.tasks:
        if task.gold is None:
            continue
        request = request_for(suite=suite, task=task, context=suite.context(task=task, offered=offered))
        sent = request.model_dump_json()
        plain = sent.replace("\\", "")
        if any(text.replace("\\", "") in plain for text in _plan_texts(task)):
            found.append(
                f"task {task.key}: its request contains a step of its gold plan: leave it out of text and given values"
            )
            continue
        beside = canonical_json.dumps([request.task.id, request.task.given, request.task.resources]).casefold()
        for literal in _literals(task):
            if literal.casefold() in beside and literal.casefold() not in task.text.casefold():
                found.append(
                    f"task {task.key}: {literal!r} of its gold plan is in its key, resources or values, not in its text"
                )
                break
    return found


def _plan_texts(task: Task) -> list[str]:
    """The gold plan's steps in canonical form and with usual spaces."""
    assert task.gold is not None
    steps = plan_to_json(task.gold)["steps"]
    assert isinstance(steps, list)
    return [text for step in steps for text in (canonical_json.dumps(step), json.dumps(step, ensure_ascii=False))]


def _literals(task: Task) -> list[str]:
    """The texts of a gold plan that are neither inputs of the request nor results."""
    assert task.gold is not None
    made = {output for step in task.gold.steps for output in step.outputs.values()}
    texts = {str(value) for step in task.gold.steps for value in step.inputs.values()} - made
    return sorted(text for text in texts if not text.startswith("$") and len(text) >= _LEAST_LITERAL)


def _metadata(suite: Suite) -> Iterator[Finding]:
    try:
        licence = str(croissant(suite=suite)["license"])
    except (LookupError, ValueError) as error:
        needed = "write licence, published, citation, keywords and creators"
        yield Finding(check="licence", holds=False, detail=f"{error}; {needed}")
    else:
        wrong = [] if licence.startswith("https://") else [f"it is {licence!r}: give its address, https://..."]
        yield _finding("licence", wrong, right=licence)
    try:
        text = datasheet(suite)
    except LookupError as error:
        yield Finding(check="datasheet", holds=False, detail=f"{error}; write its sections: {', '.join(SECTIONS)}")
        return
    written = dict(part.partition("\n")[::2] for part in f"\n{text}".split("\n## ")[1:])
    lacking = [f'it lacks a text under "## {section}"' for section in SECTIONS if not written.get(section, "").strip()]
    yield _finding("datasheet", lacking, right=f"all {len(SECTIONS)} sections")


def _imperfect(gold: dict[str, ResultRecord], *, column: Column, executes: bool) -> list[str]:
    """Gold plans without the best value; where plans are executed, without a score."""
    wrong = []
    best = column.high if column.higher_is_better else column.low
    for record in gold.values():
        (value,) = counted(column=column, results=[TaskScore.of(record)])
        if record.score is None or record.reason is not None:
            wrong.append(f"task {record.task}: the gold plan ends as {record.outcome}: {record.reason_text}")
        elif not executes and value != best:
            why = record.explanations.get(column.key, "")
            found = "no value" if value is None else f"{value:g}"
            wrong.append(f"task {record.task}: the gold plan has {found} in {column.key}, not {best}. {why}".strip())
    return wrong


def _out_of_range(runs: Sequence[dict[str, ResultRecord]], *, columns: Sequence[Column]) -> list[str]:
    wrong = []
    for record in (record for run in runs for record in run.values()):
        if record.score is not None and not -1 <= record.score <= 1:
            wrong.append(f"task {record.task}: its score is {record.score}; scores are in [-1, 1]")
        for column in columns:
            value = record.indicators.get(column.key) if column.indicator else None
            if value is not None and not (column.low <= value and (column.high is None or value <= column.high)):
                wrong.append(
                    f"task {record.task}: its {column.key} is {value}; it is from {column.low:g} to {column.high}"
                )
    return wrong


def _mean(run: dict[str, ResultRecord], *, column: Column) -> float | None:
    values = [
        value
        for value in counted(column=column, results=[TaskScore.of(one) for one in run.values()])
        if value is not None
    ]
    return fsum(values) / len(values) if values else None
