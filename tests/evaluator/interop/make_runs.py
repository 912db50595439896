"""Writes the runs of `runs/` with the packages of other harnesses, from scripted models, without a network.

    python tests/evaluator/interop/make_runs.py inspect|verifiers|harbor FOLDER

Each needs its package only (requirements/interop/*.txt). The answers are those of `ANSWERS`, on tasks of `toolmini`.
"""

import json
import sys
from pathlib import Path
from typing import Any

ANSWERS: dict[str, str | tuple[str, dict[str, str]]] = {
    "image_detection/0": json.dumps({"tool": "object_detection", "no": "plan"}),
    "image_detection/1": ("object_detection", {"image": "a.jpg"}),
    "QA/0": '[{"task": "question_answering", "args": {}}]',
}
"""The answer to each task: a text, or a tool call."""
USAGE = {"prompt": 10, "cached": 3, "completion": 5}
"""Of each answer; the prompt without what was cached."""


def make_inspect(folder: Path) -> None:
    """A log in both formats, with a second epoch and a sample that fails."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    def output(messages: Any, *_: Any) -> ModelOutput:
        answer = ANSWERS[messages[-1].text]
        made = (
            ModelOutput.from_content("mockllm/model", answer)
            if isinstance(answer, str)
            else ModelOutput.for_tool_call("mockllm/model", *answer)
        )
        made.usage = ModelUsage(
            input_tokens=USAGE["prompt"], output_tokens=USAGE["completion"], total_tokens=18,
            input_tokens_cache_read=USAGE["cached"],
        )  # fmt: skip
        return made

    samples = [Sample(id=key, input=key, target="x") for key in ANSWERS]
    task = Task(dataset=samples, solver=generate(tool_calls="none"), scorer=includes(), name="toolmini", epochs=2)
    for form in ("eval", "json"):
        (log,) = eval(task, model=get_model("mockllm/model", custom_outputs=output), log_dir=str(folder / "logs"),
                      log_format=form, display="none", temperature=0.5)  # fmt: skip
        Path(log.location).rename(folder / f"inspect.{form}")


def make_verifiers(folder: Path) -> None:
    """Traces, a line for each, of which the last rollout failed."""
    import verifiers.v1 as vf
    from verifiers.v1.trace import WireTrace

    lines = []
    for key, answer in [*ANSWERS.items(), ("QA/1", "")]:
        message: dict[str, Any] = {"role": "assistant", "content": answer if isinstance(answer, str) else None}
        if not isinstance(answer, str):
            message["tool_calls"] = [{"id": "c1", "name": answer[0], "arguments": json.dumps(answer[1])}]
        usage = {
            "prompt_tokens": USAGE["prompt"], "completion_tokens": USAGE["completion"],
            "cached_input_tokens": USAGE["cached"],
        }  # fmt: skip
        trace = WireTrace.model_validate(
            {
                "task": {"type": "ToolMiniTask", "data": {"idx": 0, "id": key, "prompt": key}, "key": key},
                "agent": {"config": {"model": "scripted"}},
                "nodes": [
                    {"message": {"role": "user", "content": key}},
                    {"parent": 0, "message": message, "sampled": True},
                ],
                "calls": [{"node": 1, "model": "scripted", "usage": usage}],
                "rewards": {"reward": {"score": 1.0}}, "is_completed": True, "ok": bool(answer),
                "errors": [] if answer else [{"type": "ProviderError", "message": "no answer"}],
            }
        )  # fmt: skip
        lines.append(trace.model_dump_json(exclude_none=True))
    assert vf
    (folder / "verifiers.jsonl").write_text("\n".join(lines) + "\n")


def make_harbor(folder: Path) -> None:
    """A job with a trial for each answer, checked by Harbor's models of trajectories."""
    from harbor.models.trajectories import Trajectory

    for number, (key, answer) in enumerate(ANSWERS.items()):
        trial = folder / "harbor" / f"trial-{number}"
        (trial / "agent").mkdir(parents=True)
        step: dict[str, Any] = {"step_id": 2, "source": "agent", "message": answer if isinstance(answer, str) else ""}
        if not isinstance(answer, str):
            step["tool_calls"] = [{"tool_call_id": "c1", "function_name": answer[0], "arguments": answer[1]}]
        trajectory = Trajectory.model_validate(
            {
                "schema_version": "ATIF-v1.7", "session_id": str(number), "agent": {"name": "scripted", "version": "1"},
                "steps": [{"step_id": 1, "source": "user", "message": key}, step],
            }
        )  # fmt: skip
        (trial / "agent" / "trajectory.json").write_text(trajectory.model_dump_json(exclude_none=True))
        result = {
            "schema_version": 1, "task_name": f"planarena/{key}", "trial_name": trial.name, "task_checksum": "0",
            "agent_info": {"name": "scripted", "version": "1", "model_info": {"name": "model", "provider": "scripted"}},
            "agent_result": {
                "n_input_tokens": USAGE["prompt"] + USAGE["cached"], "n_cache_tokens": USAGE["cached"],
                "n_output_tokens": USAGE["completion"],
            },
            "verifier_result": {"rewards": {"reward": 1}}, "started_at": "2026-11-28T00:00:00Z",
        }  # fmt: skip
        (trial / "result.json").write_text(json.dumps(result, indent=1))
    (folder / "harbor" / "result.json").write_text('{"stats": {"evals": {}}}')


if __name__ == "__main__":
    {"inspect": make_inspect, "verifiers": make_verifiers, "harbor": make_harbor}[sys.argv[1]](Path(sys.argv[2]))
