"""Forms of the sealed pool: one entry, an upload, and a reviewer's goal."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.forms.fields import InvalidJSONInput

from evaluator.core.suites.sealed import LONGEST_TEXT, GoalField
from leaderboard.catalog.models import SealedEntry
from leaderboard.catalog.sealed.pool import MOST_ERRORS, LineError, library_suite, pool_suites

_ROWS = 6


def example_line() -> str:
    """A line of an upload, of the first suite with a pool; empty if there is none."""
    for suite in pool_suites():
        form = library_suite(suite).sealed_form
        if form is not None:
            line = {"text": form.example.text, "goal": json.loads(form.example.goal)}
            return json.dumps({**line, "origin": "person", "credit": "A. Writer", "licence": "CC0-1.0"})
    return ""


class _SuiteForm(forms.Form):
    suite = forms.ChoiceField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["suite"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(slug, slug) for slug in pool_suites()]

    def add_line_errors(self, errors: Iterable[LineError], *, numbered: bool) -> None:
        """Show the first errors above the form."""
        errors = list(errors)
        for error in errors[:MOST_ERRORS]:
            self.add_error(None, f"Line {error.line}: {error.problem}" if numbered else error.problem)
        if (more := len(errors) - MOST_ERRORS) > 0:
            self.add_error(None, f"{more} more lines are invalid.")


class EntryForm(_SuiteForm):
    """One entry."""

    text = forms.CharField(
        max_length=LONGEST_TEXT,
        strip=True,
        widget=forms.Textarea(attrs={"rows": _ROWS}),
        help_text="With a slot such as {image} for the name of each input, which differs in each season.",
    )
    goal = forms.JSONField(
        # An empty field: without a value it would say "null".
        initial=InvalidJSONInput(""),
        widget=forms.Textarea(attrs={"rows": _ROWS, "spellcheck": "false"}),
        help_text="As in the example below.",
    )
    origin = forms.ChoiceField(choices=SealedEntry.Origin, label="Written by")
    credit = forms.CharField(max_length=200, label="Name", help_text="Of the person or the language model.")
    licence = forms.CharField(
        max_length=200,
        label="Licence or consent",
        help_text="Text, goal, name and licence are published when the season that uses the entry is closed.",
    )


class UploadForm(_SuiteForm):
    """Many entries, one JSON object a line."""

    file = forms.FileField(help_text="JSON Lines in UTF-8, at most 1,000 lines and 4 MiB.", allow_empty_file=False)


class ReviewForm(forms.Form):
    """A reviewer's goal."""

    def __init__(self, *args: Any, questions: Sequence[GoalField], **kwargs: Any) -> None:
        """Args:
        args: of a form.
        questions: of the suite's form.
        kwargs: of a form.
        """
        super().__init__(*args, **kwargs)
        self._names = {f"q{number}": question.name for number, question in enumerate(questions)}
        for name, question in zip(self._names, questions, strict=True):
            choices = list(question.choices.items())
            self.fields[name] = (
                forms.MultipleChoiceField(
                    label=question.label, choices=choices, required=False, widget=forms.CheckboxSelectMultiple
                )
                if question.is_multiple
                else forms.ChoiceField(label=question.label, choices=choices, required=False)
            )

    def values(self) -> dict[str, list[str]]:
        """The answers by the names of the questions."""
        answers = {}
        for field, name in self._names.items():
            found = self.cleaned_data[field]
            answers[name] = [found] if isinstance(found, str) else list(found)
        return answers
