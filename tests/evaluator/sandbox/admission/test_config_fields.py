"""Settings of configurations: what is not listed is not used, and what needs too much memory is not loaded."""

import dataclasses
import json
import tracemalloc

import pytest

from evaluator.sandbox.admission.config_fields import UNUSED, USED
from evaluator.sandbox.admission.rules import CAUSAL, SEQUENCE_TO_SEQUENCE, end_tokens, read_config
from tests.fakes.strategies import generate
from tests.fakes.tiny_models import byte_level_bpe, gpt2, llama, saved
from tests.rings import usual


def config(**changes) -> bytes:
    return json.dumps({"model_type": "llama", **changes}).encode()


def test_overrides_labels_and_settings_of_generation_never_reach_the_configuration(tmp_path):
    from evaluator.planners.language_models.local.model_loading import read_settings

    hostile = {
        "per_layer_config": {"0": {"intermediate_size": 10**6}}, "id2label": {str(at): "x" for at in range(5000)},
        "max_length": 10**6, "num_beams": 10**6, "num_return_sequences": 10**6, "bad_words_ids": [[1]],
        "forced_eos_token_id": 3, "task_specific_params": {"x": {"num_beams": 10**9}}, "output_scores": True,
        "_attn_implementation": "sdpa", "extra_files": ["../x.safetensors"],
    }  # fmt: skip
    (tmp_path / "config.json").write_bytes(config(num_hidden_layers=2, hidden_size=32, **hostile))
    found = read_settings(tmp_path).config
    assert (found.num_hidden_layers, found.num_labels) == (2, 2)
    assert not [name for name in hostile if name in read_config(config(**hostile)).fields]


@pytest.mark.parametrize(
    ("named", "own", "ends"),
    [
        (None, 5, (5,)), (5, 5, (5,)), (5, None, (5,)), (None, None, ()), (-1, 5, (5,)), ([1, -1, 106], None, (1, 106)),
        # As Llama 3 Instruct: the tokenizer's token ends a turn, and constrained texts.
        ([128_001, 128_008, 128_009], 128_009, (128_009, 128_001, 128_008)), (128_001, 128_009, (128_009, 128_001)),
        ([True, "7", [8], {}], 9, (9,)),
    ],
)  # fmt: skip
def test_a_text_ends_with_the_tokens_of_the_tokenizer_and_of_the_configuration(named, own, ends):
    assert end_tokens(named, own=own) == ends


def configured(folder, **changes):
    found = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**found, **changes}))
    return folder


def test_each_end_that_the_configuration_lists_ends_a_text(tmp_path):
    """As Llama 3: several ids in `config.json`, where other tools read them from `generation_config.json`."""

    import torch

    from evaluator.planners.language_models.local.model import LocalModel

    tokenizer = byte_level_bpe()
    model = gpt2(tokenizer)
    folder = saved(tmp_path / "m", model=model, tokenizer=tokenizer)
    [plain] = LocalModel.from_folder(folder).answer([generate("text", max_tokens=6)])
    assert plain.usage.completion_tokens == 6
    first = LocalModel.from_folder(folder).network
    prompt = torch.tensor([first.prompt(generate("text").messages).ids])
    with torch.no_grad():
        likeliest = int(first.module(prompt).logits[0, -1].argmax())
    own = first.tokenizer.eos_token_id
    listed = [own, likeliest] if likeliest != own else [own]
    ended = LocalModel.from_folder(configured(folder, eos_token_id=listed))
    assert set(ended.network.ends) == {own, likeliest}
    assert ended.network.ends[0] == own
    [short] = ended.answer([generate("text", max_tokens=6)])
    assert (short.text, short.usage.completion_tokens, short.truncated) == ("", 1, False)


HOSTILE_GENERATION = {
    "max_length": 1, "max_new_tokens": 1, "num_beams": 64, "num_return_sequences": 8, "do_sample": True,
    "temperature": 99.0, "bad_words_ids": [[at] for at in range(4, 300)], "suppress_tokens": list(range(4, 300)),
    "forced_bos_token_id": 1, "forced_decoder_ids": [[1, 1]], "output_scores": True, "stop_strings": ["e"],
    "prompt_lookup_num_tokens": 10, "cache_implementation": "static", "penalty_alpha": 0.6, "top_k": 1,
}  # fmt: skip


