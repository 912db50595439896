"""Prints the packages that the project depends on, for pip; their versions stand in constraints.txt."""

import sys
import tomllib
from pathlib import Path

print("\n".join(tomllib.loads(Path(sys.argv[1]).read_text())["project"]["dependencies"]))
