"""A suite in another harness, which asks the model: prompts, tools, and the scores of its messages.

A model answers a request for a whole plan with one message. In turns, each tool call is an action, and the answer is
the tool call `submit_answer`, or a message without tool calls. Scores depend on the model's messages alone, so that a
harness can score its log again.
"""

import json
import os
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import GenerateCall, Message, ToolDefinition
from evaluator.core.planner import PlannerReply, PlannerRequest, request_for
from evaluator.core.records import PlannerCall, ResultRecord
from evaluator.core.suites.base import Suite, Task
from evaluator.core.suites.registry import suite_of
from evaluator.core.turns import TurnRequest, TurnResponse
from evaluator.episodes.base import Evaluator, Setting, SettingError, episode_of
from evaluator.interop.imports.run import message_of
from evaluator.planners.agents.calls import CallRefusedError, ToolResult, response_to, result_in, task_text
from evaluator.planners.agents.desk import Nothing
from evaluator.planners.agents.evaluation import AgentEvaluation
from evaluator.planners.agents.mailbox import Mailbox, MailboxDesk
from evaluator.planners.agents.tools import NEXT_TASK, PROGRESS, SUBMIT_ANSWER, AgentTool, agent_tools
from evaluator.planners.strategies.json_plan import JsonPlan
from evaluator.planners.strategies.native_tools import Definitions, NativeTools
from evaluator.scoring.causes.of_records import CauseContext, causes_of
from evaluator.scoring.metrics.aggregate import summarise

if TYPE_CHECKING:
    from evaluator.execution.engine.store import Store

INSTRUCTIONS = (
    f"Solve the task with the tools, step by step, and call {SUBMIT_ANSWER}. Only what these tools return counts as a "
    "result."
)
MOST_REFUSED = 10
"""Calls of an episode that may be refused without costing a turn; then each counts as an empty answer."""

Calls = Sequence[tuple[str, "Mapping[str, Any] | str"]]
"""Name and arguments of each tool call of a message; arguments are an object, or its text."""
Said = tuple[str, Calls]
"""One message of a model: its text and its tool calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedOptions:
    """How a suite is evaluated."""

    suite: str
    """Its slug."""
    profile: str = "lilliput"
    """Profile of the experts."""
    split: str = ""
    """A split of the suite; empty: its first split."""
    samples: int = 0
    """Data points per task; 0: four, and one in turns."""
    device: str = "cpu"
    """Torch device of the experts."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The request for a whole plan."""

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    """Definitions of the suite's tools; empty if the plan is requested as JSON."""


@dataclass(slots=True)
class _SaidPlan:
    """A planner that answers with what the model of the harness wrote."""

    plan_said: JsonValue
    name: str = "harness"

    def plan(self, request: PlannerRequest) -> PlannerReply:
        del request
        return PlannerReply(plan=self.plan_said, call=PlannerCall(seconds=0.0))


