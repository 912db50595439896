"""Running jobs in tests, in the test's own thread and transaction."""

from leaderboard.queue.jobs import KINDS, run_next


def run_jobs():
    """Run every job that may run, as web processes would."""
    for kind in list(KINDS.values()):
        while run_next(kind):
            pass


def ended(api, answer):
    """The job of an answer with 202, after it was run."""
    assert answer.status_code == 202, answer.content
    assert answer.json()["state"] == "waiting"
    run_jobs()
    job = api.get(answer["Location"].removeprefix("/api/v1/")).json()
    assert job["state"] in {"done", "failed"}
    return job


def result_of(api, answer):
    """The result of a job that is done."""
    job = ended(api, answer)
    assert job["state"] == "done", job
    return job["result"]
