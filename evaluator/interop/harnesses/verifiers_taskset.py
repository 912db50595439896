"""The suites as tasksets of verifiers, with a harness of the same name that asks the model in-process.

    planarena suites verifiers FOLDER && pip install FOLDER
    vf-eval planarena-SUITE --model M
    vf-eval planarena --env.taskset.suite SUITE --model M

verifiers takes an id for the name of a module: the folder has one for each suite, which calls `taskset_of`.

The harness writes no program into a runtime: its calls of the model go to the interception server of the rollout, and
tools of suites in turns run here. Scores depend on the trace's messages, so `vf-replay` gives them again.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import httpx
import verifiers.v1 as vf

from evaluator.core.records import Outcome, ResultRecord
from evaluator.interop.harnesses.hosted_suite import INSTRUCTIONS, HostedOptions, HostedSuite, Said, hosted_suite

_INFO = "planarena"
"""Where `info` of a trace has the plan, the causes and the record."""


class PlanArenaConfig(vf.TasksetConfig):
    """`--env.taskset.*`"""

    suite: str = ""
    """Slug of the suite."""
    profile: str = "lilliput"
    """Profile of the experts."""
    split: str = ""
    """Split of the suite's data; empty: its first."""
    samples: int = 0
    """Data points per task; 0: four, and one in turns."""
    native: bool = False
    """Whether a plan is the model's own tool calls instead of JSON."""


class PlanData(vf.TaskData):
    """A task of a suite, and how it is scored."""

    suite: str
    profile: str
    split: str
    samples: int
    native: bool
    in_turns: bool
    """So that `planarena import` does not take the last message for a plan."""

    def hosted(self) -> HostedSuite:
        """The suite, whose experts stay loaded."""
        return hosted_suite(
            HostedOptions(suite=self.suite, profile=self.profile, split=self.split, samples=self.samples)
        )


class PlanTask(vf.Task[PlanData]):
    """Scores what the model wrote, as `planarena evaluate` does."""

    @property
    def key(self) -> str:
        return str(self.data.id)

    @vf.metric
    async def columns(self, trace: vf.Trace) -> Mapping[str, float]:
        """The values of the suite's columns for this task."""
        hosted: HostedSuite = self.data.hosted()
        said = [_said(message) for message in trace.assistant_messages]
        record = await hosted.record_of(task=str(self.data.id), said=said or [("", ())])
        trace.info[_INFO] = hosted.facts(record)
        return record.indicators

    @vf.reward
    async def plan_score(self, trace: vf.Trace) -> float:
        """The score in [0, 1]. The reward is null if the infrastructure failed."""
        record = ResultRecord.model_validate(trace.info[_INFO]["record"])
        if record.outcome not in (Outcome.SCORED, Outcome.PLANNER_FAULT) or record.score is None:
            raise RuntimeError(f"The task has no score: {record.reason_text or record.outcome}")
        return record.score


class PlanArenaTaskset(vf.Taskset[PlanTask, PlanArenaConfig]):
    """The tasks of a suite that run in the chosen setting."""

    SUITE: ClassVar[str] = ""
    """Slug of the only suite of this taskset; empty: the option says which."""

    def load(self) -> Iterable[PlanTask]:
        config = self.config
        suite = config.suite or self.SUITE
        if not suite:
            raise ValueError("--env.taskset.suite SUITE says which suite; `planarena suites list` lists them")
        if self.SUITE not in ("", suite):
            raise ValueError(f"{config.id} is the suite {self.SUITE}: leave out --env.taskset.suite {suite}")
        facts = config.model_dump(include={"profile", "split", "samples", "native"}) | {"suite": suite}
        hosted = hosted_suite(HostedOptions(**{name: value for name, value in facts.items() if name != "native"}))
        for task in hosted.tasks:
            asked: dict[str, str] = {"user": task.text}
            if not hosted.in_turns:
                prompt = hosted.prompt(task, native=config.native)
                asked = {message.role: message.content for message in prompt.messages}
            data = PlanData(
                id=task.asked_as or task.key,
                name=task.key,
                prompt=asked["user"],
                system_prompt=asked.get("system"),
                in_turns=hosted.in_turns,
                **facts,
            )
            yield PlanTask(data, config.task)


