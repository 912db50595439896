"""Code in a model server whose sandbox lacks one part, by the whole way from submission to row: the rest is enough."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.hostile.checkpoints.base import Case, Target
from tests.hostile.checkpoints.layers import CONTROL, NOTHING, OTHERWISE, STRONGEST, UNSEEN
from tests.hostile.site import Fate

pytestmark = pytest.mark.full

READERS = [*STRONGEST.items(), *OTHERWISE.items()]
_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


def told(fate: Fate) -> str:
    """What its owner reads of it."""
    assert fate.evaluation, fate.refused
    assert fate.state in {"completed", "failed"}, fate.reason
    assert {row["outcome"] for row in fate.rows} <= {"planner_fault"}, fate.reason
    return f"{fate.reason} {' '.join({row['reason_text'] for row in fate.rows})}"


@pytest.mark.parametrize(("part", "reader"), READERS, ids=lambda value: getattr(value, "name", None))
def test_code_in_a_model_server_takes_no_secret_without_any_one_part_of_its_sandbox(
    part: str, reader: Case, fates: Mapping[str, Fate], target: Target
):
    said = told(fates[reader.name])
    assert not [text for text in secrets_of(target) if text in said]
    assert NOTHING in said
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
