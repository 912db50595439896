"""Weather and time from the table."""

import json

import pytest

from evaluator.miniature.almanac import almanac, time_at, weather_at, weather_in_words


def test_the_weather_of_the_place_that_a_text_names() -> None:
    found = json.loads(weather_at("How is the weather in New York today?"))
    assert found == {
        "place": "New York", "date": "2023-10-26", "weather": "sunny", "temperature_c": 20, "wind_kmh": 14,
    }  # fmt: skip
    assert "sunny in New York, at 20 degrees" in weather_in_words(weather_at("new york"))


def test_a_place_outside_the_table_is_unknown_and_not_made_up() -> None:
    assert json.loads(weather_at("Atlantis")) == {"place": "Atlantis", "weather": "unknown"}
    assert weather_in_words(weather_at("Atlantis")) == "The table has no weather for Atlantis."


def test_the_time_is_the_tables_and_not_the_clocks() -> None:
    assert time_at("What time is it?") == "2023-10-26 12:00 (UTC)"
    assert time_at("the time in Beijing") == "2023-10-26 20:00 in Beijing (UTC+08:00)"
    assert time_at("Los Angeles") == "2023-10-26 05:00 in Los Angeles (UTC-07:00)"


@pytest.mark.parametrize(
    "text",
    ["", "sunny", "[]", "null", '{"place": 1, "weather": "sunny"}', '{"place": "A", "weather": "sunny"}', "[" * 100_000,
     '{"place": "A", "weather": "sunny", "date": "soon", "temperature_c": 1, "wind_kmh": 1}'],
)  # fmt: skip
def test_other_texts_are_no_weather(text: str) -> None:
    with pytest.raises(ValueError, match="as get_weather gives it"):
        weather_in_words(text)


def test_every_row_of_the_table_is_complete() -> None:
    for place in almanac().places.values():
        assert -12 * 60 <= place.offset <= 14 * 60
        assert place.name in weather_in_words(weather_at(place.name))
