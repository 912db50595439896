"""Options of commands with an arbiter."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from evaluator.core.commands.usage import usage_error
from evaluator.scoring.arbiters.base import KEY_VARIABLE, THRESHOLD, Arbiter, ArbiterError, ArbiterName, parse_arbiter

ArbiterOption = Annotated[
    str,
    typer.Option(
        help="Settles pairs of texts that the rules and then the shipped network leave undecided: dir:PATH or "
        "hub:OWNER/NAME@COMMIT, a cross-encoder; or chat:URL#MODEL, an OpenAI-compatible endpoint; default: none."
    ),
]
ThresholdOption = Annotated[float, typer.Option(help="Lowest probability of a cross-encoder's verdict, from 0.5 to 1.")]
KeyEnvOption = Annotated[str, typer.Option(help="Environment variable with the API key of a chat arbiter.")]
DEFAULT_THRESHOLD, DEFAULT_KEY_ENV = THRESHOLD, KEY_VARIABLE


def arbiter_named(text: str, *, threshold: float) -> ArbiterName | None:
    """The arbiter of an option; None if it is empty.

    Raises:
        typer.Exit: the name is invalid, or its folder has no weights; standard error has the reason.
    """
    if not text:
        return None
    try:
        name = parse_arbiter(text, threshold=threshold)
        name.identity()
    except ArbiterError as error:
        raise usage_error(error) from None
    return name


def key_in(variable: str) -> str:
    """The API key in an environment variable; empty if it is not set."""
    return os.environ.get(variable, "").strip()


def arbiter_opened(text: str, *, threshold: float, key_env: str) -> Arbiter | None:
    """The arbiter of an option, which caches its verdicts in the data folder; None if the option is empty.

    Raises:
        typer.Exit: as for `arbiter_named`.
    """
    from evaluator.execution.engine.opening import open_store
    from evaluator.scoring.arbiters.opening import open_arbiter

    name = arbiter_named(text, threshold=threshold)
    data = Path(os.environ.get("PLANARENA_DATA", ".data"))
    store = partial(open_store, where=str(data / "store"), data=data)
    return None if name is None else open_arbiter(name, api_key=key_in(key_env), open_store=store)
