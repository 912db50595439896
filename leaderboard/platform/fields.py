"""The values that a user submits, each defined once.

Each kind's module (`kinds/`) has its definitions. The form, the API's serializer, the OpenAPI
schema with its example, the limits, and who may see the value follow from it. A value that is kept also needs a column
of `Planner` with the same name.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from django import forms
from rest_framework import serializers

T = TypeVar("T")

FIELD_TEMPLATE = "submissions/field.html"
"""Shows one field with its label."""


class SeenBy(StrEnum):
    """Who may read a value after it was submitted."""

    READERS = "readers"
    """Everyone who may see the planner."""
    OWNER = "owner"
    """The planner's owner."""
    NOBODY = "nobody"
    """A secret: stored encrypted, hidden while typed, absent from logs and responses."""


@dataclass(frozen=True, eq=False)
class Field(ABC, Generic[T]):
    """One value that a user submits."""

    name: str
    """Of the form's field, the API's field, and the column if there is one."""
    _: KW_ONLY
    label: str
    """Beside the input on the page."""
    noun: str
    """In sentences: "A bundled planner has no {noun}", "a planner with another {noun}"."""
    default: T
    """The value of planners that do not have it."""
    example: T
    """For the API's schema."""
    help: str = ""
    """Sentences for the page and the API's schema."""
    page_help: str | None = None
    """For the page, where it says something else; None: `help`."""
    seen_by: SeenBy = SeenBy.READERS
    is_kept: bool = True
    """Whether `Planner` has a column for it."""
    on_page: bool = True
    in_api: bool = True
    is_required: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Of the HTML input."""
    template: str = FIELD_TEMPLATE
    """The part of the page that shows it; neighbours with the same one are shown by it together. Empty: the page has a
    place for it."""

    @abstractmethod
    def problem(self, value: T) -> str:
        """Which limit a value exceeds, as a sentence; empty: none."""

    @abstractmethod
    def _form_field(self, **common: Any) -> forms.Field: ...

    @abstractmethod
    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]: ...

    def clean(self, value: T) -> T:
        """The value as it is kept."""
        return value

    def is_given(self, value: T) -> bool:
        """Whether a value was submitted."""
        return self.clean(value) != self.default

    def form_field(self) -> forms.Field:
        """The field of a form."""
        text = self.help if self.page_help is None else self.page_help
        return self._form_field(label=self.label, help_text=text, required=self.is_required)

    def from_form(self, cleaned: Any) -> T:
        """The value of a form's cleaned data; None: the field is empty."""
        return self.default if cleaned is None else cleaned

    def api_field(self, *, kinds: Sequence[str] = (), **changes: Any) -> serializers.Field[Any, Any, Any, Any]:
        """The field of a serializer.

        Args:
            kinds: the kinds of planners that have it, for its description; empty: all.
            changes: arguments that replace those that follow from the definition.
        """
        common: dict[str, Any] = {"help_text": _of_kinds(self.help, kinds=kinds)}
        if not self.is_required and not changes.get("required"):
            common |= {"required": False, "default": self.default}
            if self.default is None:
                common["allow_null"] = True
        return self._api_field(**{**common, **changes})


def _of_kinds(text: str, *, kinds: Sequence[str]) -> str:
    """A description that begins with the kinds that it is about."""
    if not kinds:
        return text
    *first, last = [f"`{kind}`" for kind in kinds]
    named = f"{', '.join(first)} and {last}" if first else last
    # "ORG/NAME" and "US dollars" stay as they are.
    is_abbreviation = text.split(" ")[0].isupper() and text[1:2] != " "
    return f"For {named}: {text if is_abbreviation else text[:1].lower() + text[1:]}"


@dataclass(frozen=True, eq=False)
class Text(Field[str]):
    """Characters that can be shown, in one line or several."""

    _: KW_ONLY
    default: str = ""
    longest: int | None = None
    """Characters."""
    has_lines: bool = False
    """Whether it may have several lines."""
    widget: type[forms.Widget] = forms.TextInput

    @property
    def is_secret(self) -> bool:
        """Whether nobody may read it."""
        return self.seen_by is SeenBy.NOBODY

    def problem(self, value: str) -> str:
        """Which limit the text exceeds; empty: none."""
        is_showable = "\x00" not in value if self.has_lines else self.is_secret or value.isprintable()
        if self.longest is not None and len(value) > self.longest:
            return f"It has {len(value)} characters; at most {self.longest} are possible."
        if is_showable:
            return ""
        return "It contains a NUL character." if self.has_lines else "It contains unprintable characters."

    def clean(self, value: str) -> str:
        """Without blanks around it, unless it is a secret."""
        return value if self.is_secret else value.strip()

    def from_form(self, cleaned: Any) -> str:
        """The text of a form's cleaned data."""
        return self.clean(cleaned or self.default)

    def _form_field(self, **common: Any) -> forms.Field:
        limit = {} if self.longest is None else {"maxlength": self.longest}
        widget = forms.Textarea if self.has_lines else forms.PasswordInput if self.is_secret else self.widget
        return forms.CharField(strip=not self.is_secret, widget=widget(attrs={**limit, **self.attributes}), **common)

    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]:
        secret = {"trim_whitespace": False, "write_only": True} if self.is_secret else {}
        blank = {"allow_blank": True} if not common.get("required", True) else {}
        return serializers.CharField(**{**secret, **blank, **common})


