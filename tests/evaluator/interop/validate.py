"""Validates exported files with the packages of their formats, which need Python 3.12.

    python tests/evaluator/interop/validate.py FOLDER      files of `planarena export --format atif`

Files of Every Eval Ever are validated by `every_eval_ever validate FILES`.
"""

import sys
from pathlib import Path


def main(folder: Path) -> int:
    """The number of files that Harbor refuses."""
    from harbor.utils.trajectory_validator import TrajectoryValidator

    refused = 0
    for file in sorted(folder.rglob("*.json")):
        validator = TrajectoryValidator()
        if not validator.validate(file):
            refused += 1
            sys.stderr.write(f"{file}: {validator.errors}\n")
    sys.stdout.write(f"{refused} files refused\n")
    return refused


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1])), 1))
