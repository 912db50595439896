"""Tokenizers of strangers: `tokenizer.json` and a few scalars are read, and native code that gives up is an error."""

import json

import pytest
from tokenizers import Tokenizer

from evaluator.core.language_model import FailureKind, ScoreCall
from evaluator.sandbox.admission.checkpoint_zip import inspect
from evaluator.sandbox.admission.rules import ModelRefusedError, read_config, shards_named
from evaluator.sandbox.admission.tokenizer_settings import read_tokenizer_config
from tests.fakes.checkpoints import tiny_files, zipped_folder
from tests.fakes.strategies import generate
from tests.fakes.tiny_models import TEXTS, byte_level_bpe, gpt2, saved, unigram

SECRET = "correct-horse-battery-staple"
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}"


@pytest.fixture
def folder(tmp_path):
    tokenizer = byte_level_bpe()
    return saved(tmp_path / "model", model=gpt2(tokenizer), tokenizer=tokenizer)


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text(f"{SECRET}\n")
    return path


def change(path, **values):
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **values}))


def refused(folder, complaint):
    """Refused by the site and again when loading; gives what the site says."""
    from evaluator.planners.language_models import ModelUnusableError
    from evaluator.planners.language_models.local.model import LocalModel

    archive = folder.with_suffix(".zip")
    archive.write_bytes(zipped_folder(folder))
    with pytest.raises(ModelRefusedError, match=complaint) as error:
        inspect(archive, most_unpacked_bytes=2**30)
    with pytest.raises(ModelUnusableError, match=complaint):
        LocalModel.from_folder(folder)
    return str(error.value)


NAMING = {
    "vocab": {"tokenizer_class": "BertTokenizer", "vocab": "PATH"},
    "merges": {"tokenizer_class": "GPT2Tokenizer", "merges": "PATH"},
    "vocab_file": {"tokenizer_class": "BertTokenizer", "vocab_file": "PATH"},
    "merges_file": {"merges_file": "PATH"},
    "tokenizer_file": {"tokenizer_file": "PATH"},
    "gguf_file": {"gguf_file": "PATH"},
    "init_inputs": {"tokenizer_class": "XLMTokenizer", "init_inputs": ["PATH", "PATH"]},
    "spm_file": {"source_spm_file": "PATH"},
    "vocabulary_path": {"vocabulary_path": "PATH"},
    "Vocab_File": {"Vocab_File": "PATH"},
}
"""Settings with which `transformers`, or one of its tokenizers, opens a path."""


def test_a_setting_that_names_a_file_is_refused_by_the_site_and_again_when_loading(folder, secret):
    settings = folder / "tokenizer_config.json"
    good = settings.read_text()
    for route, naming in NAMING.items():
        settings.write_text(good)
        change(settings, **json.loads(json.dumps(naming).replace("PATH", str(secret))))
        assert SECRET not in refused(folder, r"tokenizer_config\.json sets '\w+', which names a file"), route
    settings.write_text(good)
    change(folder / "special_tokens_map.json", vocab_file=str(secret))
    refused(folder, r"special_tokens_map\.json sets 'vocab_file'")


def test_no_class_that_the_settings_name_is_built(folder, secret):
    """Its files beside `tokenizer.json` are not opened, whatever they are."""

    from evaluator.planners.language_models.local.model_loading import load_tokenizer

    plain = load_tokenizer(folder)
    change(folder / "tokenizer_config.json", tokenizer_class="BertTokenizer", backend="sentencepiece")
    for name in ("vocab.txt", "added_tokens.json", "merges.txt", "spiece.model"):
        (folder / name).symlink_to(secret)
    loaded = load_tokenizer(folder)
    assert loaded.get_vocab() == plain.get_vocab()
    assert not [token for token in loaded.get_vocab() if "horse" in token]


