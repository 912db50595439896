"""A scripted model answers by the first line that matches, and says which line of a bad script is wrong."""

import json

import pytest

from evaluator.core.language_model import FailureKind, Following, Message, ScoreCall, ToolDefinition
from evaluator.planners.language_models.scripted import ScriptedModel, ScriptError
from tests.fakes.strategies import generate


class OneOf:
    separator = ", "

    def following(self, written):
        return Following(names=tuple({"A", "B"} - set(written)), may_end=bool(written))


def script(tmp_path, *lines):
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def test_the_first_matching_line_answers_and_other_calls_are_refused(tmp_path):
    path = script(tmp_path, {"pattern": "nois[ey]", "text": "Image Denoising"}, {"pattern": "", "text": "nothing"})
    noisy, other = ScriptedModel.from_file(path).answer([generate("a noisy image"), generate("a text")])
    assert (noisy.text, other.text) == ("Image Denoising", "nothing")
    assert (noisy.usage.prompt_tokens, noisy.usage.completion_tokens) == (3, 2)
    path = script(tmp_path, {"pattern": "noisy", "text": "A"})
    refused, good = ScriptedModel.from_file(path).answer([generate("a text"), generate("noisy")])
    assert refused.kind is FailureKind.REFUSED
    assert "script.jsonl" in refused.message
    assert good.text == "A"


def test_failures_scores_and_beams_can_be_scripted(tmp_path):
    path = script(
        tmp_path,
        {"pattern": "closed", "failure": "unavailable", "message": "It is closed."},
        {"pattern": "which", "scores": {"yes": -0.5}, "otherwise": -9},
        {"pattern": "names", "texts": ["A, B", "B"]},
    )
    which = ScoreCall(messages=(Message(role="user", content="which?"),), continuations=("yes", "no"))
    closed, scores, names = ScriptedModel.from_file(path).answer(
        [generate("closed"), which, generate("names", constraint=OneOf(), beams=2)]
    )
    assert (closed.kind, closed.message) == (FailureKind.UNAVAILABLE, "It is closed.")
    assert scores.log_probabilities == (-0.5, -9)
    assert [beam.names for beam in names.beams] == [("A", "B"), ("B",)]


def test_calls_of_tools_answer_calls_that_offer_tools(tmp_path):
    calls = [{"name": "A", "arguments": {"image": "$image"}}, {"name": "A", "arguments": '{"image": '}]
    path = script(tmp_path, {"pattern": "", "calls": calls, "text": "I call."}, {"pattern": "", "text": "no tools"})
    tools = (ToolDefinition(name="A", description="Does it.", parameters={}),)
    called, texts = ScriptedModel.from_file(path).answer([generate("go", tools=tools), generate("go")])
    assert (called.text, texts.text, texts.calls) == ("I call.", "no tools", ())
    assert [(call.name, call.arguments) for call in called.calls] == [("A", '{"image": "$image"}'), ("A", '{"image": ')]
    assert len({call.id for call in called.calls}) == 2
    assert called.transcript().splitlines()[0] == "I call."


@pytest.mark.parametrize("text", ["A, A", "C", ""])
def test_a_text_that_breaks_the_constraint_is_refused(text):
    (answer,) = ScriptedModel(lambda call: text).answer([generate("names", constraint=OneOf())])
    assert answer.kind is FailureKind.REFUSED


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 is not JSON"),
        ('["a"]', "line 2 is no object"),
        ('{"text": "x"}', 'line 2 is no object with a "pattern"'),
        ('{"pattern": "(", "text": "x"}', "no regular expression"),
        ('{"pattern": "", "texd": "x"}', "unknown texd"),
        ('{"pattern": "", "text": 1}', "are texts"),
        ('{"pattern": "", "texts": []}', "one or more"),
        ('{"pattern": "", "scores": {"a": 1}}', "at most 0"),
        ('{"pattern": "", "failure": "tired"}', "one of unavailable"),
        ('{"pattern": ""}', "none of"),
        ('{"pattern": "", "calls": [{"name": "A"}]}', '"calls" is a list of objects'),
        ('{"pattern": "", "calls": [{"name": "A", "arguments": 1}]}', '"calls" is a list of objects'),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, says):
    with pytest.raises(ScriptError, match=says):
        ScriptedModel.from_file(script(tmp_path, {"pattern": "", "text": "x"}, line))
