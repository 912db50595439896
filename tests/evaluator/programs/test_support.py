"""Which layers this machine has, and what runs where they are not enough."""

import pytest

from evaluator.programs import ALLOW_UNCONFINED, Layer, Support, UnconfinedError, support
from evaluator.programs.runner import ALL_LAYERS


def test_this_machine_has_every_layer():
    assert support().layers == ALL_LAYERS
    assert support().missing == {}
    assert support().problem == ""
    support().require()


@pytest.mark.parametrize("layers", [{Layer.SECCOMP, Layer.LIMITS}, ALL_LAYERS - {Layer.LANDLOCK, Layer.NAMESPACES}])
def test_seccomp_and_limits_are_enough(layers):
    Support(frozenset(layers), {}).require()


@pytest.mark.parametrize(
    ("layers", "lacking"),
    [
        (ALL_LAYERS - {Layer.SECCOMP}, "from other processes by"),
        (ALL_LAYERS - {Layer.LIMITS}, "from more than their share of it by"),
        ({Layer.LANGUAGE}, "from files, the network, other processes, more than their share of it by"),
    ],
)
def test_programs_run_unconfined_only_if_the_operator_allows_it(layers, lacking, monkeypatch):
    monkeypatch.delenv(ALLOW_UNCONFINED, raising=False)
    found = Support(frozenset(layers), {Layer.SECCOMP: "no library"})
    with pytest.raises(UnconfinedError, match=lacking):
        found.require()
    assert found.problem in found.line()
    assert "Not available here: seccomp (no library)." in found.line()
    monkeypatch.setenv(ALLOW_UNCONFINED, "1")
    found.require()
    assert f"They run all the same, since {ALLOW_UNCONFINED}=1." in found.line()
