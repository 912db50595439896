"""What importing modules for lists and for the inspection of uploads loads."""

import subprocess
import sys

import pytest

IMPORTS = {
    "evaluator.planners.strategies.registry": ("torch", "transformers"),
    "evaluator.sandbox.admission.hub_lookup": ("torch",),
    "evaluator.sandbox.admission.checkpoint_zip": ("torch", "httpx", "evaluator.core.suites"),
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
