"""Opening the planners of leases."""

import pytest

from evaluator.suites import suite_of
from gpu_jobs.contract.lease import ChatPlanner
from gpu_jobs.planners import OPENERS, LeaseRefusedError

CHAT = {"kind": "chat", "url": "https://chat.example.org/v1", "model": "m", "timeout_seconds": 3}


@pytest.mark.parametrize(
    ("strategy", "suite", "sentence"),
    [
        ("openagi/constrained", "openagi", "can only generate"),
        ("controlllm/adaptive", "openagi", "does not understand requests of openagi"),
        ("no-such-strategy", "toolmini", "no-such-strategy"),
    ],
)
def test_a_strategy_that_a_chat_endpoint_cannot_do_is_refused_before_any_task(strategy, suite, sentence):
    wanted = ChatPlanner.model_validate({**CHAT, "strategy": strategy})
    with pytest.raises(LeaseRefusedError, match=sentence), OPENERS[ChatPlanner](wanted, suite_of(suite), None):
        pass


def test_the_address_is_in_no_name():
    wanted = ChatPlanner.model_validate({**CHAT, "strategy": "hugginggpt"})
    with OPENERS[ChatPlanner](wanted, suite_of("toolmini"), None) as planner:
        assert planner.name == "hugginggpt:chat:m"
