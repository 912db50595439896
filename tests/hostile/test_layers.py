"""Code in a model server whose sandbox lacks one part, by the whole way from submission to row: the rest is enough."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.hostile.checkpoints import Case, Target
from tests.hostile.checkpoints.layers import CONTROL, EVERYWHERE, NOTHING, PRODUCT, STRONGEST, UNSEEN
from tests.hostile.site import Fate
from tests.hostile.taken_over.switches import without_part

pytestmark = pytest.mark.full

_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every reader without every part."""
    if "reader" in metafunc.fixturenames:
        cases = [*STRONGEST, *PRODUCT]
        metafunc.parametrize("reader", cases, ids=[case.name.replace(" ", "-") for case in cases])


def told(fate: Fate) -> str:
    """What its owner reads of it."""
    assert fate.evaluation, fate.refused
    assert fate.state in {"completed", "failed"}, fate.reason
    assert {row["outcome"] for row in fate.rows} <= {"planner_fault"}, fate.reason
    return f"{fate.reason} {' '.join({row['reason_text'] for row in fate.rows})}"


def test_code_in_a_model_server_takes_no_secret_without_any_one_part_of_its_sandbox(
    reader: Case, fates: Mapping[str, Fate], target: Target
):
    said = told(fates[reader.name])
    assert not [text for text in secrets_of(target) if text in said]
    if reader.tries == EVERYWHERE:
        assert NOTHING in said
        part = reader.name.removeprefix("without ").partition(":")[0].partition(" by ")[0]
        assert part in UNSEEN or repr(part) in said, f"its sandbox had this part: {said}"


def secrets_of(target: Target) -> list[str]:
    """Texts that no row may hold."""
    assert target.canaries is not None
    return [*target.canaries.texts.values(), *target.wanted.values()]


@pytest.mark.parametrize("control", [CONTROL], ids=["everything"])
def test_the_same_code_takes_the_secrets_of_every_place_without_a_sandbox(
    control: Case, fates: Mapping[str, Fate], target: Target
):
    assert target.canaries is not None
    said = told(fates[control.name])
    memory_is_closed = os.geteuid() != 0 and _YAMA.exists() and _YAMA.read_text().strip() != "0"
    expected = set(target.canaries.texts) - ({"memory"} if memory_is_closed else set())
    assert {kind for kind in expected if repr(kind) not in said} == set(), said


def test_a_part_of_bubblewrap_is_switched_off_by_leaving_out_its_option():
    whole = ["bwrap", "--cap-drop", "ALL", "--unshare-all", "--proc", "/proc", "--remount-ro", "/"]
    without = without_part(whole, part="dropped capabilities")
    assert "--cap-drop" not in without
    assert "--unshare-net" in without
    assert "--unshare-net" not in without_part(whole, part="own network")
