"""Secrets do not reach a log that others read."""

import time

import pytest

from gpu_jobs.redaction import Redactor
from gpu_jobs.worker_secrets import names_a_secret

SECRET = "s3cr3t-v4lue_0123456789"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        f"headers: {{'authorization': 'Token {SECRET}', 'x': '{SECRET}'}}",
        f'"Cookie": "sessionid={SECRET}"',
        f"sent bearer {SECRET} to the site",
        f"postgresql://arena:{SECRET}@db/arena is away",
        f"https://{SECRET}@example.org/x",
        f"GET https://example.org/plan?api_key={SECRET}&x=1",
        f"password='{SECRET}'",
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"token: {SECRET}",
        f"use hf_{SECRET}",
        f"pa_{SECRET} was used",
        f"paw_{SECRET} was used",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text):
    assert SECRET not in Redactor()(text)
    assert "***" in Redactor()(text)


@pytest.mark.parametrize(
    "text",
    [
        "task 12: scored 0.7312",
        "planner_fault (invalid_plan): plan step 3: input \"image\" is text",
        "the bearer of bad news; basic tokens of a text; 512 tokens were made",
        "loaded https://example.org/weights in 3.1 s, mail ada@example.org",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text):
    assert Redactor()(text) == text


def test_exact_values_are_hidden_wherever_they_stand_and_the_longest_first():
    redact = Redactor(secrets=["abcdefgh", "abcdefghijkl", "tiny", ""])
    assert redact("xabcdefghijklx abcdefgh tiny") == "x***x *** tiny"


def test_an_endpoint_s_address_is_hidden_in_all_its_forms():
    redact = Redactor(addresses=["https://Planner.example.org:8443/plan"])
    said = redact("https://Planner.example.org:8443/plan: planner.example.org:8443 refused, PLANNER.EXAMPLE.ORG down")
    assert "example.org" not in said.lower()
    assert redact("notplanner.example.org.evil") == "notplanner.example.org.evil"


@pytest.mark.parametrize(
    "name",
    ["PLANARENA_WORKER_TOKEN", "PLANARENA_HIDDEN_SEED", "PLANARENA_WEBHOOK_KEY", "DB_PASSWORD", "openai_api_key"],
)
def test_variables_that_are_secret_are_known_by_their_names(name):
    assert names_a_secret(name)
    assert not names_a_secret("PATH")


def test_in_a_record_exact_secrets_are_replaced_wherever_they_stand_and_nothing_else():
    plan = {"steps": [{"id": SECRET, "tool": "token: blue", "inputs": {SECRET: f"x{SECRET}y"}}], "answers": [1, None]}
    assert Redactor(secrets=[SECRET]).in_json(plan) == {
        "steps": [{"id": "***", "tool": "token: blue", "inputs": {"***": "x***y"}}],
        "answers": [1, None],
    }


def test_a_long_line_takes_time_in_proportion_to_its_length():
    redact = Redactor(secrets=[SECRET], addresses=["https://planner.example.org/plan"])

    def seconds(text):
        def once():
            started = time.process_time()
            redact(text)
            return time.process_time() - started

        return min(once() for _ in range(3))

    for odd in ("x", "token", "a.b-", "eyJ.", "https://", "Bearer "):
        short, long = (odd * (length // len(odd)) for length in (5_000, 40_000))
        # Eight times as long; what backtracks takes 64 times as long.
        assert seconds(long) < 30 * max(seconds(short), 1e-4), odd
