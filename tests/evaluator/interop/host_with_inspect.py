"""Runs a suite in Inspect with a scripted model, and scores the log again; prints a JSON line.

Inspect and PlanArena are installed in its Python.

    python tests/evaluator/interop/host_with_inspect.py SUITE FOLDER LIMIT WRONG [NAME=VALUE ...]

WRONG lists keys of tasks, separated by commas, that the model answers with prose.
"""

import json
import sys
from pathlib import Path
from typing import Any

# Last: PlanArena is the installed one.
sys.path.append(str(Path(__file__).resolve().parents[3]))

from inspect_ai import eval, score
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall

from evaluator.core.suites.registry import suite_of
from evaluator.interop.harnesses.inspect_tasks import executed
from tests.evaluator.interop.broken_task import break_it
from tests.fakes.scripted_chat import gold_model


def main(slug: str, folder: str, limit: str, wrong: str, *options: str) -> None:
    model = gold_model(suite_of(slug), wrong=frozenset(wrong.split(",")))

    def write(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        said = model([{"role": message.role, "content": message.text} for message in messages])
        made = ModelOutput.from_content("mockllm/model", said if isinstance(said, str) else "")
        if not isinstance(said, str):
            made.choices[0].message.tool_calls = [
                ToolCall(id=f"c{len(messages)}-{number}", function=name, arguments=dict(arguments))
                for number, (name, arguments) in enumerate(said)
            ]
        made.usage = ModelUsage(input_tokens=90, output_tokens=30, total_tokens=120)
        return made

    settings = dict(option.split("=") for option in options)
    arguments = {name: int(value) if value.isdigit() else value for name, value in settings.items()}
    (log,) = eval(
        f"planarena/{slug}", model=get_model("mockllm/model", custom_outputs=write), limit=int(limit),
        task_args=arguments, log_dir=folder, log_format="json", display="none",
    )  # fmt: skip
    again = score(read_eval_log(log.location), scorers=executed(suite=slug, **arguments), action="overwrite")
    print(
        json.dumps({"log": log.location, "again": {each.id: each.scores["executed"].value for each in again.samples}})
    )


if __name__ == "__main__":
    break_it()
    main(*sys.argv[1:])