def taskset_of(suite: str) -> type[PlanArenaTaskset]:
    """The taskset of one suite, for a module of its own."""
    return type("PlanArenaTaskset", (PlanArenaTaskset,), {"SUITE": suite})


class PlanArenaEnvConfig(vf.SingleAgentEnvConfig):
    """`--env.*`: no container, since no program of a stranger runs."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class PlanArenaEnv(vf.Env[PlanArenaEnvConfig]):
    """One agent, on this machine."""

    async def run(self, task: vf.Task[Any], agents: Any) -> None:
        await agents.agent.run(task)


class PlanArenaHarnessConfig(vf.HarnessConfig):
    """`--env.agent.harness.*`"""


class PlanArenaHarness(vf.Harness[PlanArenaHarnessConfig]):
    """Asks for a plan once, or in suites in turns for tool calls until the task is over."""

    APPENDS_SYSTEM_PROMPT: ClassVar[bool] = True
    EXECUTES_CODE: ClassVar[bool] = False
    NEEDS_CONTAINER: ClassVar[bool] = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
        tool_interception_url: str | None = None,
    ) -> vf.ProgramResult:
        del runtime, mcp_urls, tool_interception_url
        task = PlanData.model_validate(trace.task.data.model_dump())
        hosted, key = task.hosted(), str(task.id)
        # The rollout has its own limits, and the server behind the endpoint its own patience.
        forever = httpx.Timeout(None)
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=forever) as client:
            model = _Model(client=client, url=f"{endpoint.rstrip('/')}/chat/completions", name=ctx.model)
            if hosted.in_turns:
                await _in_turns(model, hosted=hosted, key=key)
            else:
                system, user = self.resolve_text_prompt(data)
                tools = hosted.prompt(hosted.suite.task(key), native=task.native).tools
                model.say("system", system or "")
                model.say("user", user or "")
                await model.answer([_tool(tool.name, tool.description, tool.parameters) for tool in tools])
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


class _Model:
    """A conversation with the model of a rollout."""

    def __init__(self, *, client: httpx.AsyncClient, url: str, name: str) -> None:
        self._client, self._url, self._name = client, url, name
        self._messages: list[dict[str, Any]] = []

    def say(self, role: str, content: str, **fields: str) -> None:
        self._messages.append({"role": role, "content": content, **fields})

    async def answer(self, tools: list[dict[str, Any]]) -> dict[str, Any]:
        body = {"model": self._name, "messages": self._messages, **({"tools": tools} if tools else {})}
        response = await self._client.post(self._url, json=body)
        response.raise_for_status()
        message: dict[str, Any] = response.json()["choices"][0]["message"]
        self._messages.append(message)
        return message


async def _in_turns(model: _Model, *, hosted: HostedSuite, key: str) -> None:
    tools = [_tool(tool.name, tool.description, tool.schema) for tool in hosted.tools(key).values()]
    model.say("system", INSTRUCTIONS)
    async with hosted.opened(key) as episodes:
        while (request := await episodes.begin()) is not None:
            model.say("user", request)
            while episodes.is_open:
                message = await model.answer(tools)
                calls = message.get("tool_calls") or []
                said = [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
                results = await episodes.take((message.get("content") or "", said))
                for call, result in zip(calls, results, strict=False):
                    model.say("tool", result.text, tool_call_id=call["id"])
                if not calls and episodes.is_open:
                    model.say("user", results[0].text)


def _said(message: vf.AssistantMessage) -> Said:
    text = message.content if isinstance(message.content, str) else ""
    return text, [(call.name, call.arguments) for call in message.tool_calls or ()]


def _tool(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function", "function": {"name": name, "description": description, "parameters": dict(schema)},
    }  # fmt: skip
