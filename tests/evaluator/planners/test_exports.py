"""What the package exports, and what importing a module below it loads."""

import subprocess
import sys

import pytest

from evaluator import planners


def test_every_exported_name_is_found_and_another_is_refused_like_that_of_any_module():
    assert [name for name in planners.__all__ if getattr(planners, name) is None] == []
    with pytest.raises(AttributeError, match=r"'evaluator\.planners' has no attribute 'mallory'"):
        planners.mallory  # noqa: B018 - the look-up itself


def test_inspecting_an_upload_loads_no_network_client_and_no_suites():
    program = (
        "import sys, evaluator.planners.language_models.admission.checkpoint_inspection\n"
        "print([name for name in ('httpx', 'evaluator.suites', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
