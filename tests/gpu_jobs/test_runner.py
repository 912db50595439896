"""What a worker refuses before it begins."""

import pytest

from evaluator.engine.store import MemoryStore
from evaluator.planning_evaluation import judge_digest
from evaluator.suites import suite_of
from gpu_jobs.protocol import Lease
from gpu_jobs.runner import EvaluatorRunner, LeaseRefusedError
from tests.fakes.api import LEASE


def make_lease(**changes: object) -> Lease:
    suite = suite_of("toolmini")
    judged = {"suite": suite.slug, "suite_digest": suite.digest, "profile": "none", "profile_digest": judge_digest()}
    return Lease.model_validate({**LEASE, **judged, "split": "all", "tasks": ["QA/0"], **changes})


def run(lease: Lease) -> list[float | None]:
    return [record.score for record in EvaluatorRunner(store=MemoryStore(), device="cpu").run(lease)]


def test_a_suite_that_judges_plans_needs_no_profile():
    assert run(make_lease()) == [1.0]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"profile_digest": "0" * 64}, "the way of judging plans has the digest"),
        ({"suite_digest": "0" * 64}, "suite toolmini has the digest"),
        ({"suite": "unheard-of"}, "cannot run unheard-of"),
        ({"planner": {"kind": "bundled", "name": "unheard-of"}}, "no bundled planner"),
    ],
)
def test_what_differs_from_the_server_is_refused(changes, complaint):
    with pytest.raises(LeaseRefusedError, match=complaint):
        run(make_lease(**changes))
