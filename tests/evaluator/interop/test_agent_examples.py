"""Planners from outside with their locked packages: the agents of `examples/agents`, and an agent of a2a-sdk."""

import json
import os
import socket
import subprocess
import time
from contextlib import contextmanager, suppress

import pytest

from evaluator.core.planner import request_for
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.planners.a2a import endpoint_planner
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from tests.evaluator.interop.agent_models import model_of
from tests.evaluator.interop.test_real_packages import HERE, ROOT, environment_with
from tests.fakes.scripted_chat import serving_chat

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]


@contextmanager
def running(python, example, *, model):
    """An example as a server. Yields its address."""
    settings = {"MODEL": "scripted", "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": model}
    program = subprocess.Popen(
        [python, ROOT / "examples" / "agents" / f"{example}.py", "--port", "0"],
        env=os.environ | settings, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield program.stdout.readline().split()[1]
    finally:
        program.kill()
        program.communicate()


@pytest.mark.parametrize(
    ("lock", "example"),
    [
        ("openai-agents", "openai_agents"),
        ("langgraph", "langgraph_agent"),
        ("smolagents", "smolagents_agent"),
        ("dspy", "dspy_agent"),
    ],
)
def test_an_agent_of_a_framework_plans_by_calling_tools(lock, example, tmp_path):
    python = environment_with(lock, folder=tmp_path)
    suite = suite_of("toolmini")
    task = next(task for task in suite.tasks if task.gold and len(task.gold.steps) == 3)
    context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
    with serving_chat(model_of(example, suite=suite)) as model, running(python, example, model=model) as url:
        planner = EndpointPlanner(EndpointSettings(url=url, timeout_seconds=60.0, allow_private=True))
        plan = planner.plan(request_for(suite=suite, task=task, context=context)).plan
    gold = plan_to_json(task.gold)
    assert [(step["tool"], step["inputs"]) for step in plan["steps"]] == [
        (step["tool"], step["inputs"]) for step in gold["steps"]
    ]
    assert plan["answers"] == gold["answers"]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_an_agent_of_a2a_sdk_is_asked_in_both_versions_of_the_protocol(version, tmp_path):
    python = environment_with("a2a", folder=tmp_path)
    suite = suite_of("toolmini")
    task = suite.tasks[0]
    context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
    gold = plan_to_json(task.gold)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = subprocess.Popen([python, HERE / "a2a_agent.py", str(port), json.dumps(gold), version])
    try:
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        settings = EndpointSettings(
            url=f"http://127.0.0.1:{port}", timeout_seconds=60.0, allow_private=True, protocol="a2a"
        )
        planner = endpoint_planner(settings)
        assert planner.plan(request_for(suite=suite, task=task, context=context)).plan == gold
    finally:
        program.kill()
        program.wait()
