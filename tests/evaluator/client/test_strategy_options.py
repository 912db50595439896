"""Options and models of roles as `planarena submit` takes them."""

import hashlib

import pytest

from evaluator.client.errors import UsageError
from evaluator.client.options import chosen_planner, given_options, given_roles


def test_models_of_roles_are_of_the_kind_that_their_form_says(tmp_path):
    file = tmp_path / "ground.zip"
    file.write_bytes(b"PK")
    given = given_roles(
        [
            "decompose=chat:https://h/v1#org/m",
            "assess=hf:org/name@main",
            f"ground={file}",
            "plan=lilliput-lumos/plan",
            "respond=endpoint:https://h/plan",
        ],
        headers=["decompose=X-Key:KEY", "respond=X-Key:KEY"],
        environment={"KEY": "secret"},
    )
    assert given.fields == {
        "decompose": {
            "kind": "chat", "endpoint_url": "https://h/v1", "model_id": "org/m", "header_name": "X-Key",
            "header_value": "secret",
        },
        "assess": {"kind": "hub", "model_id": "org/name", "revision": "main"},
        "ground": {"kind": "checkpoint", "checkpoint_digest": hashlib.sha256(b"PK").hexdigest()},
        "plan": {"kind": "bundled", "model_id": "lilliput-lumos/plan"},
        "respond": {
            "kind": "endpoint", "endpoint_url": "https://h/plan", "header_name": "X-Key", "header_value": "secret",
        },
    }  # fmt: skip
    assert given.checkpoints == [file]
    assert given_options(["samples=1", "views=a,b"]) == {"samples": "1", "views": "a,b"}
    assert given_roles([]).fields is given_options([]) is None


@pytest.mark.parametrize(
    "texts", [["decompose"], ["=m"], ["a="], ["a=m", "a=n"], ["a=chat:https://h/v1"], ["a=no.zip"]]
)
def test_other_forms_of_roles_are_refused(texts):
    with pytest.raises(UsageError, match=r"--role|cannot be read"):
        given_roles(texts)


@pytest.mark.parametrize("header", ["a", "a=X", "b=X:KEY", "a=X:MISSING", "a=:KEY"])
def test_headers_of_roles_name_a_role_a_header_and_a_variable(header):
    with pytest.raises(UsageError, match="--role-header"):
        given_roles(["a=chat:https://h/v1#m"], headers=[header], environment={"KEY": "x"})


@pytest.mark.parametrize("texts", [["samples"], ["=1"], ["a=1", "a=2"]])
def test_options_have_a_name_and_a_value_once(texts):
    with pytest.raises(UsageError, match="--option is NAME=VALUE"):
        given_options(texts)


NOTHING = {"planner": "", "model": "", "checkpoint": None, "chat": "", "chat_model": "", "plans": None}


def test_a_strategy_whose_roles_have_models_needs_no_other():
    chosen = chosen_planner(**NOTHING, strategy="lumos/iterative", roles=["plan", "ground"])
    assert chosen == {"kind": "roles", "strategy": "lumos/iterative"}
    with pytest.raises(UsageError, match="or a --role for each role"):
        chosen_planner(**NOTHING, strategy="lumos/iterative")
