"""`planarena mcp`: an agent on the SDK's own client, over standard input and output."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.commands.table import SUITES_VARIABLE
from evaluator.core.suites import registry
from evaluator.core.suites.registry import suite_of
from tests.evaluator.episodes.turns import toy
from tests.evaluator.planners.agents.agent import gold_solver, over_stdio, solve_toy, text_of, work


def report(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text())


def test_an_agent_solves_a_suite_and_the_trace_of_its_calls_is_its_plan(tmp_path: Path) -> None:
    file = tmp_path / "report.json"

    async def run() -> int:
        async with over_stdio("--suite", "toy-turns", "--limit", "4", "--output", str(file), data=tmp_path) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert listed == ["next_task", "submit_answer", "progress", "Add", "Repeat", "Broken"]
            return await work(client, solve=solve_toy)

    assert anyio.run(run) == 4
    result = report(file)
    assert result["version"] == "evaluation/1"
    assert result["planner"] == "agent"
    assert result["summary"]["metrics"]["right"]["mean"] == 1.0
    first = result["results"][0]
    assert [step["inputs"] for step in first["plan"]["steps"]] == [{"one": "1, 1"}]
    turns = first["transcripts"][0]["turns"]
    assert [len(turn["actions"]) for turn in turns] == [1, 1, 0]
    assert turns[0]["actions"][0]["problem"] == "bad_arguments"
    assert first["transcripts"][0]["stop"] == "answered"


def test_a_run_that_broke_off_goes_on_and_asks_no_turn_twice(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    arguments = ["--suite", "toy-turns", "--tasks", "1-2", "--run", "mine", "--output", str(file)]

    async def first() -> None:
        async with over_stdio(*arguments, data=tmp_path) as client:
            await work(client, solve=solve_toy, most=1)
            await text_of(client, "next_task")
            assert (await text_of(client, "Add", one="2", other="2"))[0].startswith("R1 = 4")

    async def second() -> None:
        async with over_stdio(*arguments, data=tmp_path) as client:
            text, _ = await text_of(client, "next_task")
            assert "Task 2 of" in text
            assert "1. R1 = Add(2, 2)\n   R1 = 4" in text
            await text_of(client, "submit_answer", answer="R1")
            assert (await text_of(client, "next_task"))[0].startswith("All 2 tasks are done.")

    anyio.run(first)
    assert [one["task"] for one in report(file)["results"]] == ["1"]
    anyio.run(second)
    assert [one["score"] for one in report(file)["results"]] == [1.0, 1.0]


def test_limits_end_a_task_with_the_result_of_its_last_call_and_wrong_calls_cost_no_turn(tmp_path: Path) -> None:
    file = tmp_path / "report.json"

    async def run() -> None:
        async with over_stdio("--suite", "toy-turns", "--limit", "2", "--output", str(file), data=tmp_path) as client:
            assert (await text_of(client, "Add", one="1", other="1")) == (
                "No task is open. Call next_task first.", True,
            )  # fmt: skip
            await text_of(client, "next_task")
            assert (await text_of(client, "Add", one="1"))[0].startswith('Add needs "other"')
            assert (await text_of(client, "Multiply", one="1"))[0].startswith('There is no tool "Multiply"')
            for _ in range(15):
                text, _ = await text_of(client, "Add", one="1", other="2")
            assert "no more" in text
            text, is_error = await text_of(client, "Add", one="1", other="2")
            assert is_error
            assert text.startswith("R16 = 3")
            assert "no further call was left" in text
            assert "What is twice 2?" in (await text_of(client, "next_task"))[0]
            await text_of(client, "submit_answer", answer="4")

    anyio.run(run)
    first, second = report(file)["results"]
    assert (len(first["transcripts"][0]["turns"]), len(second["transcripts"][0]["turns"])) == (16, 1)


def test_bad_usage_is_refused_before_the_protocol_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SUITES_VARIABLE, toy.__name__)
    monkeypatch.setenv("COLUMNS", "500")
    registry.forget()
    cases = [
        (["--suite", "toolworld"], "toolworld asks for whole plans; agents need a suite in turns"),
        (["--suite", "toy-turns", "--json"], "No such option: --json"),
        (["--suite", "toy-turns", "--split", "hidden"], "hidden"),
        (["--suite", "toy-turns", "--tasks", "77"], "has no task '77'"),
        (["--suite", "nothing"], "there is no suite 'nothing'"),
    ]
    try:
        for arguments, sentence in cases:
            done = CliRunner().invoke(app, ["mcp", *arguments])
            assert (done.exit_code, done.stdout, sentence in done.stderr) == (2, "", True), done.stderr
    finally:
        registry.forget()


@pytest.mark.full
def test_an_agent_uses_the_tools_of_every_group_of_tasks(tmp_path: Path) -> None:
    file, suite = tmp_path / "report.json", suite_of("lumos-mini")
    groups = list(dict.fromkeys(task.key.partition("/")[0] for task in suite.tasks))
    keys = ",".join(f"{group}/0" for group in groups)

    async def run() -> int:
        async with over_stdio("--suite", suite.slug, "--tasks", keys, "--output", str(file), data=tmp_path) as client:
            return await work(client, solve=gold_solver(suite))

    assert anyio.run(run) == len(groups) >= 5
    records = report(file)["results"]
    assert all(record["plan"]["steps"] for record in records)
    assert sum(record["score"] == 1.0 for record in records) >= 3
