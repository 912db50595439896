"""What processes load when they start. A module that only some of their work needs is imported there."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

_SITE = (
    "import os, tests.settings; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings';import django; django.setup()"
)
_HELP = "from leaderboard.wiring.console import run\ntry:\n    run({words!r})\nexcept SystemExit:\n    pass"


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
    found = loaded("from evaluator.core.suites.registry import suite_names; suite_names()", tmp_path=tmp_path)
    assert not found & {"numpy", "PIL", "torch"}
    program = """
import evaluator.lumos.maths.tools, evaluator.controlllm.toolbench.released.video_decoding
import evaluator.planners.driving, evaluator.controlllm.strategies, evaluator.openagi.strategies
import evaluator.miniature.lilliput_samples, evaluator.cli.lilliput, evaluator.scoring.metrics.judge
from evaluator.execution.experts.profile import load_profile
from evaluator.planners.language_models.choosing import language_model
load_profile("lilliput"), load_profile("paper"), language_model("hf:org/name@main")
"""
    assert not loaded(program, tmp_path=tmp_path) & {"torch", "transformers", "sympy", "av", "scipy"}


def test_help_of_a_command_that_executes_plans_loads_nothing_that_executes_them(tmp_path: Path):
    found = loaded(_HELP.format(words=["bench", "execution", "--help"]), tmp_path=tmp_path)
    assert "evaluator.cli.bench" in found
    executing = {
        "numpy",
        "PIL",
        "evaluator.execution.engine",
        "evaluator.scoring.metrics",
        "evaluator.planners.named",
        "asyncio",
    }
    assert not found & {*executing, "torch", "django"}


ONLY_WORKERS = (
    "torch", "transformers", "tokenizers", "safetensors", "diffusers", "torchmetrics", "bert_score",
    "scipy", "peft", "datasets", "accelerate", "pandas", "matplotlib",
)  # fmt: skip

PROGRAM = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())

import django
django.setup()

import pkgutil
from importlib import import_module

import gpu_jobs.launchers.kubernetes
import gpu_jobs.launchers.local
import leaderboard
for module in pkgutil.walk_packages(leaderboard.__path__, "leaderboard."):
    if not module.name.endswith("__main__"):
        import_module(module.name)

from leaderboard.catalog.library import library
from leaderboard.planners.kinds import hub
from evaluator.sandbox.admission import checkpoint_zip, hub_lookup

made = library()
assert made.rules_digest(suite="openagi", profile="lilliput") and made.rules_digest(suite="toolmini", profile="none")
assert made.not_run_reasons(suite="openagi", profile="lilliput", split="public") is not None
assert not made.read_plans(suite="toolmini", plans={{}}).unreadable
print("site")
"""


def test_every_module_of_the_site_loads_without_the_packages_of_workers(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(names=ONLY_WORKERS)],
        capture_output=True, text=True, timeout=120,
        env=os.environ | {
            "DJANGO_SETTINGS_MODULE": "leaderboard.platform.settings", "PLANARENA_DEMO": "1",
            "PLANARENA_DATA": str(tmp_path), "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        },
    )  # fmt: skip
    assert done.stdout.splitlines() == ["site"], done.stderr


LOOKS = """
import gc, os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
import leaderboard.wiring.asgi
looks = []
gc.callbacks.append(lambda phase, info: looks.append(info["generation"]) if phase == "start" else None)
kept = [{"number": number} for number in range(400_000)]
print(looks.count(2), gc.get_freeze_count() > 50_000, gc.isenabled(), len(kept))
"""


@pytest.mark.full
def test_a_board_that_comes_into_memory_starts_no_look_through_all_of_it():
    told = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True, check=True).stdout.split()
    assert told == ["0", "True", "True", "400000"]
    assert gc.isenabled()
