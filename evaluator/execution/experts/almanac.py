"""Experts for weather and time, which answer from the almanac's table (`evaluator.miniature.almanac`)."""

from collections.abc import Mapping, Sequence

from evaluator.core.expert import ExpertSpec, InputError
from evaluator.core.values import Value
from evaluator.execution.experts.inputs import value_of
from evaluator.miniature.almanac import time_at, weather_at, weather_in_words


class _Almanac:
    """An expert without weights, item by item; subclasses answer one text."""

    input, output = "text", "response"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        """Has no weights and needs no device."""

    def answer(self, text: str) -> str:
        """The answer to a text."""
        raise NotImplementedError

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        return [{self.output: self.answer(value_of(item, name=self.input, kind=str))} for item in batch]


class Weather(_Almanac):
    """From the name of a place to its weather in the table, as JSON."""

    input, output = "location", "result"

    def answer(self, text: str) -> str:
        return weather_at(text)


class WeatherInWords(_Almanac):
    """From weather as JSON to a sentence."""

    input, output = "weather", "weather_summary"

    def answer(self, text: str) -> str:
        try:
            return weather_in_words(text)
        except ValueError as error:
            raise InputError(f'"weather": {error}') from None


class Time(_Almanac):
    """From a text to the table's date and time at the place that it names, else in UTC."""

    def answer(self, text: str) -> str:
        return time_at(text)
