"""Input of `submit` from files and from the environment."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.client.errors import UsageError


def plans_of_file(file: Path) -> dict[str, Any]:
    """The plans of a file as the API takes them. A defect is named here, with line and column, and nothing is sent.

    Raises:
        UsageError: the file cannot be read, or is no plans file.
    """
    # Imported here: it loads what reads plans, which no other command needs and takes longer than a command of a site.
    from evaluator.core.plans_file import PlansFileError, read_plans

    try:
        found = read_plans(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    except PlansFileError as error:
        raise UsageError(f"{file}: {error}") from None
    # Always wrapped: a plan that is an object with the key "plan" must not be taken for its wrapping.
    return {task: {"plan": one.plan, "alternatives": list(one.alternatives)} for task, one in found.plans.items()}


def header_of_options(
    *, name: str, variable: str, remove: bool = False, environment: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """The secret header that was asked for. Its value comes from a variable: what stands in a command line is seen by
    everybody on the machine, and kept in its history.

    Raises:
        UsageError: something is missing.
    """
    if remove:
        if name or variable:
            raise UsageError("--remove-header takes the kept header away: give no other one with it")
        return {"remove_header": True}
    if variable and not name:
        raise UsageError("--header-value-env needs --header NAME")
    if variable and not environment.get(variable, ""):
        raise UsageError(f"--header-value-env: the variable {variable} is not set")
    return {"header_name": name, "header_value": environment[variable] if variable else ""}
