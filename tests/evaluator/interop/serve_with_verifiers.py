"""An env server of verifiers, started and asked as prime-rl does: by the id of the taskset, in a spawned process.

python tests/evaluator/interop/serve_with_verifiers.py ID URL FIRST

Prints the rewards of the first tasks by key, and the metrics of the first, as JSON. prime-rl's trainer needs a GPU: its
client, which asks vLLM for tokens, is replaced by the one for services of Chat Completions.
"""

import asyncio
import json
import multiprocessing
import sys
from pathlib import Path

# Last: PlanArena is the installed one.
sys.path.append(str(Path(__file__).resolve().parents[3]))

import verifiers.v1 as vf
from verifiers.v1.configs.client import EvalClientConfig
from verifiers.v1.serve import EnvClient, env_config_data, serve_env
from verifiers.v1.utils.loaders import load_taskset, resolve_env_config


async def served(identifier: str, *, url: str, first: int) -> dict[str, object]:
    config = resolve_env_config({"taskset": {"id": identifier}})
    tasks = [task.data.model_dump(mode="json") for task in load_taskset(config.taskset).take(first)]
    spawning = multiprocessing.get_context("spawn")
    addresses = spawning.Queue()
    arguments = {"max_workers": 1, "address": "tcp://127.0.0.1:0", "address_queue": addresses}
    server = spawning.Process(target=serve_env, kwargs={**arguments, "config_data": env_config_data(config)})
    server.start()
    try:
        client = EnvClient(await asyncio.to_thread(addresses.get, timeout=300))
        asked = EvalClientConfig(base_url=url, api_key_var="OPENAI_API_KEY")
        episodes = [
            await client.run(client=asked, model="scripted", sampling=vf.SamplingConfig(), task_data=task)
            for task in tasks
        ]
    finally:
        server.terminate()
        server.join()
    traces = [trace for episode in episodes for trace in episode.traces]
    return {
        "rewards": {trace.task.data.name: trace.rewards["plan_score"].score for trace in traces},
        "metrics": traces[0].metrics,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(served(sys.argv[1], url=sys.argv[2], first=int(sys.argv[3])))))
