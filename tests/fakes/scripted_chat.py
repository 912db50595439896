"""A service of Chat Completions whose model is a function of the conversation: for programs that ask it themselves."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.base import Suite, Task
from tests.fakes.chat_services import JsonHandler, Server
from tests.fakes.serving import in_a_thread

Said = str | Sequence[tuple[str, Mapping[str, Any]]]
"""A text, or the name and arguments of each tool call."""
Model = Callable[[Sequence[Mapping[str, Any]]], Said]
"""What a model writes after a conversation."""


@contextmanager
def serving_chat(model: Model) -> Iterator[str]:
    """Run a service. Yields the base of its API."""

    class Handler(JsonHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_value(200, _completion(request, model(request["messages"])))

    with in_a_thread(Server(("127.0.0.1", 0), Handler)) as url:
        yield f"{url}/v1"


def _completion(request: Mapping[str, Any], said: Said) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if not isinstance(said, str):
        message["tool_calls"] = [
            {
                "id": f"c{len(request['messages'])}-{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(said)
        ]
    finish = "stop" if isinstance(said, str) else "tool_calls"
    usage = {"prompt_tokens": 90, "completion_tokens": 30, "total_tokens": 120}
    head = {"id": "c-1", "created": 1, "model": request["model"]}
    if not request.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    calls = [{**call, "index": number} for number, call in enumerate(message.get("tool_calls", ()))]
    delta = {**message, **({"tool_calls": calls} if calls else {})}
    chunk = {**head, "object": "chat.completion.chunk"}
    return [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {**chunk, "choices": [], "usage": usage},
        "[DONE]",
    ]


def gold_model(suite: Suite, *, wrong: frozenset[str] = frozenset()) -> Model:
    """A model that knows the gold plans: it writes them as JSON, or in suites in turns calls one tool after the other.

    Args:
        suite: whose requests it answers, recognised by their texts.
        wrong: keys of the tasks that it answers with prose.
    """
    by_text = {task.text: task for task in suite.tasks}

    def write(conversation: Sequence[Mapping[str, Any]]) -> Said:
        words = "\n".join(str(message["content"]) for message in conversation if message["role"] == "user")
        task = max((task for text, task in by_text.items() if text in words), key=lambda task: len(task.text))
        if task.key in wrong:
            return "I would rather not."
        if "submit_answer" not in words:
            assert task.gold is not None
            return json.dumps(plan_to_json(task.gold))
        return _next_call(task, made=sum(message["role"] == "assistant" for message in conversation))

    return write


def _next_call(task: Task, *, made: int) -> Said:
    assert task.gold is not None
    names: dict[str, str] = {}
    for number, step in enumerate(task.gold.steps, start=1):
        for output in step.outputs.values():
            names[output] = f"R{number}"
    if made == len(task.gold.steps):
        return [("submit_answer", {"answer": ", ".join(names[answer] for answer in task.gold.answers)})]
    step = task.gold.steps[made]
    tool = "".join(part if part.isalnum() or part in "_-" else "_" for part in step.tool)
    return [(tool, {name: names.get(str(value), value) for name, value in step.inputs.items()})]
