"""Declarations of a strategy's options and roles. Names of planners, the submit form, the API and the commands follow
from them.

In the name of a planner, options are `NAME=VALUE`, separated by semicolons: `arc-experts@samples=1;loops=2:MODEL`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

OptionValue = int | float | str


class OptionError(ValueError):
    """Invalid options. The message is part of a sentence; `option` names the declared option, or is empty."""

    def __init__(self, message: str, *, option: str = "") -> None:
        super().__init__(message)
        self.option = option


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A part of a strategy that may have a language model of its own instead of the planner's."""

    name: str
    label: str
    """On pages: the part's name."""
    sentence: str
    """What the part does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(ABC):
    """An option of a strategy."""

    name: str
    label: str
    """On pages."""
    sentence: str
    """What it changes."""
    is_draw: bool = False
    """Whether it only chooses among equally good random draws, such as a seed."""

    @property
    @abstractmethod
    def initial(self) -> OptionValue:
        """The value of planners that leave it out."""

    @abstractmethod
    def range_in_words(self) -> str:
        """The possible values, as part of a sentence: "a whole number from 1 to 16"."""

    @abstractmethod
    def _of(self, value: object) -> OptionValue | None:
        """The value in canonical form, or None if it is not possible."""

    def read(self, value: object) -> OptionValue:
        """A value from JSON, or as text, in canonical form.

        Raises:
            OptionError: the option cannot have it.
        """
        found = self._of(value.strip() if isinstance(value, str) else value)
        if found is None:
            shown = value if isinstance(value, str) and len(value) <= _LONGEST_SHOWN else "that"
            shown = f"is {shown!r}" if shown is value else "cannot be that"
            raise OptionError(f"{self.name} {shown}: it must be {self.range_in_words()}", option=self.name)
        return found


_LONGEST_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeOption(Option):
    """A whole number."""

    default: int
    least: int
    most: int

    @property
    def initial(self) -> int:
        return self.default

    def range_in_words(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def _of(self, value: object) -> int | None:
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= len(str(self.most)):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            return None
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberOption(Option):
    """A number."""

    default: float
    least: float
    most: float

    @property
    def initial(self) -> float:
        return self.default

    def range_in_words(self) -> str:
        return f"a number from {self.least:g} to {self.most:g}"

    def _of(self, value: object) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        # Adding 0 turns -0.0 into 0.0, which is written otherwise.
        return number + 0.0 if self.least <= number <= self.most else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceOption(Option):
    """One of several names."""

    default: str
    choices: Sequence[str]

    @property
    def initial(self) -> str:
        return self.default

    def range_in_words(self) -> str:
        *first, last = self.choices
        return f"{', '.join(first)} or {last}" if first else last

    def _of(self, value: object) -> str | None:
        return value if isinstance(value, str) and value in self.choices else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesOption(Option):
    """Some of several names, separated by commas; empty by default."""

    choices: Sequence[str]
    when_empty: str
    """The meaning of an empty list, as part of a sentence."""
    names_when_empty: Callable[[Mapping[str, OptionValue]], Sequence[str]]
    """The names that an empty list stands for, given the values of all options."""

    @property
    def initial(self) -> str:
        return ""

    def range_in_words(self) -> str:
        return f"names out of {', '.join(self.choices)}, separated by commas"

    def _of(self, value: object) -> str | None:
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, list) or len(names) > len(self.choices):
            return None
        if names == [""]:
            return ""
        found = [name.strip() if isinstance(name, str) else None for name in names]
        if any(name not in self.choices for name in found):
            return None
        return ",".join(name for name in self.choices if name in found)

    def shortest(self, values: Mapping[str, OptionValue]) -> OptionValue:
        """The value of this option among canonical values of all; empty if that has the same meaning."""
        value = str(values[self.name])
        return "" if value and {*value.split(",")} == {*self.names_when_empty(values)} else value


@dataclass(frozen=True, slots=True)
class Options:
    """The declared options of a strategy."""

    declared: tuple[Option, ...] = ()
    bare: str = ""
    """Name of the option whose value may come first without its name, as in `controlllm/adaptive@2.5`."""

    def read(self, values: Mapping[str, object]) -> dict[str, OptionValue]:
        """All options in the order of their declaration, with defaults for those that are left out.

        Raises:
            OptionError: an option is unknown or has an impossible value.
        """
        known = {option.name: option for option in self.declared}
        if unknown := [name for name in values if name not in known]:
            there_are = f"there are: {', '.join(known)}" if known else "it has none"
            raise OptionError(f"there is no option {unknown[0][:_LONGEST_SHOWN]!r}; {there_are}")
        read = {name: option.read(values[name]) if name in values else option.initial for name, option in known.items()}
        return read | {
            option.name: option.shortest(read) for option in self.declared if isinstance(option, NamesOption)
        }

    def read_text(self, text: str) -> dict[str, OptionValue]:
        """All options, of the text after `@` in a planner's name.

        Raises:
            OptionError: an option is unknown, repeated or has an impossible value.
        """
        values: dict[str, object] = {}
        known = {option.name for option in self.declared}
        for place, part in enumerate(filter(None, (part.strip() for part in text.split(";")))):
            name, equals, value = part.partition("=")
            if self.bare and not equals and place == 0:
                name, equals, value = self.bare, "=", part
            if not equals or name not in known or name in values:
                raise OptionError(f"{part[:_LONGEST_SHOWN]!r} is an unknown or repeated option; write {self.form()}")
            values[name] = value
        return self.read(values)

    def text(self, values: Mapping[str, OptionValue]) -> str:
        """The text after `@` of options that are not the default; empty if there are none."""
        parts: list[str] = []
        for option in self.declared:
            value = values.get(option.name, option.initial)
            if value != option.initial:
                written = _text_of(value)
                parts.append(written if option.name == self.bare and not parts else f"{option.name}={written}")
        return ";".join(parts)

    def without_draws(self, values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """The values of options that change more than the random draw."""
        draws = {option.name for option in self.declared if option.is_draw}
        return {name: value for name, value in values.items() if name not in draws}

    def form(self) -> str:
        """How options are written: `samples=3; loops=3`."""
        return "; ".join(f"{option.name}={_example(option)}" for option in self.declared)


def _text_of(value: OptionValue) -> str:
    """The shortest text that reads as exactly this value."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _example(option: Option) -> str:
    if isinstance(option, NamesOption):
        return ",".join(option.choices[:2])
    return _text_of(option.initial)
