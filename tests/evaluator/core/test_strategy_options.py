"""Options in names and in JSON: defaults, bounds, canonical texts, and refused values."""

import pytest

from evaluator.core.strategy_options import ChoiceOption, NamesOption, NumberOption, OptionError, Options, WholeOption

OPTIONS = Options(
    (
        NumberOption(name="threshold", label="T", sentence="s", default=3.0, least=1, most=5),
        WholeOption(name="samples", label="S", sentence="s", default=3, least=1, most=16),
        ChoiceOption(name="style", label="P", sentence="s", default="paper", choices=("paper", "compact")),
        NamesOption(
            name="views", label="V", sentence="s", choices=("grid", "objects", "pixels"), when_empty="all of the style",
            names_when_empty=lambda values: ["objects"] if values["style"] == "compact" else ["grid", "objects"],
        ),
        NumberOption(name="heat", label="H", sentence="s", default=0.7, least=0, most=2),
        WholeOption(name="seed", label="N", sentence="s", default=0, least=0, most=9, is_draw=True),
    ),
    bare="threshold",
)  # fmt: skip
DEFAULTS = {"threshold": 3.0, "samples": 3, "style": "paper", "views": "", "heat": 0.7, "seed": 0}


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, ""),
        ({"threshold": "3", "samples": 3}, ""),
        ({"threshold": 2.5}, "2.5"),
        ({"views": ["pixels", "grid"], "samples": "1"}, "samples=1;views=grid,pixels"),
        ({"views": ["objects", "grid"]}, ""),
        ({"views": ["objects", "grid"], "style": "compact"}, "style=compact;views=grid,objects"),
        ({"views": "objects", "style": "compact"}, "style=compact"),
        ({"heat": 0.7000001}, "heat=0.7000001"),
        ({"heat": "0.70"}, ""),
        ({"heat": -0.0}, "heat=0"),
        ({"heat": "1e-7"}, "heat=1e-07"),
        ({"style": "compact", "threshold": 2}, "2;style=compact"),
    ],
)
def test_values_have_one_text_which_reads_as_the_same_values(values, text):
    read = OPTIONS.read(values)
    assert list(read) == list(DEFAULTS)
    assert OPTIONS.text(read) == text
    assert OPTIONS.read_text(text) == read


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"samples": 0}, "samples cannot be that: it must be a whole number from 1 to 16"),
        ({"samples": True}, "samples cannot be that"),
        ({"samples": 1.5}, "samples cannot be that"),
        ({"samples": "1e1"}, "samples is '1e1'"),
        ({"samples": "9" * 5000}, "samples cannot be that"),
        ({"threshold": float("nan")}, "threshold cannot be that: it must be a number from 1 to 5"),
        ({"threshold": 10**400}, "threshold cannot be that"),
        ({"threshold": None}, "threshold cannot be that"),
        ({"style": "long"}, "style is 'long': it must be paper or compact"),
        ({"style": ["paper"]}, "style cannot be that"),
        ({"views": "objects,"}, "views is 'objects,': it must be names out of grid, objects, pixels"),
        ({"views": [["grid"]]}, "views cannot be that"),
        ({"views": ["grid"] * 4}, "views cannot be that"),
        ({"size": 3}, "there is no option 'size'; there are: threshold, samples, style, views, heat, seed"),
    ],
)
def test_impossible_values_are_refused_with_the_possible_ones(values, message):
    with pytest.raises(OptionError) as error:
        OPTIONS.read(values)
    assert message in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("text", ["samples=1;samples=2", "size=3", "2;3", "threshold=2;2"])
def test_unknown_and_repeated_options_of_a_name_are_refused(text):
    with pytest.raises(OptionError, match="is an unknown or repeated option; write threshold=3; samples=3"):
        OPTIONS.read_text(text)


def test_draws_are_left_out_of_what_a_planner_is():
    assert OPTIONS.text(OPTIONS.without_draws(OPTIONS.read({"seed": 3, "samples": 1}))) == "samples=1"
