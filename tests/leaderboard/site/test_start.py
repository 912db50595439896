"""What processes load when they start. A module that only some of their work needs is imported there."""

import os
import subprocess
import sys
from pathlib import Path

_SITE = (
    "import os, tests.settings; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings';import django; django.setup()"
)
_HELP = "from leaderboard.console import run\ntry:\n    run({words!r})\nexcept SystemExit:\n    pass"


def loaded(program: str, *, tmp_path: Path) -> set[str]:
    """The modules of a new process that has run this."""
    program = f"{program}\nimport sys; print(*sys.modules, file=sys.stderr)"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


def test_the_site_starts_without_what_few_requests_need(tmp_path: Path):
    found = loaded(_SITE, tmp_path=tmp_path)
    assert {"django", "leaderboard.boards.models"} <= found
    rarely = {"torch", "transformers", "pyarrow", "boto3", "kubernetes", "markdown", "markdown_it", "scipy", "redis"}
    assert not found & {*rarely, "drf_spectacular.generators", "rest_framework.views", "allauth.socialaccount.views"}
    assert "leaderboard.wiring.urls" not in found


def test_suites_planners_and_profiles_are_known_without_the_libraries_that_run_them(tmp_path: Path):
    found = loaded("from evaluator.suites.registry import suite_names; suite_names()", tmp_path=tmp_path)
    assert not found & {"numpy", "PIL", "torch"}
    program = """
import evaluator.suites.lumos.maths.tools, evaluator.suites.toolbench.released.video_decoding
import evaluator.planners.driving, evaluator.planners.strategies.controlllm, evaluator.planners.strategies.openagi
import evaluator.world.lilliput_samples, evaluator.cli.lilliput, evaluator.metrics.judge
from evaluator.experts.profile import load_profile
from evaluator.planners.language_models.choosing import language_model
load_profile("lilliput"), load_profile("paper"), language_model("hf:org/name@main")
"""
    assert not loaded(program, tmp_path=tmp_path) & {"torch", "transformers", "sympy", "av", "scipy"}


def test_help_of_a_command_that_executes_plans_loads_nothing_that_executes_them(tmp_path: Path):
    found = loaded(_HELP.format(words=["bench", "execution", "--help"]), tmp_path=tmp_path)
    assert "evaluator.cli.bench" in found
    executing = {"numpy", "PIL", "evaluator.engine", "evaluator.metrics", "evaluator.planners.named", "asyncio"}
    assert not found & {*executing, "torch", "django"}
