"""Conversations of the decomposition stage, for tuning a given language model (the paper's variant LLaMA).

Requests come from the grammar of `corpus`, with the prompts of the strategies. None is of a suite.
"""

import json
from pathlib import Path

from evaluator.controlllm.strategies.decomposing import decomposition_prompt
from evaluator.controlllm.strategies.trained.linear import written
from evaluator.controlllm.training.decomposer import distinct_pairs
from evaluator.core.tools.catalogues import CONTROLLLM

FILE = "decompositions.jsonl"


def write_conversations(*, folder: Path, count: int, seed: int) -> int:
    """Write requests with their decompositions, one a line, and return their number.

    Args:
        folder: of the file.
        count: number of requests.
        seed: seed of the corpus. Seed 1 is that of the held-out pairs of the shipped networks' cards.

    Raises:
        OSError: the file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{FILE}.partial"
    with partial.open("w", encoding="utf-8") as file:
        for number, pair in enumerate(distinct_pairs(size=count, seed=seed)):
            reading = pair.reading
            prompt = decomposition_prompt(
                text=reading.request,
                resources={name: str(slot.type) for slot, name in reading.files.items()},
                tools=tuple(CONTROLLLM.tools.values()),
            )
            messages = [{"role": message.role, "content": message.content} for message in prompt]
            messages.append({"role": "assistant", "content": written(subtasks=pair.subtasks, reading=reading)})
            file.write(json.dumps({"id": f"{seed}-{number}", "messages": messages}, ensure_ascii=False) + "\n")
    partial.replace(folder / FILE)
    return count
