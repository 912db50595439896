"""The suites as tasks of Inspect: `inspect eval planarena/SUITE`. The entry point of the group `inspect_ai`.

Samples are the tasks that run in the chosen setting, with their keys as ids. The scorer reads the assistant's messages
and nothing else, so `inspect score LOG --scorer planarena/executed` gives the same scores again.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    get_model,
)
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCallError, ToolInfo, ToolParams

import planarena
from evaluator.core import canonical_json
from evaluator.core.records import Outcome
from evaluator.core.suites.registry import paper_entries
from evaluator.interop.harnesses.hosted_suite import (
    INSTRUCTIONS,
    HostedOptions,
    HostedSuite,
    Said,
    hosted_suite,
    means_of,
)
from evaluator.interop.imports.run import IN_TURNS

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _named_planarena(function: _Function) -> _Function:
    # Inspect's names are `PACKAGE/NAME`, and its package is the first part of the module's name.
    function.__module__ = planarena.__name__
    return function


@metric(scores="unreduced")
@_named_planarena
def columns() -> Metric:
    """The columns of the suite's board: means, and the ends of their 95 % intervals. Epochs are runs."""

    def measure(scores: list[SampleScore]) -> Any:
        return means_of(each.score.metadata for each in scores if each.score.metadata)

    return measure


@scorer(metrics=[columns()])
@_named_planarena
def executed(suite: str, profile: str = "lilliput", split: str = "", samples: int = 0, device: str = "cpu") -> Scorer:
    """Reads, checks, executes or judges, and scores what the model wrote; as `planarena evaluate` does.

    Tasks that fail because of the infrastructure have no score.
    """
    options = HostedOptions(suite=suite, profile=profile, split=split, samples=samples, device=device)

    async def score(state: TaskState, target: Target) -> Score:
        del target
        hosted = hosted_suite(options)
        said = [_said(message) for message in state.messages if isinstance(message, ChatMessageAssistant)]
        record = await hosted.record_of(task=str(state.sample_id), said=said or [("", ())])
        fields: dict[str, Any] = {
            "answer": canonical_json.dumps(record.plan),
            "explanation": record.reason_text or "",
            "metadata": hosted.facts(record),
        }
        if record.outcome not in (Outcome.SCORED, Outcome.PLANNER_FAULT):
            return Score.unscored(reason=str(record.reason or record.outcome), **fields)
        return Score(value=record.score, **fields)

    return score


@solver
@_named_planarena
def asked(
    suite: str,
    profile: str = "lilliput",
    split: str = "",
    samples: int = 0,
    device: str = "cpu",
    native: bool = False,
) -> Solver:
    """Asks for a plan, or in suites in turns for one tool call after the other.

    Args:
        suite: slug of the suite.
        profile: profile of the experts.
        split: split of the suite's data; empty: its first.
        samples: data points per task; 0: four, and one in turns.
        device: torch device of the experts.
        native: whether a plan is the model's own tool calls instead of JSON.
    """
    options = HostedOptions(suite=suite, profile=profile, split=split, samples=samples, device=device)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        hosted, key = hosted_suite(options), str(state.sample_id)
        if hosted.in_turns:
            return await _in_turns(state, hosted=hosted, key=key)
        tools = [
            _tool(tool.name, tool.description, tool.parameters)
            for tool in hosted.prompt(hosted.suite.task(key), native=native).tools
        ]
        state.output = await get_model().generate(state.messages, tools=tools)
        state.messages.append(state.output.message)
        return state

    return solve


async def _in_turns(state: TaskState, *, hosted: HostedSuite, key: str) -> TaskState:
    tools = [_tool(tool.name, tool.description, tool.schema) for tool in hosted.tools(key).values()]
    state.messages = [ChatMessageSystem(content=INSTRUCTIONS)]
    async with hosted.opened(key) as episodes:
        while (request := await episodes.begin()) is not None:
            state.messages.append(ChatMessageUser(content=request))
            while episodes.is_open:
                state.output = await get_model().generate(state.messages, tools=tools)
                message = state.output.message
                state.messages.append(message)
                results = await episodes.take(_said(message))
                for call, result in zip(message.tool_calls or (), results, strict=False):
                    error = ToolCallError(type="unknown", message=result.text) if result.is_error else None
                    answer = ChatMessageTool(
                        content=result.text, tool_call_id=call.id, function=call.function, error=error
                    )
                    state.messages.append(answer)
                if not message.tool_calls and episodes.is_open:
                    state.messages.append(ChatMessageUser(content=results[0].text))
    return state


def _said(message: ChatMessageAssistant) -> Said:
    return message.text, [(call.function, call.arguments) for call in message.tool_calls or ()]


def _tool(name: str, description: str, schema: Any) -> ToolInfo:
    return ToolInfo(name=name, description=description, parameters=ToolParams.model_validate(dict(schema)))


def _message(role: str, content: str) -> ChatMessage:
    kind = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}[role]
    return kind(content=content)


def _task_of(slug: str) -> Callable[..., Task]:
    def made(
        profile: str = "lilliput",
        split: str = "",
        samples: int = 0,
        device: str = "cpu",
        native: bool = False,
    ) -> Task:
        settings: dict[str, Any] = {
            "suite": slug, "profile": profile, "split": split, "samples": samples, "device": device,
        }  # fmt: skip
        hosted = hosted_suite(HostedOptions(**settings))
        found = [
            Sample(
                id=each.asked_as or each.key,
                input=each.text
                if hosted.in_turns
                else [
                    _message(message.role, message.content) for message in hosted.prompt(each, native=native).messages
                ],
                metadata={"task": each.asked_as or each.key, "metric": each.metric, IN_TURNS: hosted.in_turns},
            )
            for each in hosted.tasks
        ]
        return Task(
            dataset=MemoryDataset(found, name=slug),
            solver=asked(**settings, native=native),
            scorer=executed(**settings),
            version=hosted.suite.digest,
            metadata={"suite": slug, "suite_digest": hosted.suite.digest},
        )

    made.__name__ = slug.replace("-", "_")
    made.__doc__ = f"The suite {slug} of PlanArena."
    registered: Callable[..., Task] = task(name=slug)(_named_planarena(made))
    return registered


TASKS = {entry.slug: _task_of(entry.slug) for module in paper_entries() for entry in module.SUITES}
"""The task of each suite by slug."""
