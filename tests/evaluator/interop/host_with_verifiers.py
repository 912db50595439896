"""`vf-eval` in the Python where verifiers and PlanArena are installed: its console script may belong to another.

python tests/evaluator/interop/host_with_verifiers.py ARGUMENTS
"""

import sys
from importlib.metadata import entry_points

if __name__ == "__main__":
    (command,) = entry_points(group="console_scripts", name="vf-eval")
    sys.exit(command.load()())
