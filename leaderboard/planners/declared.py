"""Facts that an owner declares, since the site cannot inspect the planner: language model, size, and price of a token.

It is shown as declared, never as measured. It may be added when the planner is submitted again, but not changed: rows
of boards that are published already say it under the planner's name.
"""

from typing import Any

from django import forms

from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.fields import Field, Number, Text, Whole, YesNo
from leaderboard.planners.models import Planner

MODEL_NAME = Text(
    "model_name",
    label="Language model",
    noun="language model",
    help="The language model as boards show it, marked as declared, such as Qwen3-8B. Leave fields empty that you do "
    "not want to declare.",
    example="Qwen3-8B",
    longest=200,
    template="",
)
PARAMETERS = Whole(
    "parameters",
    label="Number of parameters",
    noun="number of parameters",
    help="Number of its parameters, such as 8000000000.",
    page_help="Of the language model, such as 8000000000.",
    example=8190735360,
    least=1,
    most=10**15,
    unit="parameters, such as 7000000000",
    template="",
)
OPEN_WEIGHTS = YesNo(
    "open_weights",
    label="Weights of the language model",
    noun="openness of the weights",
    help="Whether anybody can get the weights of the language model.",
    page_help="",
    example=True,
    yes=("open", "Open: publicly available"),
    no=("closed", "Closed"),
    template="",
)
PROMPT_PRICE = Number(
    "prompt_price",
    label="Price per million prompt tokens (USD)",
    noun="price of prompts",
    help="US dollars for a million tokens of prompts. With the price of completion tokens and the token counts "
    "that your endpoint reports, boards show a cost.",
    example=0.05,
    least=0,
    most=100_000,
    unit="US dollars for a million tokens",
    template="",
)
COMPLETION_PRICE = Number(
    "completion_price",
    label="Price per million completion tokens (USD)",
    noun="price of answers",
    help="US dollars for a million tokens of answers: give both prices or none.",
    example=0.2,
    least=0,
    most=100_000,
    unit="US dollars for a million tokens",
    template="",
)

PRICES: tuple[Field[Any], ...] = (PROMPT_PRICE, COMPLETION_PRICE)
DECLARED: tuple[Field[Any], ...] = (MODEL_NAME, PARAMETERS, OPEN_WEIGHTS, *PRICES)


def without_prices(fields: dict[str, forms.Field]) -> None:
    """Remove the prices from a form: without reported tokens they give no cost."""
    for price in PRICES:
        del fields[price.name]


def given(data: PlannerData) -> dict[str, Any]:
    """The declared values by the names of the planner's columns."""
    return {field.name: field.clean(data[field]) for field in DECLARED if field.is_given(data[field])}


def check_prices(data: PlannerData) -> Errors:
    """Errors if only one of the prices is given."""
    if (data[PROMPT_PRICE] is None) == (data[COMPLETION_PRICE] is None):
        return {}
    missing = PROMPT_PRICE if data[PROMPT_PRICE] is None else COMPLETION_PRICE
    return {missing.name: ["Give both prices or none: the cost needs both."]}


def differing(*, planner: Planner, data: PlannerData) -> list[str]:
    """Nouns of the facts whose declared values differ from earlier ones."""
    kept = {field: (getattr(planner, field.name), field.clean(data[field])) for field in DECLARED}
    return [field.noun for field, (before, now) in kept.items() if field.default not in (before, now) and before != now]


def add(*, planner: Planner, data: PlannerData) -> None:
    """Store the facts that were not declared before."""
    new = {name: value for name, value in given(data).items() if getattr(planner, name) in ("", None)}
    if new:
        Planner.objects.filter(pk=planner.pk).update(**new)
        for name, value in new.items():
            setattr(planner, name, value)
