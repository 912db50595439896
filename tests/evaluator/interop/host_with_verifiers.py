"""`vf-eval` in the Python where verifiers and PlanArena are installed: its console script may belong to another.

python tests/evaluator/interop/host_with_verifiers.py ARGUMENTS
"""

import sys
from importlib.metadata import entry_points
from pathlib import Path

# Last: PlanArena is the installed one.
sys.path.append(str(Path(__file__).resolve().parents[3]))

from tests.evaluator.interop.broken_task import break_it

if __name__ == "__main__":
    break_it()
    (command,) = entry_points(group="console_scripts", name="vf-eval")
    sys.exit(command.load()())
