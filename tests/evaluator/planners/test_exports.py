"""What the package exports, and what importing a module below it loads."""

import subprocess
import sys

import pytest

from evaluator import planners


def test_every_exported_name_is_found_and_another_is_refused_like_that_of_any_module():
    assert [name for name in planners.__all__ if getattr(planners, name) is None] == []
    with pytest.raises(AttributeError, match=r"'evaluator\.planners' has no attribute 'mallory'"):
        planners.mallory  # noqa: B018 - the look-up itself


IMPORTS = {
    "evaluator.planners.strategies.registry": ("torch", "transformers"),
    "evaluator.planners.language_models.admission.hub_lookup": ("torch",),
    "evaluator.planners.language_models.admission.checkpoint_inspection": ("torch", "httpx", "evaluator.suites"),
}


@pytest.mark.parametrize("module", IMPORTS)
def test_listing_strategies_and_inspecting_models_loads_no_torch_and_uploads_no_network_client(module):
    program = (
        f"import sys, {module} as module\n"
        "getattr(module, 'strategies', dict)()\n"
        f"print([name for name in {IMPORTS[module]} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
