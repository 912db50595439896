"""The almanac: weather and clock time of some places on one made-up day, from a table. No network and no clock."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from evaluator.core.naming import words_of

LONGEST_TEXT = 4000
"""Characters of a text that are searched for a place."""
_LONGEST_NAME = 80
_FIELDS = ("place", "date", "weather", "temperature_c", "wind_kmh")


@dataclass(frozen=True, slots=True)
class Place:
    """A row of the table."""

    name: str
    offset: int
    """Minutes ahead of UTC."""
    weather: str
    temperature: int
    """In degrees Celsius."""
    wind: int
    """In km/h."""


@dataclass(frozen=True, slots=True)
class Almanac:
    """The table."""

    now: datetime
    """In UTC, without a zone."""
    places: Mapping[tuple[str, ...], Place]
    """By the words of their names."""

    def place_in(self, text: str) -> Place | None:
        """The place that a text names first; None if it names none of the table."""
        words = words_of(text[:LONGEST_TEXT])
        longest = max(map(len, self.places))
        runs = (words[at : at + size] for at in range(len(words)) for size in range(longest, 0, -1))
        return next((self.places[run] for run in runs if run in self.places), None)


@cache
def almanac() -> Almanac:
    """The table of this package."""
    data: Mapping[str, Any] = tomllib.loads((Path(__file__).parent / "almanac.toml").read_text(encoding="utf-8"))
    places = [Place(*row) for row in data["places"]]
    return Almanac(datetime.fromisoformat(data["now"]), {words_of(place.name): place for place in places})


def weather_at(location: str) -> str:
    """The weather at a place as JSON; `"weather": "unknown"` for one that is not in the table."""
    table = almanac()
    place = table.place_in(location)
    if place is None:
        return json.dumps({"place": location[:_LONGEST_NAME], "weather": "unknown"}, ensure_ascii=False)
    values = (place.name, _local(place).date().isoformat(), place.weather, place.temperature, place.wind)
    return json.dumps(dict(zip(_FIELDS, values, strict=True)), ensure_ascii=False)


def weather_in_words(weather: str) -> str:
    """A sentence about weather as `weather_at` gives it.

    Raises:
        ValueError: the text is no such JSON.
    """
    try:
        found = json.loads(weather)
        known = isinstance(found, dict) and found.get("weather") != "unknown"
        wanted = {"place": str, "weather": str} | (
            {"date": str, "temperature_c": int, "wind_kmh": int} if known else {}
        )
        if not isinstance(found, dict) or any(type(found.get(name)) is not kind for name, kind in wanted.items()):
            raise ValueError
        if not known:
            return f"The table has no weather for {found['place']}."
        day = datetime.fromisoformat(found["date"])
    except (ValueError, RecursionError):
        raise ValueError(f"it is no JSON with {', '.join(_FIELDS)}, as get_weather gives it") from None
    return (
        f"On {day.day} {day:%B %Y} it is {found['weather']} in {found['place']}, at {found['temperature_c']} degrees "
        f"Celsius with wind of {found['wind_kmh']} km/h."
    )


def time_at(text: str) -> str:
    """Date and time at the place that a text names, else in UTC: `2023-10-26 20:00 in Beijing (UTC+08:00)`."""
    table = almanac()
    place = table.place_in(text)
    if place is None:
        return f"{table.now:%Y-%m-%d %H:%M} (UTC)"
    hours, minutes = divmod(abs(place.offset), 60)
    sign = "-" if place.offset < 0 else "+"
    return f"{_local(place):%Y-%m-%d %H:%M} in {place.name} (UTC{sign}{hours:02}:{minutes:02})"


def _local(place: Place) -> datetime:
    return almanac().now + timedelta(minutes=place.offset)