def test_settings_of_published_tokenizers_are_accepted():
    """Where the author's machine kept things, nulls, and settings of other libraries are ignored."""
    published = {
        "add_prefix_space": False, "added_tokens_decoder": {"0": {"content": "<s>", "special": True}},
        "additional_special_tokens": ["<extra_id_0>"], "bos_token": {"__type": "AddedToken", "content": "<s>"},
        "clean_up_tokenization_spaces": False, "eos_token": "</s>", "extra_ids": 100, "init_inputs": [],
        "legacy": False, "model_max_length": 1000000000000000019884624838656, "name_or_path": "/root/t5",
        "pad_token": None, "padding_side": "right", "sp_model_kwargs": {}, "tokenizer_class": "T5Tokenizer",
        "special_tokens_map_file": "/home/somebody/.cache/special_tokens_map.json", "tokenizer_file": None,
    }  # fmt: skip
    assert read_tokenizer_config(json.dumps(published).encode()) == {
        "add_prefix_space": False,
        "bos_token": "<s>",
        "clean_up_tokenization_spaces": False,
        "eos_token": "</s>",
        "model_max_length": 1000000000000000019884624838656,
        "padding_side": "right",
    }


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"eos_token": 7}, "eos_token in tokenizer_config.json must be a text"),
        ({"pad_token": {"content": "x" * 1001}}, "pad_token in tokenizer_config.json must be a text"),
        ({"add_bos_token": "yes"}, "add_bos_token in tokenizer_config.json must be true or false"),
        ({"padding_side": "up"}, "padding_side"),
        ({"model_max_length": "many"}, "model_max_length"),
        ({"model_max_length": -1}, "model_max_length"),
        ({"model_max_length": float("nan")}, "model_max_length"),
        ({"chat_template": 7}, "chat_template"),
        ({"chat_template": [{"name": "rag", "template": "x"}]}, "chat_template"),
        ({"chat_template": "x" * 300_000}, "300000 characters"),
        ({"auto_map": {"AutoTokenizer": ["a.B", None]}}, "code of its own"),
    ],
)  # fmt: skip
def test_a_setting_of_a_wrong_kind_is_named(settings, complaint):
    with pytest.raises(ModelRefusedError, match=complaint):
        read_tokenizer_config(json.dumps(settings).encode())


def test_of_several_chat_templates_the_default_is_used_and_older_maps_give_what_the_configuration_leaves_out(folder):
    from evaluator.planners.language_models.local.model_loading import load_tokenizer

    templates = [{"name": "rag", "template": "other"}, {"name": "default", "template": "this"}]
    assert read_tokenizer_config(json.dumps({"chat_template": templates}).encode()) == {"chat_template": "this"}
    config = json.loads((folder / "tokenizer_config.json").read_text())
    del config["eos_token"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    change(folder / "special_tokens_map.json", eos_token={"content": "</s>", "lstrip": False}, bos_token="other")
    loaded = load_tokenizer(folder)
    assert (loaded.eos_token, loaded.bos_token) == ("</s>", "<s>")


@pytest.mark.parametrize("kind", [byte_level_bpe, unigram])
@pytest.mark.parametrize("template", ["inside", "jinja", None])
def test_it_reads_and_writes_as_the_library_s_own(tmp_path, kind, template):
    from transformers import AutoTokenizer

    from evaluator.planners.language_models.local.model_loading import load_tokenizer

    tokenizer = kind()
    folder = saved(tmp_path / "model", model=gpt2(tokenizer), tokenizer=tokenizer)
    if template == "inside":
        change(folder / "tokenizer_config.json", chat_template=TEMPLATE)
    elif template == "jinja":
        (folder / "chat_template.jinja").write_text(TEMPLATE)
    ours, theirs = load_tokenizer(folder), AutoTokenizer.from_pretrained(folder)
    for text in [*TEXTS, "", "a  b\n", "<s> é 漢字 </s>"]:
        result, wanted = (one(text, return_offsets_mapping=True) for one in (ours, theirs))
        assert (result["input_ids"], result["offset_mapping"]) == (wanted["input_ids"], wanted["offset_mapping"])
        assert ours.decode(result["input_ids"]) == theirs.decode(wanted["input_ids"])
        assert ours.decode(result["input_ids"], skip_special_tokens=True) == theirs.decode(
            wanted["input_ids"], skip_special_tokens=True
        )
    assert ours.chat_template == theirs.chat_template == (TEMPLATE if template else None)
    assert (ours.model_max_length, ours.pad_token_id) == (theirs.model_max_length, theirs.pad_token_id)


PANICS_AT_LONG_WORDS = {
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "(q+)+$"}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        ],
    }
}


def with_parts(folder, **parts):
    """The folder's tokenizer with other components."""

    from evaluator.planners.language_models.local.model_loading import load_tokenizer

    change(folder / "tokenizer.json", **parts)
    return load_tokenizer(folder)


@pytest.mark.parametrize(
    "content",
    [
        b"{}", b"[" * 100_000, b'{"a":' * 100_000, b"{", b'{"version": "1.0", "model": {"type": "Foreign"}}',
        b'{"version": "1.0", "model": null}',
    ],
)  # fmt: skip
def test_a_tokenizer_that_cannot_be_read_passes_the_site_unread_and_is_refused_when_loading(folder, content):
    from evaluator.planners.language_models import ModelUnusableError
    from evaluator.planners.language_models.local.model import LocalModel

    (folder / "tokenizer.json").write_bytes(content)
    archive = folder.with_suffix(".zip")
    archive.write_bytes(zipped_folder(folder))
    assert inspect(archive, most_unpacked_bytes=2**30).architecture == "gpt2"
    with pytest.raises(ModelUnusableError, match="cannot be loaded"):
        LocalModel.from_folder(folder)