class HostedSuite:
    """A suite in another harness. Thread-safe; experts stay loaded."""

    def __init__(self, options: HostedOptions) -> None:
        """Raises:
        LookupError: there is no such suite, or its files were not fetched.
        SettingError: the profile or the data cannot be read, or a task in turns would have several data points.
        """
        suite = suite_of(options.suite)
        self._episode = episode_of(options.suite)
        self.in_turns = self._episode.in_turns
        self.samples = options.samples or (1 if self.in_turns else 4)
        if self.in_turns and self.samples > 1:
            # A log does not say which messages belong to which episode of a task.
            raise SettingError(
                f"{options.suite} is asked in turns, where a task has one data point here, not {self.samples}"
            )
        data = Path(os.environ.get("PLANARENA_DATA", ".data"))
        self._setting = Setting(
            profile=options.profile, split=options.split or suite.conditions.splits[0], samples=self.samples,
            device=options.device, open_store=partial(_opened_store, data),
        )  # fmt: skip
        self.suite: Suite = self._setting.suite_asked(suite)
        """As planners see it."""
        self._plain = suite
        self._offered = self._episode.offered(suite=suite, profile=options.profile)
        left_out = self._episode.not_run(suite=suite, setting=self._setting)
        self.tasks: tuple[Task, ...] = tuple(task for task in self.suite.tasks if task.key not in left_out)
        """The tasks that any planner can run in this setting."""
        self._idle: list[Evaluator] = []
        self._lock = threading.Lock()

    def request(self, task: Task) -> PlannerRequest:
        """The request of a task, without its gold plan."""
        return request_for(suite=self.suite, task=task, context=self.suite.context(task=task, offered=self._offered))

    def prompt(self, task: Task, *, native: bool) -> Prompt:
        """The request for a whole plan: in the model's own tool calls if `native`, else as JSON."""
        strategy = NativeTools() if native else JsonPlan()
        (call,) = next(strategy.converse(self.request(task)))
        assert isinstance(call, GenerateCall)
        return Prompt(messages=call.messages, tools=call.tools)

    def tools(self, task: str) -> Mapping[str, AgentTool]:
        """The tools of a task's episodes in turns, by name."""
        every = agent_tools(self.request(self.suite.task(task)).tools)
        return {name: tool for name, tool in every.items() if name not in (NEXT_TASK, PROGRESS)}

    async def record_of(self, *, task: str, said: Sequence[Said]) -> ResultRecord:
        """The record of a task.

        Args:
            task: its key.
            said: the model's messages in order; of whole plans, the last is the plan.

        Raises:
            LookupError: there is no such task.
        """
        if not self.in_turns:
            return await anyio.to_thread.run_sync(partial(self.record_of_plan, task=task, said=said[-1]))
        messages = iter(said)
        async with self.opened(task) as episodes:
            while await episodes.begin() is not None:
                while episodes.is_open:
                    await episodes.take(next(messages, ("", ())))
            return episodes.record()

    def record_of_plan(self, *, task: str, said: Said) -> ResultRecord:
        """See `record_of`; of a suite of whole plans, and blocking."""
        text, calls = said
        names = Definitions.of(self.request(self.suite.task(task))).catalogue_names
        plan = message_of(text=text, calls=[(names.get(name, name), arguments) for name, arguments in calls])
        with self._evaluator() as evaluator:
            (record,) = evaluator.run(planner=_SaidPlan(plan), tasks=[task])
        return record

    @asynccontextmanager
    async def opened(self, task: str) -> AsyncIterator["HostedEpisodes"]:
        """The episodes of a task in turns, one for each sample."""
        with self._evaluator() as evaluator:
            episodes = HostedEpisodes(evaluator=evaluator, task=task, tools=self.tools(task))
            try:
                yield episodes
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(episodes.close)

    @contextmanager
    def _evaluator(self) -> Iterator[Evaluator]:
        """An evaluator for the caller alone: experts are not thread-safe."""
        with self._lock:
            evaluator = self._idle.pop() if self._idle else None
        if evaluator is None:
            evaluator = self._episode.evaluator(suite=self._plain, setting=self._setting)
        try:
            yield evaluator
        finally:
            with self._lock:
                self._idle.append(evaluator)

    def facts(self, record: ResultRecord) -> dict[str, JsonValue]:
        """What logs show of a record: the plan, why the score is below the gold plan's, and the record itself."""
        findings = causes_of(record, context=CauseContext(suite=self._plain))
        return {
            "plan": record.plan,
            "causes": [finding.to_json() for finding in findings],
            "samples": self.samples,
            "record": record.model_dump(mode="json"),
        }


@lru_cache(maxsize=8)
def hosted_suite(options: HostedOptions) -> HostedSuite:
    """The suite with these options; its experts are shared by all who ask for the same."""
    return HostedSuite(options)