@dataclass(frozen=True, eq=False)
class Choice(Text):
    """One of several texts."""

    _: KW_ONLY
    choices: Sequence[tuple[str, str]]
    """Values, and what the page calls them."""
    api_choices: Sequence[tuple[str, str]] | None = None
    """Those that the API's schema lists; None: it lists none, and the kind's check names what is possible."""
    widget: type[forms.Widget] = forms.Select

    def _form_field(self, **common: Any) -> forms.Field:
        first = self.choices[0][0] if issubclass(self.widget, forms.RadioSelect) else None
        widget = self.widget(attrs=dict(self.attributes))
        return forms.ChoiceField(choices=self.choices, initial=self.default or first, widget=widget, **common)

    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]:
        if self.api_choices is None:
            return super()._api_field(**common)
        return serializers.ChoiceField(choices=self.api_choices, **common)


@dataclass(frozen=True, eq=False)
class _Numeric(Field[T]):
    """A number within limits."""

    _: KW_ONLY
    least: float
    most: float
    unit: str
    """Follows the limits in the sentence that names them: "Give 1 to 300 {unit}."."""

    def problem(self, value: T) -> str:
        """Which limit the number exceeds; empty: none."""
        number: Any = value  # no limit is infinite, and NaN is in none
        if number is None or self.least <= number <= self.most:
            return ""
        return f"Give {self.least:.0f} to {self.most:.0f} {self.unit}."

    def _widget(self, **more: Any) -> forms.NumberInput:
        return forms.NumberInput(attrs={"class": "short", "min": f"{self.least:.0f}", **more, **self.attributes})


@dataclass(frozen=True, eq=False)
class Whole(_Numeric[int | None]):
    """An integer; None: not given."""

    _: KW_ONLY
    default: int | None = None

    def _form_field(self, **common: Any) -> forms.Field:
        widget = self._widget(max=f"{self.most:.0f}")
        return forms.IntegerField(initial=self.default, widget=widget, **common)

    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]:
        return serializers.IntegerField(**common)


@dataclass(frozen=True, eq=False)
class Number(_Numeric[float | None]):
    """A number; None: not given."""

    _: KW_ONLY
    default: float | None = None

    def _form_field(self, **common: Any) -> forms.Field:
        return forms.FloatField(widget=self._widget(step="any"), **common)

    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]:
        return serializers.FloatField(**common)


@dataclass(frozen=True, eq=False)
class Tick(Field[bool]):
    """A checkbox."""

    _: KW_ONLY
    default: bool = False

    def problem(self, value: bool) -> str:  # noqa: ARG002 - both are possible
        """Always empty."""
        return ""

    def _form_field(self, **common: Any) -> forms.Field:
        return forms.BooleanField(**common)

    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]:
        return serializers.BooleanField(**common)


@dataclass(frozen=True, eq=False)
class YesNo(Field[bool | None]):
    """Yes, no, or None: not given."""

    _: KW_ONLY
    default: bool | None = None
    yes: tuple[str, str]
    """Value on the page, and what the page calls it."""
    no: tuple[str, str]

    def problem(self, value: bool | None) -> str:  # noqa: ARG002 - all are possible
        """Always empty."""
        return ""

    def _form_field(self, **common: Any) -> forms.Field:
        return forms.TypedChoiceField(
            choices=[("", "Not declared"), self.yes, self.no],
            coerce=lambda chosen: chosen == self.yes[0],
            empty_value=None,
            **common,
        )

    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]:
        return serializers.BooleanField(**common)


@dataclass(frozen=True, eq=False)
class Moment(Field[datetime | None]):
    """A moment in UTC; None: none."""

    _: KW_ONLY
    default: datetime | None = None

    def problem(self, value: datetime | None) -> str:  # noqa: ARG002 - all are possible
        """Always empty."""
        return ""

    def _form_field(self, **common: Any) -> forms.Field:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local", "class": "moment"}, format="%Y-%m-%dT%H:%M")
        return forms.DateTimeField(widget=widget, **common)

    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]:
        return serializers.DateTimeField(**common)


@dataclass(frozen=True, eq=False)
class Json(Field[Any]):
    """Any JSON, in the API only; None: none."""

    _: KW_ONLY
    default: Any = None
    on_page: bool = False

    def problem(self, value: Any) -> str:  # noqa: ARG002 - its kind reads it
        """Always empty."""
        return ""

    def _form_field(self, **common: Any) -> forms.Field:
        return forms.JSONField(**common)

    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]:
        return serializers.JSONField(**common)


@dataclass(frozen=True, eq=False)
class Members(Json):
    """Named values in an object; None: none. Pages ask for each by an input of its own."""

    def clean(self, value: Any) -> Any:
        """None instead of an empty object."""
        return value or None

    def _api_field(self, **common: Any) -> serializers.Field[Any, Any, Any, Any]:
        return serializers.DictField(child=serializers.JSONField(), **common)


def merged(lists: Sequence[Sequence[Field[Any]]]) -> tuple[Field[Any], ...]:
    """All fields of several lists once, each list's in its order where the lists agree."""
    found: list[Field[Any]] = []
    for fields in lists:
        for index, one in enumerate(fields):
            if one not in found:
                following = [found.index(other) for other in fields[index + 1 :] if other in found]
                found.insert(min(following, default=len(found)), one)
    return tuple(found)
