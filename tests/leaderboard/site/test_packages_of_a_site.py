"""The site runs with the packages of its own extra: no torch, and nothing else that only workers install."""

import os
import subprocess
import sys

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
from evaluator.planners.language_models.admission import checkpoint_inspection, hub_lookup

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
            "DJANGO_SETTINGS_MODULE": "leaderboard.site.settings", "PLANARENA_DEMO": "1",
            "PLANARENA_DATA": str(tmp_path), "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        },
    )  # fmt: skip
    assert done.stdout.splitlines() == ["site"], done.stderr
