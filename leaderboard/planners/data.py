"""A planner as a user enters it: the fields of all kinds, of planners that workers call, and of declared facts, which
the site cannot verify.

Declared facts are the language model, its size, and the price of a token. They are marked as declared. A later
submission may add them but not change them, since published boards show them under the planner's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from django import forms

from leaderboard.planners.models import Planner
from leaderboard.platform.fields import Field, Number, SeenBy, Text, Tick, Whole, YesNo

T = TypeVar("T")

Errors = dict[str, list[str]]
"""Error messages by field; empty: no errors."""

NAME = Text(
    "name",
    label="Name on the board",
    noun="name",
    help="Names are unique among your planners; submitting one again adds an evaluation.",
    page_help="To evaluate a planner again, reuse its name.",
    example="my-planner",
    longest=80,
    is_required=True,
    template="",
)
DESCRIPTION = Text(
    "description",
    label="Description",
    noun="description",
    help="Optional: the strategy, the language model, a link to the paper. Visible to everyone who sees the planner.",
    example="A fine-tuned model.",
    longest=4000,
    has_lines=True,
    attributes={"rows": 3},
    template="",
)
TIMEOUT = Whole(
    "timeout_seconds",
    label="Timeout in seconds",
    noun="timeout",
    help="Time limit for one response, or one try of one call of a chat endpoint: 1 to 300. A late response of a "
    "planner/1 endpoint is a planner fault; calls to a chat endpoint are retried.",
    default=30,
    example=30,
    least=1,
    most=300,
    unit="seconds",
    seen_by=SeenBy.OWNER,
    template="submissions/kinds/called.html",
)
"""Only affects planners that are called. The API accepts it for all kinds."""

COMMON: tuple[Field[Any], ...] = (NAME, DESCRIPTION, TIMEOUT)
"""The fields of every planner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerData:
    """A planner as entered, not validated. `data[FIELD]` is the value of a field."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """By name of the field; omitted fields have their defaults. Contains secrets: never log it."""

    @classmethod
    def of(cls, *, kind: str, **values: Any) -> Self:
        """A planner with these values, by names of fields."""
        return cls(kind=kind, values=values)

    def __getitem__(self, field: Field[T]) -> T:
        value: T = self.values.get(field.name, field.default)
        return value


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

CACHED_PRICE = Number(
    "cached_price",
    label="Price per million cached tokens (USD)",
    noun="price of cached tokens",
    help="US dollars for a million tokens of prompts that your service reads from its cache, if they cost less than "
    "others.",
    example=0.005,
    least=0,
    most=100_000,
    unit="US dollars for a million tokens",
    template="",
)

PRICES: tuple[Field[Any], ...] = (PROMPT_PRICE, COMPLETION_PRICE, CACHED_PRICE)
DECLARED: tuple[Field[Any], ...] = (MODEL_NAME, PARAMETERS, OPEN_WEIGHTS, *PRICES)


def without_prices(fields: dict[str, forms.Field]) -> None:
    """Remove the prices from a form, since costs need reported tokens."""
    for price in PRICES:
        del fields[price.name]


def declared_values(data: PlannerData) -> dict[str, Any]:
    """The declared values by the names of the planner's columns."""
    return {field.name: field.clean(data[field]) for field in DECLARED if field.is_given(data[field])}


def price_problems(data: PlannerData) -> Errors:
    """Errors if only one of the prices of prompts and answers is given, or that of cached tokens alone."""
    if (data[PROMPT_PRICE] is None) == (data[COMPLETION_PRICE] is None):
        if data[PROMPT_PRICE] is None and data[CACHED_PRICE] is not None:
            return {PROMPT_PRICE.name: ["Give the prices of prompt and completion tokens too: the cost needs them."]}
        return {}
    missing = PROMPT_PRICE if data[PROMPT_PRICE] is None else COMPLETION_PRICE
    return {missing.name: ["Give both prices or none: the cost needs both."]}


def differing_declarations(*, planner: Planner, data: PlannerData) -> list[str]:
    """Nouns of the facts whose declared values differ from earlier ones."""
    kept = {field: (getattr(planner, field.name), field.clean(data[field])) for field in DECLARED}
    return [field.noun for field, (before, now) in kept.items() if field.default not in (before, now) and before != now]


def declare(*, planner: Planner, data: PlannerData) -> None:
    """Store the facts that were not declared before."""
    new = {name: value for name, value in declared_values(data).items() if getattr(planner, name) in ("", None)}
    if new:
        Planner.objects.filter(pk=planner.pk).update(**new)
        for name, value in new.items():
            setattr(planner, name, value)


CALL_TEMPLATE = "submissions/kinds/called.html"
_TYPED = {"autocomplete": "off", "spellcheck": "false"}

ENDPOINT_URL = Text(
    "endpoint_url",
    label="Address of the endpoint",
    noun="address",
    help="Receives planner/1 requests, or is the base URL of a chat API, such as https://example.org/v1. Only you see "
    "this address.",
    example="https://example.org/plan",
    longest=500,
    seen_by=SeenBy.OWNER,
    widget=forms.URLInput,
    attributes={"placeholder": "https://example.org/plan"},
)

HEADER_NAME = Text(
    "header_name",
    label="Name of the header",
    noun="secret header",
    help="A header that your endpoint requires, such as Authorization or X-Api-Key.",
    page_help="Such as Authorization or X-Api-Key.",
    example="Authorization",
    seen_by=SeenBy.OWNER,
    is_kept=False,
    attributes={**_TYPED, "placeholder": "Authorization"},
    template=CALL_TEMPLATE,
)
HEADER_VALUE = Text(
    "header_value",
    label="Value of the header",
    noun="secret header",
    help="The value of the header: stored encrypted, sent to your endpoint only, and never shown again. If omitted, "
    "the one that is stored for the planner of this name is used.",
    page_help="Stored encrypted and never shown again.",
    example="Bearer " + "x" * 24,
    seen_by=SeenBy.NOBODY,
    is_kept=False,
    attributes=_TYPED,
    template=CALL_TEMPLATE,
)
REMOVE_HEADER = Tick(
    "remove_header",
    label="Remove the stored header of this planner",
    noun="secret header",
    help="Remove the stored header.",
    page_help="To replace a stored header, enter the new one above.",
    example=False,
    is_kept=False,
    template=CALL_TEMPLATE,
)

CALL: tuple[Field[Any], ...] = (
    ENDPOINT_URL,
    TIMEOUT,
    HEADER_NAME,
    HEADER_VALUE,
    REMOVE_HEADER,
)
"""What a worker needs to call a planner."""