def means_of(facts: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Means and 95 % intervals of the columns of a suite: `KEY`, and `KEY.low` and `KEY.high` where there are any.

    Args:
        facts: see `HostedSuite.facts`. Of several of one task, the first counts, and the others are further runs of the
            planner, as of `evaluate --runs`.
    """
    from evaluator.reliability.further_runs import scores_of_runs

    runs: list[dict[str, ResultRecord]] = []
    suite, samples = "", 1
    for each in facts:
        record = ResultRecord.model_validate(each["record"])
        suite, samples = record.suite, each["samples"]
        run = next((run for run in runs if record.task not in run), None)
        if run is None:
            run = {}
            runs.append(run)
        run[record.task] = record
    if not runs:
        return {}
    metrics = summarise(suite=suite_of(suite), results=scores_of_runs(runs), samples=samples)["metrics"]
    assert isinstance(metrics, Mapping)
    return {
        f"{key}{end}": float(value)
        for key, mean in metrics.items()
        if isinstance(mean, Mapping)
        for end, name in (("", "mean"), (".low", "low"), (".high", "high"))
        if isinstance(value := mean[name], int | float)
    }


@dataclass(slots=True)
class HostedEpisodes:
    """The episodes of one task, driven by the messages of a model. Used by one coroutine."""

    evaluator: Evaluator
    task: str
    tools: Mapping[str, AgentTool]
    _turn: TurnRequest | None = None
    _refused: int = 0
    _is_done: threading.Event = field(default_factory=threading.Event)
    _mailbox: Mailbox = field(default_factory=lambda: Mailbox(tasks=1))
    _evaluation: AgentEvaluation | None = None

    @property
    def is_open(self) -> bool:
        """Whether an episode waits for a message."""
        return self._turn is not None

    async def begin(self) -> str | None:
        """Begin the next episode. Returns the request in words; None: there is no further episode."""
        if self._evaluation is None:
            self._evaluation = AgentEvaluation(
                evaluator=self.evaluator, mailbox=self._mailbox, tasks=[self.task], run="", done=self._is_done.set
            )
            self._evaluation.start()
        desk = MailboxDesk(self._mailbox)
        while isinstance(opened := await desk.hand_out(), Nothing):
            if self._evaluation.error is not None:
                raise self._evaluation.error
            if self._is_done.is_set():
                return None
        self._turn, self._refused = opened, 0
        return task_text(opened, tools=self.tools)

    async def take(self, said: Said) -> list[ToolResult]:
        """Answer the open turn with a message. Returns the result of each tool call, or one for a text."""
        text, calls = said
        if not calls:
            return [await self._call(SUBMIT_ANSWER, {"answer": text})]
        return [await self._call(name, arguments) for name, arguments in calls]

    async def _call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolResult:
        request = self._turn
        if request is None:
            return ToolResult("The task is over: this call was not made.", is_error=True)
        try:
            response = response_to(request=request, tool=self._tool(name), arguments=_object(arguments))
        except CallRefusedError as error:
            self._refused += 1
            if self._refused <= MOST_REFUSED:
                return ToolResult(str(error), is_error=True)
            response = TurnResponse(answer="")
        desk = MailboxDesk(self._mailbox)
        await desk.answer(request=request, response=response)
        after = await desk.following(request)
        if isinstance(after, TurnRequest):
            self._turn = after
            return result_in(after)
        self._turn = None
        return ToolResult("The task is over.", is_error=after.is_error)

    def _tool(self, name: str) -> AgentTool:
        if name not in self.tools:
            raise CallRefusedError(f'There is no tool "{name[:60]}"; there are: {", ".join(self.tools)}.')
        return self.tools[name]

    def record(self) -> ResultRecord:
        """The record of the task, after its last episode."""
        assert self._evaluation is not None
        (record,) = self._evaluation.records
        return record

    def close(self) -> None:
        """End an episode that is still open, without a record."""
        if self._evaluation is not None:
            self._evaluation.stop()


def _object(arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if not isinstance(arguments, str):
        return arguments
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        raise CallRefusedError("The arguments are no JSON object.") from None
    if not isinstance(value, Mapping):
        raise CallRefusedError("The arguments are no JSON object.")
    return value


def _opened_store(data: Path) -> "Store":
    # Imported here: suites that judge plans need no store.
    from evaluator.execution.engine.opening import open_store

    return open_store(where=str(data / "store"), data=data)
