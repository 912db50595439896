"""A stranger verifies the board of a running site, and verifies it once more from the file without it."""

import json
import subprocess
import sys

import pytest

from tests.processes import ROOT, clean_environment

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]


def verify(*arguments: object, **environment: str) -> tuple[int, dict]:
    done = subprocess.run(
        [sys.executable, "-m", "evaluator.client", "verify", "--json", *map(str, arguments)],
        cwd=ROOT, env=clean_environment(**environment), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_board_is_verified_online_and_from_a_download(arena, tmp_path):
    known = {"PLANARENA_KNOWN_SITES": str(tmp_path / "known.json")}
    board, file = f"{arena.url}/boards/openagi/", tmp_path / "board.json"
    code, online = verify(board, "--sample", 10, "--download", file, **known)
    assert code == 0, online["findings"]
    assert (online["verdict"], online["sampled"]) == ("verified", 10)
    assert {one["part"] for one in online["findings"] if one["kind"] == "ok"} >= {
        "history", "snapshot", "rows", "results", "records",
    }  # fmt: skip
    code, offline = verify("--offline", file, **known)
    assert code == 0, offline["findings"]
    assert offline["snapshot"] == online["snapshot"]