def test_settings_of_generation_are_not_read_wherever_they_are(tmp_path):
    from evaluator.planners.language_models.local.model import LocalModel

    tokenizer = byte_level_bpe()
    folder = saved(tmp_path / "m", model=gpt2(tokenizer), tokenizer=tokenizer)

    def answered():
        model = LocalModel.from_folder(folder)
        return model.network.ends, model.answer([generate("text", max_tokens=6)])

    plain = answered()
    hostile = json.dumps(HOSTILE_GENERATION).encode()
    for content in (b"\xff", b'{"eos_token_id": [9, 10], "decoder_start_token_id": 11}', b"[" * 100_000, hostile):
        (folder / "generation_config.json").write_bytes(content)
        assert answered() == plain, content[:50]
    configured(folder, **HOSTILE_GENERATION)
    assert answered() == plain


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"hidden_size": 32_768, "intermediate_size": 262_144, "num_hidden_layers": 20}, "describe a model of"),
        ({"vocab_size": 2**20, "hidden_size": 32_768}, "describe a model of"),
        ({"num_hidden_layers": 10**9}, "describe 1000000000 layers"),
        # Attention without weights of its own size: only keys and values grow.
        ({"num_hidden_layers": 20, "num_key_value_heads": 1, "num_attention_heads": 1, "head_dim": 1024,
          "hidden_size": 1, "intermediate_size": 1}, "keys and values of"),
    ],
)  # fmt: skip
def test_settings_of_two_kilobytes_that_ask_for_terabytes_are_refused_before_anything_is_allocated(
    tmp_path, changes, complaint
):
    from evaluator.planners.language_models import ModelUnusableError
    from evaluator.planners.language_models.local.model import LocalModel

    tokenizer = byte_level_bpe()
    folder = saved(tmp_path / "m", model=llama(tokenizer), tokenizer=tokenizer)
    configured(folder, **changes)
    tracemalloc.start()
    try:
        with pytest.raises(ModelUnusableError, match=complaint):
            LocalModel.from_folder(folder)
        assert tracemalloc.get_traced_memory()[1] < 100 * 1024**2
    finally:
        tracemalloc.stop()


SMALL = {
    **dict.fromkeys(("vocab_size", "max_position_embeddings"), 330),
    **dict.fromkeys(("num_hidden_layers", "num_layers", "encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("hidden_size", "intermediate_size", "d_model", "encoder_ffn_dim", "decoder_ffn_dim"), 32),
    **dict.fromkeys(("num_attention_heads", "encoder_attention_heads", "decoder_attention_heads"), 2),
    **dict.fromkeys(("pad_token_id", "decoder_start_token_id", "bos_token_id"), 0),
    "head_dim": 16, "num_key_value_heads": 1, "eos_token_id": 1, "num_local_experts": 4,
}  # fmt: skip


FAMILIES = ["gpt_neox", "qwen2", "qwen3", "mistral", "mixtral", "gemma2", "phi3", "bloom", "bart"]


@pytest.mark.parametrize("architecture", usual(FAMILIES, of=["qwen3", "mixtral", "bart"]))
def test_models_of_common_families_load_and_answer(tmp_path, architecture):
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    from evaluator.planners.language_models.local.model import LocalModel

    kind = CONFIG_MAPPING[architecture]
    names = {field.name for field in dataclasses.fields(kind)} | set(kind.attribute_map)
    wanted = kind(**{name: value for name, value in SMALL.items() if name in names})
    made = (AutoModelForSeq2SeqLM if wanted.is_encoder_decoder else AutoModelForCausalLM).from_config(wanted)
    folder = saved(tmp_path / "m", model=made, tokenizer=byte_level_bpe())
    loaded = LocalModel.from_folder(folder)
    assert type(loaded.network.module) is type(made)
    written = json.loads((folder / "config.json").read_text())
    assert {name: written[name] for name in written if name in USED} == {
        name: loaded.network.module.config.to_dict()[name] for name in written if name in USED
    }
    assert loaded.answer([generate("text", max_tokens=2)])[0].usage.completion_tokens


ALL = sorted(CAUSAL | SEQUENCE_TO_SEQUENCE)


def test_they_are_among_those_of_the_installed_transformers():
    from transformers.models.auto import modeling_auto

    assert set(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) >= CAUSAL
    assert set(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES) >= SEQUENCE_TO_SEQUENCE


def test_every_setting_of_an_architecture_is_used_or_left_out():
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    unknown = {}
    for architecture in ALL:
        kind = CONFIG_MAPPING[architecture]
        names = {field.name for field in dataclasses.fields(kind)} | set(kind.attribute_map)
        unknown[architecture] = names - USED - UNUSED
    assert {architecture: names for architecture, names in unknown.items() if names} == {}


def test_an_end_of_the_tokenizer_that_the_model_cannot_give_is_left_out(tmp_path):
    from evaluator.planners.language_models import ModelUnusableError
    from evaluator.planners.language_models.local.model import LocalModel

    tokenizer = byte_level_bpe()
    tokenizer.add_special_tokens({"eos_token": "<beyond>"})
    model = gpt2(tokenizer)
    model.resize_token_embeddings(len(tokenizer) - 1)
    folder = saved(tmp_path / "m", model=model, tokenizer=tokenizer)
    assert LocalModel.from_folder(configured(folder, eos_token_id=[3, 4])).network.ends == (3, 4)
    with pytest.raises(ModelUnusableError, match="and the model knows 330"):
        LocalModel.from_folder(configured(folder, eos_token_id=None))


def test_the_cache_of_a_published_model_is_as_large_as_known():
    """Llama 3.1 8B: 128 KiB for each token in half precision."""
    from transformers import LlamaConfig

    from evaluator.planners.language_models.local.model_loading import cache_bytes

    checked = read_config(config(hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8))
    assert cache_bytes(LlamaConfig(**checked.fields), tokens=1) * 2 == 128 * 1024
