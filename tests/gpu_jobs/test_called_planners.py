"""Leases of planners that a worker calls at an address."""

import pytest

from evaluator.core.suites.registry import suite_of
from gpu_jobs.contract import A2APlanner, EndpointPlanner
from gpu_jobs.planners import OPENERS
from tests.evaluator.planners.test_a2a import agent
from tests.evaluator.planners.test_endpoint import GOOD, REQUEST, endpoint


@pytest.mark.parametrize("kind", [EndpointPlanner, A2APlanner])
def test_a_worker_speaks_the_protocol_of_the_kind(kind):
    answer = {"message": {"parts": [{"text": "Image Denoising"}]}}
    with agent(answer) as (card, _), endpoint((200, GOOD)) as (plain, _):
        message = kind(url=card if kind is A2APlanner else plain, timeout_seconds=5.0, allow_private=True)
        with OPENERS[kind](message, suite_of(REQUEST.suite), None) as planner:
            assert planner.plan(REQUEST).plan == "Image Denoising"
