"""What an owner declares of a planner that nobody can look into: its language model, its size, and what a token costs.

It is shown as declared, never as measured. It may be added when the planner is submitted again, but not changed: rows
of boards that are published already say it under the planner's name.
"""

import math
from typing import Any

from django import forms

from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.kinds.base import Kind
from leaderboard.planners.models import Planner

LABELS = {
    "model_name": "language model",
    "parameters": "number of parameters",
    "open_weights": "openness of the weights",
    "prompt_price": "price of prompts",
    "completion_price": "price of answers",
}
"""The fields of `PlannerData` and `Planner`, and what each is called."""
_LONGEST_NAME = 200
_MOST_PARAMETERS = 10**15
_DEAREST = 100_000.0
"""US dollars for a million tokens."""
_WEIGHTS = {"": None, "open": True, "closed": False}


def given(data: PlannerData) -> dict[str, Any]:
    """What was declared, by the names of the planner's fields."""
    values = {name: getattr(data, name) for name in LABELS}
    values["model_name"] = values["model_name"].strip()
    return {name: value for name, value in values.items() if value not in ("", None)}


def check(*, data: PlannerData, kind: Kind) -> Errors:
    """What is wrong with what was declared, by field; empty if nothing is."""
    declared = given(data)
    if not kind.declares:
        told = "{noun} needs no {label}: leave this empty."
        return {name: [told.format(noun=kind.noun, label=LABELS[name])] for name in declared}
    errors: Errors = {}
    if len(data.model_name) > _LONGEST_NAME or not data.model_name.isprintable():
        errors["model_name"] = [f"At most {_LONGEST_NAME} characters, all of which can be shown."]
    if data.parameters is not None and not 1 <= data.parameters <= _MOST_PARAMETERS:
        errors["parameters"] = [f"Give the number of parameters, 1 to {_MOST_PARAMETERS}, such as 7000000000."]
    for name in ("prompt_price", "completion_price"):
        price = getattr(data, name)
        if price is not None and not (math.isfinite(price) and 0 <= price <= _DEAREST):
            errors[name] = [f"Give US dollars for a million tokens, 0 to {_DEAREST:.0f}."]
    if not errors and (data.prompt_price is None) != (data.completion_price is None):
        missing = "prompt_price" if data.prompt_price is None else "completion_price"
        errors[missing] = ["Give both prices or none: the cost needs both."]
    return errors


def differing(*, planner: Planner, data: PlannerData) -> list[str]:
    """Labels of what was declared otherwise before."""
    return [
        LABELS[name]
        for name, value in given(data).items()
        if getattr(planner, name) not in ("", None) and getattr(planner, name) != value
    ]


def add(*, planner: Planner, data: PlannerData) -> None:
    """Note on a planner what was not declared before."""
    new = {name: value for name, value in given(data).items() if getattr(planner, name) in ("", None)}
    if new:
        Planner.objects.filter(pk=planner.pk).update(**new)
        for name, value in new.items():
            setattr(planner, name, value)


class DeclaredFields(forms.Form):
    """The fields of a form in which a planner is entered."""

    model_name = forms.CharField(
        label="Language model",
        help_text="As boards show it, such as Qwen3-8B. Leave fields empty that you do not want to declare.",
        required=False,
        max_length=_LONGEST_NAME,
    )
    parameters = forms.IntegerField(
        label="Number of parameters",
        help_text="Of the language model, such as 8000000000.",
        required=False,
        widget=forms.NumberInput(attrs={"class": "short", "min": 1}),
    )
    open_weights = forms.ChoiceField(
        label="Weights of the language model",
        choices=[("", "Not declared"), ("open", "Open: publicly available"), ("closed", "Closed")],
        required=False,
    )
    prompt_price = forms.FloatField(
        label="Price per million prompt tokens (USD)",
        help_text="With the price of completion tokens and the token counts that your endpoint reports, boards "
        "show a cost.",
        required=False,
        widget=forms.NumberInput(attrs={"class": "short", "min": 0, "step": "any"}),
    )
    completion_price = forms.FloatField(
        label="Price per million completion tokens (USD)",
        required=False,
        widget=forms.NumberInput(attrs={"class": "short", "min": 0, "step": "any"}),
    )

    def declared_entered(self, *, kind: Kind) -> dict[str, Any]:
        """What was declared, for `PlannerData`; nothing for kinds of which nothing is to be declared."""
        if not kind.declares:
            return {}
        entered = self.cleaned_data
        return {
            "model_name": entered.get("model_name") or "",
            "parameters": entered.get("parameters"),
            "open_weights": _WEIGHTS[entered.get("open_weights") or ""],
            "prompt_price": entered.get("prompt_price"),
            "completion_price": entered.get("completion_price"),
        }
