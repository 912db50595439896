"""Writes `schemas/` from the packages of Harbor and Every Eval Ever, which need Python 3.12.

python tests/evaluator/interop/make_schemas.py
"""

import json
from importlib.resources import files
from pathlib import Path

SCHEMAS = Path(__file__).parent / "schemas"


def main() -> None:
    """ATIF's schema is that of Harbor's models; Every Eval Ever ships its own (MIT)."""
    from harbor.models.trajectories import Trajectory

    SCHEMAS.mkdir(exist_ok=True)
    (SCHEMAS / "atif.schema.json").write_text(json.dumps(Trajectory.model_json_schema(), indent=1) + "\n")
    for name in ("eval", "instance_level_eval"):
        text = (files("every_eval_ever") / "schemas" / f"{name}.schema.json").read_text()
        (SCHEMAS / f"{name}.schema.json").write_text(text)


if __name__ == "__main__":
    main()
