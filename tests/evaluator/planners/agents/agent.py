"""A small agent on the SDK's own client: it solves the toy suite, and answers other suites with what it is told to."""

import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

from evaluator.core.planner import offered_tools
from evaluator.core.suites.base import Suite
from evaluator.planners.agents.tools import agent_tools
from tests.evaluator.episodes.turns import toy

_REFERENCE = re.compile(r"\bR[0-9]+\b")
_NAMED = re.compile(r"(?:^|; )(R[0-9]+) = ", re.MULTILINE)
Solve = Callable[[Client, str], Awaitable[None]]
"""Solves a task with a client, given the text of the task, and submits the answer."""


async def text_of(client: Client, tool: str, **arguments: object) -> tuple[str, bool]:
    """The text of a tool's result, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    return "\n".join(part.text for part in result.content if part.type == "text"), result.is_error


async def solve_toy(client: Client, task: str) -> None:
    """Add the number to itself."""
    number = task.partition("What is twice ")[2].partition("?")[0]
    assert (await text_of(client, "Add", one="x", other=number))[1]
    text, is_error = await text_of(client, "Add", one=number, other=number)
    assert not is_error, text
    await text_of(client, "submit_answer", answer="R2")


async def work(client: Client, *, solve: Solve, most: int = 10_000) -> int:
    """Solve tasks until none is left, and return how many there were. A task may come again with other data."""
    seen = set[str]()
    for _ in range(most):
        text, is_error = await text_of(client, "next_task")
        assert not is_error, text
        while "is being prepared" in text:
            text, _ = await text_of(client, "next_task")
        if not text.startswith("Task "):
            break
        seen.add(text.split()[1])
        await solve(client, text)
    return len(seen)


def over_stdio(*arguments: str, data: Path) -> Client:
    """A client of `planarena mcp` with these arguments, with the toy suite registered."""
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd()), "PLANARENA_SUITES": toy.__name__,
        "PLANARENA_DATA": str(data),
    }  # fmt: skip
    command = ["-m", "evaluator", "mcp", *arguments]
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=command, env=environment)))


def gold_solver(suite: Suite) -> Solve:
    """Solves tasks by calling the tools of their gold plans."""
    names = {tool.calls.name: tool.name for tool in agent_tools(offered_tools(suite.catalogue)).values() if tool.calls}

    async def solve(client: Client, task: str) -> None:
        gold = suite.task(task.split()[1]).gold
        assert gold is not None
        results: dict[str, str] = {}
        for step in gold.steps:
            inputs = list(suite.catalogue[step.tool].inputs)
            given = list(step.inputs.values())
            # Plans in turns have all arguments of an action in one text.
            parts = given if len(given) == len(inputs) else given[0].split(", ", len(inputs) - 1)
            arguments = {name: _renamed(part, results) for name, part in zip(inputs, parts, strict=True)}
            text, is_error = await text_of(client, names[step.tool], **arguments)
            if is_error:
                break
            results |= dict(zip(step.outputs.values(), _NAMED.findall(text), strict=False))
        await text_of(client, "submit_answer", answer=results.get(gold.answers[-1], "unknown"))

    return solve


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda found: names.get(found[0], found[0]), text)
