"""Language models are chosen by name; a wrong name says what would be right, and nothing loads before it is asked."""

import pytest

from evaluator.core.language_model import Ability, FailureKind
from evaluator.planners.language_models.chat.model import ChatModel
from evaluator.planners.language_models.choosing import ModelNameError, language_model
from evaluator.planners.language_models.fetching import fetch_model
from evaluator.planners.language_models.scripted import ScriptedModel
from tests.evaluator.execution.experts.hub_server import serving
from tests.fakes.strategies import generate
from tests.fakes.tiny_models import saved, t5, unigram

COMMIT = "c" * 40


@pytest.fixture
def folder(tmp_path):
    tokenizer = unigram()
    return saved(tmp_path / "own" / "planner", model=t5(tokenizer), tokenizer=tokenizer)


def test_a_folder_is_loaded_when_it_is_first_asked(folder):
    model = language_model(f"dir:{folder}", device="cpu")
    assert model.abilities == frozenset(Ability) - {Ability.CALL_TOOLS}
    assert model.identity() == {"kind": "local", "name": f"dir:{folder}", "loaded": False}
    (answer,) = model.answer([generate("text", max_tokens=3)])
    assert answer.usage.completion_tokens > 0
    assert len(model.identity()["weights_digest"]) == 64
    assert model.prepare() is model.prepare()


def test_a_model_that_cannot_be_loaded_is_unavailable(folder):
    from evaluator.planners.language_models import ModelError

    (folder / "model.safetensors").unlink()
    model = language_model(f"dir:{folder}", device="cpu")
    results = model.answer([generate("text"), generate("image")])
    assert [failure.kind for failure in results] == [FailureKind.UNAVAILABLE] * 2
    assert "no weights" in results[0].message
    with pytest.raises(ModelError, match="no weights"):
        model.prepare()


def test_chat_and_scripted_models_have_names_too(tmp_path):
    chat = language_model("chat:https://host.example/v1#org/gpt-x:free", allow_private=True)
    assert isinstance(chat, ChatModel)
    assert (chat.settings.url, chat.settings.model) == ("https://host.example/v1", "org/gpt-x:free")
    assert chat.name == "chat:https://host.example/v1#org/gpt-x:free"
    place = "https://host.example/d?api-version=2025-01-01#m"
    named = language_model(f"chat:{place}?api=responses&streamed=yes&reasoning_effort=low&most_tokens=9000&seed=3")
    assert isinstance(named, ChatModel)
    assert named.settings.address == "https://host.example/d/responses?api-version=2025-01-01"
    assert (named.settings.model, named.settings.streamed, named.settings.most_tokens) == ("m", True, 9000)
    assert (named.settings.options.reasoning_effort, named.settings.options.seed) == ("low", 3)
    path = tmp_path / "script.jsonl"
    path.write_text('{"pattern": "", "text": "x"}\n')
    assert isinstance(language_model(f"scripted:{path}"), ScriptedModel)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gpt-4", "models are named lilliput-planner"),
        ("", "models are named"),
        ("hf:", "models are named"),
        ("hf:org/name", "the revision is a commit, a tag or a branch"),
        ("hf:name@main", "not hf:ORG/NAME@REVISION"),
        ("hf:../../x@main", "not hf:ORG/NAME@REVISION"),
        ("chat:https://host/v1", "not chat:URL#MODEL-ID"),
        ("chat:https://host/v1#m?effort=low", "no option 'effort'; there are api, most_tokens"),
        ("chat:https://host/v1#m?most_tokens=many", "most_tokens: Input should be a valid integer"),
        ("chat:https://host/v1#m?api=soap", "api: Input should be 'auto', 'chat', 'responses' or 'messages'"),
        ("chat:ftp://host/v1#m", "http"),
        ("chat:http://host/v1?key=x#m", "belongs into PLANARENA_LLM_API_KEY"),
        ("chat:http://ho st\x00/v1#m", "chat:http"),
        ("chat:http://user:secret@host/v1#m", "user name"),
        ("chat:http://127.0.0.1:8000/v1#m", "private"),
        ("dir:/nowhere/at/all", "no model in /nowhere/at/all"),
        ("lilliput-planner/nothing", "there are:"),
    ],
)
def test_a_wrong_name_says_what_would_be_right(name, says):
    with pytest.raises(ModelNameError, match=says):
        language_model(name, allow_private=False)


def test_a_hub_gives_the_files_of_one_commit(folder, tmp_path):
    from evaluator.planners.language_models.local.model import LocalModel

    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (folder / "modeling_own.py").write_text("raise SystemExit")
    with serving(folder.parents[1], commits={"own/planner": COMMIT}) as address:
        result = fetch_model(repo="own/planner", revision="main", cache=tmp_path / "cache", endpoint=address)
    assert result.commit == COMMIT
    names = {path.name for path in result.folder.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= names
    assert not names & {"pytorch_model.bin", "modeling_own.py"}
    assert LocalModel.from_folder(result.folder).answer([generate("text", max_tokens=2)])[0].usage.completion_tokens


def test_a_repository_without_safetensors_is_refused(folder, tmp_path):
    from evaluator.planners.language_models import ModelError

    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with (
        serving(folder.parents[1], commits={"own/planner": COMMIT}) as address,
        pytest.raises(ModelError, match="own/planner@main has no safetensors"),
    ):
        fetch_model(repo="own/planner", revision="main", cache=tmp_path / "cache", endpoint=address)
