"""Refused parameters, in the words of services."""

import pytest

from evaluator.planners.language_models.chat.parameters import REASONING_TOKENS, Parameters, Refusal

SENT = {
    "model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
    "max_tokens": 4000, "temperature": 0.0, "top_p": 0.9, "seed": 1, "stop": ["x"], "tools": [{}],
    "response_format": {"type": "json_schema"}, "reasoning_effort": "low", "stream_options": {},
}  # fmt: skip


def adapted(text, *, sent=SENT, param=None):
    parameters = Parameters()
    value = {"error": {"message": text, "param": param}} if param else None
    changed = parameters.adapt(sent, refusal=Refusal(text=text, value=value))
    fitted = parameters.fitted(sent)
    return changed, {name: fitted.get(name) for name in {*sent, *fitted} if fitted.get(name) != sent.get(name)}


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
         {"max_tokens": None, "max_completion_tokens": REASONING_TOKENS}),
        ("Unsupported value: 'temperature' does not support 0.0. Only the default (1) value is supported.",
         {"temperature": None}),
        ('{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}',
         {"seed": None}),
        ("Unrecognized request argument supplied: reasoning_effort", {"reasoning_effort": None}),
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", {"top_p": None}),
        ("'response_format' of type 'json_schema' is not supported with this model.",
         {"response_format": {"type": "json_object"}}),
        ("Argument not supported on this model: stop", None),
        ("unknown field `stream_options`", {"stream_options": None}),
        ("Invalid 'max_tokens': 4000. This model supports at most 2,048 completion tokens.", {"max_tokens": 2048}),
        ("max_tokens: 4000 > 1024, which is the maximum allowed number of output tokens for m-20241022",
         {"max_tokens": 1024}),
        ("System role not supported", {"messages": [{"role": "user", "content": "s\n\nu"}]}),
        ("`tools` is not supported by this model", None),
        ("The model `m` does not exist", None),
        ("stop: that is unexpected, unknown and not allowed", None),
        ("temperature must be a number", None),
    ],
)  # fmt: skip
def test_a_refusal_changes_what_it_names_and_nothing_else(text, changes):
    assert adapted(text) == (changes is not None, changes or {})


def test_the_parameter_that_an_error_names_counts_and_not_its_sentence():
    assert adapted("Unsupported value for this temperature", param="top_p") == (True, {"top_p": None})
    assert adapted("'temperature' is not supported with tools", param="tools[0].function") == (False, {})
    assert adapted("Unsupported", param="response_format.json_schema", sent={**SENT, "response_format": {}})[0]


def test_both_names_of_the_limit_may_be_refused():
    parameters = Parameters()
    for name in ("max_tokens", "max_completion_tokens"):
        assert parameters.adapt(parameters.fitted(SENT), refusal=Refusal(text=f"unknown parameter {name}"))
    assert not {"max_tokens", "max_completion_tokens"} & set(parameters.fitted(SENT))
    assert parameters.identity()["left_out"] == ["max_tokens"]


def test_refusals_of_requests_from_before_the_adaptation_change_nothing_more():
    parameters = Parameters()
    texts = ("'max_tokens' is unsupported", "temperature is unsupported", "System role is not supported")
    for text in (*texts, *texts, *reversed(texts)):
        assert parameters.adapt(SENT, refusal=Refusal(text=text))
    fitted = parameters.fitted(SENT)
    assert "temperature" not in fitted
    assert fitted["max_completion_tokens"] == REASONING_TOKENS


def test_limits_are_those_declared_or_of_reasoning_models_within_the_service_s():
    assert Parameters().limit(500) == 500
    assert Parameters(reasons=True).limit(500) == REASONING_TOKENS
    assert Parameters(reasons=True).limit(20_000) == 20_000
    assert Parameters(reasons=True, most_tokens=800, budget=1000).limit(500) == 1800
    parameters = Parameters(reasons=True)
    parameters.adapt(parameters.fitted(SENT), refusal=Refusal(text="max_tokens is too large: at most 8192"))
    assert parameters.limit(500) == 8192
    assert parameters.identity()["most_tokens_of_the_service"] == 8192