def test_truncation_padding_and_dropout_are_switched_off(folder):
    from evaluator.planners.language_models.local.model_loading import load_tokenizer

    plain = load_tokenizer(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=10**6)
    content = json.loads(tokenizer.to_str())
    content["model"]["dropout"] = 0.5
    (folder / "tokenizer.json").write_text(json.dumps(content))
    loaded = load_tokenizer(folder)
    for text in TEXTS:
        assert loaded(text)["input_ids"] == plain(text)["input_ids"]


def test_refusing_templates_and_oversized_prompts_affect_only_their_own_call(folder):
    from evaluator.planners.language_models.local.model import LocalModel

    template = "{% if 'x' in messages[0].content %}{{ raise_exception('No x') }}{% endif %}{{ messages[0].content }}"
    change(folder / "tokenizer_config.json", chat_template=template)
    calls = [generate(text, max_tokens=2) for text in ("x", "y" * 400_001, "y")]
    refused, oversized, good = LocalModel.from_folder(folder).answer(calls)
    assert refused.kind is FailureKind.REFUSED
    assert refused.message == "The model's chat template refuses the conversation: No x."
    assert oversized.message == "The prompt has 400001 characters; at most 400000 are read."
    assert oversized.kind is FailureKind.PROMPT_TOO_LONG
    assert good.usage.completion_tokens > 0


@pytest.mark.parametrize("template", ["{% for %}", "{{ ''.__class__.__mro__ }}", "{{ messages[0].__init__() }}"])
def test_a_template_with_an_error_or_that_walks_attributes_is_the_planner_s_fault(folder, template):
    from evaluator.planners.language_models.local.model import LocalModel

    change(folder / "tokenizer_config.json", chat_template=template)
    (result,) = LocalModel.from_folder(folder).answer([generate("x", max_tokens=2)])
    assert result.kind is FailureKind.REFUSED
    assert result.message.startswith("The model's chat template refuses the conversation: ")


def test_panics_of_native_code_become_errors_and_other_exceptions_stay(folder):
    from evaluator.planners.language_models.local.model_loading import TokenizerPanicError, panics_as_errors

    with pytest.raises(TokenizerPanicError, match="native code gave up"):
        with_parts(folder, pre_tokenizer={"type": "FixedLength", "length": 0})("text")
    with pytest.raises(TokenizerPanicError, match="native code gave up"), panics_as_errors():
        with_parts(folder, normalizer={"type": "Precompiled", "precompiled_charsmap": ""})
    for error in (KeyboardInterrupt, SystemExit, GeneratorExit, ValueError):
        with pytest.raises(error), panics_as_errors():
            raise error


def test_a_text_at_which_the_native_code_gives_up_costs_its_own_call(folder):
    from evaluator.planners.language_models.local.model import LocalModel
    from evaluator.planners.language_models.local.model_loading import TokenizerPanicError
    from evaluator.planners.language_models.local.network import Network

    tokenizer = with_parts(folder, **PANICS_AT_LONG_WORDS)
    model = LocalModel(network=Network(module=gpt2(tokenizer), tokenizer=tokenizer), name="tiny")
    poison = "q" * 40 + "b"
    generated, scored, good = model.answer(
        [
            generate(poison, max_tokens=2),
            ScoreCall(messages=generate("text").messages, continuations=(poison,)),
            generate("text", max_tokens=2),
        ]
    )
    assert generated.kind is scored.kind is FailureKind.BROKEN
    assert "retry-limit" in generated.message
    assert good.usage.completion_tokens > 0
    with pytest.raises(TokenizerPanicError):
        model.count_tokens(poison)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"transformers_weights": "../other/model.safetensors"}, "transformers_weights"),
        ({"transformers_weights": "/etc/x.safetensors"}, "transformers_weights"),
        ({"attn_implementation": "somebody/kernel"}, "code from elsewhere"),
        ({"_attn_implementation": "somebody/kernel@main:fn"}, "code from elsewhere"),
        ({"text_config": {"_attn_implementation_internal": "a/b"}}, "code from elsewhere"),
        ({"experts_implementation": "a/b"}, "code from elsewhere"),
    ],
)
def test_a_configuration_that_reaches_outside_its_folder_is_refused(settings, complaint):
    config = json.loads(tiny_files()["config.json"])
    with pytest.raises(ModelRefusedError, match=complaint):
        read_config(json.dumps({**config, **settings}).encode())
    harmless = {"transformers_weights": "model.safetensors", "attn_implementation": "sdpa", "_name_or_path": "a/b"}
    assert read_config(json.dumps({**config, **harmless}).encode()).architecture == "gpt2"


def test_an_index_names_weights_beside_it_only():
    for name in ("../x/model.safetensors", "/a/model.safetensors", "model.bin", "a\\b.safetensors", ""):
        index = json.dumps({"weight_map": {"a": "model-00001-of-00001.safetensors", "b": name}}).encode()
        with pytest.raises(ModelRefusedError, match="no safetensors file beside it"):
            shards_named(index, name="model.safetensors.index.json")
