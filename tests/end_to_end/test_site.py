"""One site with a real worker: from a submission to a row of a board, beside a hostile model and a hostile endpoint."""

import json
import secrets
import signal
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from evaluator.client.__main__ import app
from tests.end_to_end.arena import left_of
from tests.fakes.checkpoints import zipped

if TYPE_CHECKING:
    # They import PyTorch, which no module does before a test needs it.
    from tests.hostile.site import Fate, Site

pytestmark = pytest.mark.timeout(300)
SECONDS = 150.0
MISSING = "landlock"
"""The part that the sandbox of code which tries every way to read a secret lacks."""
REDIRECTING = "a redirect to this machine"


@pytest.fixture(scope="module")
def site() -> "Iterator[Site]":
    """With one worker, and nothing to evaluate."""
    from tests.hostile.site import running_site

    with running_site(is_idle=True, PLANARENA_LOCAL_WORKERS="1") as running:
        yield running


@pytest.fixture(scope="module")
def fates(site: "Site") -> "Iterator[Mapping[str, Fate]]":
    """What came of an honest planner, a model and an endpoint, which wait for one worker."""
    from tests.hostile.checkpoints import layers
    from tests.hostile.checkpoints.base import honest
    from tests.hostile.endpoints import ENDPOINTS, HEADER, TIMEOUT_SECONDS, serving

    user = site.mallory()
    reader = layers.STRONGEST[MISSING]
    redirecting = next(one for one in ENDPOINTS if one.name == REDIRECTING)
    with serving() as servers:
        endpoint = {
            "name": f"hostile-{secrets.token_hex(4)}", "kind": "endpoint", "endpoint_url": servers.url(redirecting),
            "timeout_seconds": TIMEOUT_SECONDS, "header_name": HEADER, "header_value": site.bait.header,
        }  # fmt: skip
        found = {
            "model": user.enter_checkpoint(zipped(reader.build(honest(), site.target())), name="reader"),
            "endpoint": user.enter(endpoint),
            "honest": site.mallory().enter({"name": "doubling", "kind": "bundled", "bundled_name": "gold"}),
        }
        until = time.monotonic() + SECONDS
        for fate in found.values():
            assert fate.evaluation, fate.refused
            site.finish(fate, until=until, every=0.3)
        assert servers.internal == [], "a redirect to this machine was followed"
        yield found


def test_a_submission_becomes_a_row_of_a_board_that_a_stranger_verifies(site: "Site", fates: "Mapping[str, Fate]"):
    honest = fates["honest"]
    assert (honest.state, len(honest.rows)) == ("completed", 12), honest.reason
    assert {(row["outcome"], row["score"]) for row in honest.rows} == {("scored", 1.0)}
    rows = site.arena.wait_for(lambda: site.arena.get("boards/sums/")["content"]["rows"], what="a row", seconds=10)
    first = next(row for row in rows if row["planner"] == "doubling")
    assert (first["rank"], first["metrics"]["right"]["mean"], first["evaluation"]) == (None, 1.0, honest.evaluation)


def test_a_stranger_verifies_the_board(site: "Site", fates: "Mapping[str, Fate]", tmp_path, monkeypatch):
    assert fates
    monkeypatch.setenv("PLANARENA_KNOWN_SITES", str(tmp_path / "known.json"))
    done = CliRunner().invoke(app, ["verify", "--json", f"{site.arena.url}/boards/sums/", "--sample", "12"])
    report = json.loads(done.stdout)
    assert (done.exit_code, report["verdict"]) == (0, "verified"), report["findings"]


def test_a_hostile_endpoint_costs_its_own_tasks_and_nothing_else(fates: "Mapping[str, Fate]"):
    from tests.hostile.endpoints import HOSTILE_TASKS

    fate = fates["endpoint"]
    assert fate.state == "completed", fate.reason
    outcomes = {row["task"]: row["outcome"] for row in fate.rows}
    assert len(outcomes) == 12
    assert {task for task, outcome in outcomes.items() if outcome == "planner_fault"} == HOSTILE_TASKS
    assert {outcome for task, outcome in outcomes.items() if task not in HOSTILE_TASKS} == {"scored"}


def test_code_in_a_model_server_finds_no_secret(fates: "Mapping[str, Fate]"):
    from tests.hostile.checkpoints.layers import NOTHING

    fate = fates["model"]
    said = f"{fate.reason} {' '.join({row['reason_text'] for row in fate.rows})}"
    assert fate.state in {"completed", "failed"}, said
    assert {row["outcome"] for row in fate.rows} <= {"planner_fault"}
    assert NOTHING in said
    assert repr(MISSING) in said, "its sandbox had this part"


def test_no_secret_is_in_a_row_an_artefact_or_a_log(site: "Site", fates: "Mapping[str, Fate]"):
    from tests.hostile.site import all_secrets, files_with, tables_with

    assert fates
    kept = all_secrets(site)
    # The first is no secret, and shows that the others would be found.
    assert {number for _, number in tables_with(site, ["hostile-", *kept])} == {0}
    assert files_with(site, kept) == []
    assert not [secret for secret in kept if secret in site.arena.output]


def test_stopping_it_leaves_nothing_running(site: "Site"):
    family = site.arena.family()
    assert len(family) > 5
    assert site.arena.stop(signal.SIGINT) == 0, site.arena.output
    assert left_of(family) == []
