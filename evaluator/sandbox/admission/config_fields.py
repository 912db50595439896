"""Which settings of a submitted model's `config.json` are used, and the range of each. No torch.

A configuration class keeps whatever it is given, and a single number of it can ask for more memory than there is. So
the class gets only the settings that are listed here, each within its range. All others, such as settings of
generation, labels and overrides for single layers, never reach it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite, prod
from typing import Any

_Json = Any
Reader = Callable[[_Json, str], _Json]
"""Reads the value of a setting by its name. Raises ConfigError."""

MOST_LAYERS = 200
"""The deepest published model has 126."""
MOST_WIDTH = 32_768
MOST_POSITIONS = 4 * 1024 * 1024
MOST_VOCABULARY = 2**20
_MOST_TABLE_POSITIONS = 65_536
_MOST_SLOW_TABLE = 2**21
"""Entries of a table of positions that is computed one by one; 1024 x 1024 are published."""
_MOST_EXPERTS = 20_000
"""Of all layers together; each may be a module of its own. 15,600 are published."""
_MOST_LISTED = 256
_LONGEST_TEXT = 100
_MOST_UNKNOWN = 10_000_000
"""A larger number in a setting that is not listed is refused, although it would not be used."""

TABLES = frozenset(
    {
        "bart", "biogpt", "blenderbot", "blenderbot-small", "bloom", "codegen", "gpt-sw3", "gpt2", "gpt_bigcode",
        "gpt_neo", "gptj", "led", "m2m_100", "marian", "mbart", "mpt", "openai-gpt", "opt", "pegasus", "plbart", "xglm",
    }
)  # fmt: skip
"""Architectures with a table that grows with the number of positions."""
_SLOW_TABLES = frozenset({"marian", "pegasus"})


class ConfigError(ValueError):
    """A setting is not accepted; the message continues the sentence that `config.json` begins."""


def checked_fields(content: Mapping[str, _Json], *, architecture: str) -> dict[str, _Json]:
    """The settings that are used.

    Args:
        content: of `config.json`.
        architecture: its `model_type`, one of those that are loaded here.

    Raises:
        ConfigError: one is out of its range or of a wrong kind, or they are too large together.
    """
    for name, value in content.items():
        if name not in FIELDS and _is_number(value) and not abs(value) <= _MOST_UNKNOWN:
            raise ConfigError(f"says {name[:60]} {_shown(value)}; at most {_MOST_UNKNOWN} are possible")
    found = {name: read(content[name], name) for name, read in FIELDS.items() if content.get(name) is not None}
    # None can mean something else than leaving a setting out.
    found |= {name: None for name in FIELDS if name in content and content[name] is None}
    _check_together(found, architecture=architecture)
    return found


def _check_together(fields: Mapping[str, _Json], *, architecture: str) -> None:
    positions = _largest(fields, _POSITION_NAMES)
    if architecture in TABLES and positions > _MOST_TABLE_POSITIONS:
        raise ConfigError(
            f"says {positions} positions; at most {_MOST_TABLE_POSITIONS} are possible for {architecture}"
        )
    if architecture in _SLOW_TABLES and positions * _largest(fields, _WIDTH_NAMES) > _MOST_SLOW_TABLE:
        raise ConfigError(
            f"describes a table of positions with {positions * _largest(fields, _WIDTH_NAMES)} entries; at most "
            f"{_MOST_SLOW_TABLE} are possible for {architecture}"
        )
    experts = prod(max(1, _largest(fields, names)) for names in (_LAYER_NAMES, _EXPERT_NAMES))
    if experts > _MOST_EXPERTS:
        raise ConfigError(f"describes {experts} experts in all layers together; at most {_MOST_EXPERTS} are possible")


def _largest(fields: Mapping[str, _Json], names: Sequence[str]) -> int:
    return max((fields[name] for name in names if isinstance(fields.get(name), int)), default=0)


def _is_number(value: _Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: _Json) -> str:
    return repr(value)[:40] if isinstance(value, str | int | float) else f"a {type(value).__name__}"


def _from(least: int, most: int) -> Reader:
    """Whole numbers of a range."""

    def read(value: _Json, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"says {name} {_shown(value)}; possible are whole numbers from {least} to {most}")
        return value

    return read


def _scalar(value: _Json, name: str) -> float:
    """A number that is computed with, and multiplies no memory."""
    if not _is_number(value) or not isfinite(value) or abs(value) > 1e12:
        raise ConfigError(f"says {name} {_shown(value)}; possible are numbers up to 1e12")
    return value  # type: ignore[no-any-return]


def _flag(value: _Json, name: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"says {name} {_shown(value)}; possible are true and false")
    return value


def _word(value: _Json, name: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not re.fullmatch(r"[\w.+-]*", value, re.ASCII):
        raise ConfigError(f"says {name} {_shown(value)}; possible is a word of at most {_LONGEST_TEXT} characters")
    return value


def _either(*readers: Reader) -> Reader:
    """What one of them accepts; the last one complains."""

    def read(value: _Json, name: str) -> _Json:
        for reader in readers[:-1]:
            try:
                return reader(value, name)
            except ConfigError:
                continue
        return readers[-1](value, name)

    return read


def _list_of(reader: Reader, *, most: int = _MOST_LISTED) -> Reader:
    def read(value: _Json, name: str) -> list[_Json]:
        if not isinstance(value, list) or len(value) > most:
            raise ConfigError(f"says {name} {_counted(value)}; possible is a list of at most {most} entries")
        return [reader(one, name) for one in value]

    return read


def _counted(value: _Json) -> str:
    return f"a list of {len(value)} entries" if isinstance(value, list) else _shown(value)


def _object_of(readers: Mapping[str, Reader]) -> Reader:
    """The listed entries of an object; empty ones stay."""

    def read(value: _Json, name: str) -> dict[str, _Json]:
        if not isinstance(value, dict):
            raise ConfigError(f"says {name} {_shown(value)}; possible is an object")
        return {
            key: None if value[key] is None else reader(value[key], f"{name}.{key}")
            for key, reader in readers.items()
            if key in value
        }

    return read


def _attention_types(value: _Json, name: str) -> list[_Json]:
    """Of GPT-Neo: `[[["global", "local"], 12]]`, kinds and how often they are repeated."""
    found: list[_Json] = _list_of(lambda one, _: one)(value, name)
    total = 0
    for one in found:
        if not isinstance(one, list) or len(one) != 2:
            raise ConfigError(f"says {name} {_shown(one)}; possible are pairs of kinds and a number")
        total += len(_list_of(_word, most=8)(one[0], name)) * _LAYERS(one[1], name)
    if total > MOST_LAYERS:
        raise ConfigError(f"says {name} for {total} layers; at most {MOST_LAYERS} are possible")
    return found


_LAYERS = _from(1, MOST_LAYERS)
_LAYER = _from(0, MOST_LAYERS)
_HEADS = _from(1, 512)
_HEAD_SIZE = _from(1, 1024)
_WIDTH = _from(1, MOST_WIDTH)
_FFN = _from(1, 8 * MOST_WIDTH)
_EXPERTS = _from(0, 512)
_POSITIONS = _from(1, MOST_POSITIONS)
_TOKENS = _from(1, MOST_VOCABULARY)
_TOKEN_ID = _from(-1, MOST_VOCABULARY)
_WINDOW = _from(0, MOST_POSITIONS)
_FACTORS = _list_of(_scalar, most=512)

_LAYER_NAMES = (
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers",
)  # fmt: skip
_POSITION_NAMES = (
    "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_encoder_position_embeddings",
    "max_decoder_position_embeddings", "original_max_position_embeddings",
)  # fmt: skip
_WIDTH_NAMES = ("hidden_size", "n_embd", "n_embed", "d_model")
_EXPERT_NAMES = ("num_experts", "num_local_experts", "n_routed_experts")

_ROPE: Mapping[str, Reader] = {
    **dict.fromkeys(("type", "rope_type"), _word),
    **dict.fromkeys(
        ("factor", "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
         "attention_factor", "rope_theta", "partial_rotary_factor", "short_mscale", "long_mscale",
         "llama_4_scaling_beta", "alpha"),
        _scalar,
    ),
    **dict.fromkeys(("short_factor", "long_factor"), _FACTORS),
    **dict.fromkeys(("original_max_position_embeddings", "max_position_embeddings"), _POSITIONS),
    "truncate": _flag,
}  # fmt: skip
_ROTARY = _object_of(
    {**_ROPE, **dict.fromkeys(("full_attention", "sliding_attention", "chunked_attention"), _object_of(_ROPE))}
)
_MPT_ATTENTION = _object_of(
    {
        **dict.fromkeys(("attn_type", "attn_impl"), _word),
        **dict.fromkeys(("attn_pdrop", "clip_qkv", "softmax_scale"), _scalar),
        **dict.fromkeys(("prefix_lm", "qk_ln", "attn_uses_sequence_id", "alibi"), _flag),
        "alibi_bias_max": _from(1, 64),
    }
)

FIELDS: Mapping[str, Reader] = {
    **dict.fromkeys(_LAYER_NAMES, _LAYERS),
    **dict.fromkeys(
        ("max_window_layers", "num_sparse_encoder_layers", "num_sparse_decoder_layers", "first_k_dense_replace",
         "no_rope_layer_interval", "decoder_sparse_step"),
        _LAYER,
    ),
    **dict.fromkeys(("num_mtp_layers", "num_nextn_predict_layers"), _from(0, 4)),
    **dict.fromkeys(
        ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads", "encoder_attention_heads",
         "decoder_attention_heads", "num_key_value_heads", "num_kv_heads"),
        _HEADS,
    ),
    **dict.fromkeys(
        ("head_dim", "d_kv", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "rotary_dim"), _HEAD_SIZE
    ),
    **dict.fromkeys(
        (*_WIDTH_NAMES, "word_embed_proj_dim", "kv_lora_rank", "q_lora_rank", "query_pre_attn_scalar"), _WIDTH
    ),
    **dict.fromkeys(
        ("intermediate_size", "n_inner", "d_ff", "ffn_dim", "ffn_hidden_size", "encoder_ffn_dim", "decoder_ffn_dim",
         "moe_intermediate_size", "shared_expert_intermediate_size"),
        _FFN,
    ),
    "expansion_ratio": _from(1, 16),
    **dict.fromkeys(
        (*_EXPERT_NAMES, "n_shared_experts", "num_experts_per_tok", "n_group", "topk_group"), _EXPERTS
    ),
    "expert_capacity": _from(1, 4096),
    **dict.fromkeys(("vocab_size", "decoder_vocab_size"), _TOKENS),
    **dict.fromkeys(_POSITION_NAMES, _POSITIONS),
    **dict.fromkeys(("sliding_window", "window_size"), _WINDOW),
    "attention_window": _either(_from(1, 65_536), _list_of(_from(1, 65_536))),
    **dict.fromkeys(("local_radius", "global_block_size"), _from(1, 4096)),
    "relative_attention_num_buckets": _from(1, 4096),
    "relative_attention_max_distance": _from(1, 65_536),
    "pretraining_tp": _from(1, 64),
    "num_ln_in_parallel_attn": _from(1, 2),
    "sliding_window_pattern": _either(_LAYER, _word),
    **dict.fromkeys(("bos_token_id", "pad_token_id", "decoder_start_token_id", "eod_token_id"), _TOKEN_ID),
    "eos_token_id": _either(_TOKEN_ID, _list_of(_TOKEN_ID, most=16)),
    "layer_types": _list_of(_word),
    **dict.fromkeys(("no_rope_layers", "mlp_only_layers"), _list_of(_LAYER)),
    "attention_types": _attention_types,
    **dict.fromkeys(("rope_parameters", "rope_scaling"), _ROTARY),
    "attn_config": _MPT_ATTENTION,
    **dict.fromkeys(
        ("activation_dropout", "attention_dropout", "attention_multiplier", "attention_probs_dropout_prob",
         "attn_logit_softcapping", "attn_pdrop", "classifier_dropout", "clip_qkv", "decoder_layerdrop", "dropout",
         "dropout_rate", "emb_pdrop", "embd_pdrop", "embed_dropout", "embedding_dropout", "embedding_fraction",
         "embedding_multiplier", "encoder_layerdrop", "final_logit_softcapping", "hidden_dropout",
         "hidden_dropout_prob", "init_std", "initializer_factor", "initializer_range", "layer_norm_eps",
         "layer_norm_epsilon", "layerdrop", "logits_scaling", "norm_eps", "norm_epsilon", "partial_rotary_factor",
         "resid_dropout", "resid_pdrop", "residual_dropout", "residual_multiplier", "rms_norm_eps",
         "rope_local_base_freq", "rope_theta", "rotary_emb_base", "rotary_pct", "routed_scaling_factor",
         "router_aux_loss_coef", "router_jitter_noise", "router_z_loss_coef", "summary_first_dropout", "swiglu_alpha",
         "swiglu_limit"),
        _scalar,
    ),
    "logit_scale": _either(_scalar, _word),
    **dict.fromkeys(
        ("_remove_final_layer_norm", "add_cross_attention", "add_router_probs", "alibi",
         "apply_residual_connection_post_layernorm", "attention_bias", "attention_out_bias",
         "attention_softmax_in_fp32", "bias", "do_layer_norm_before", "enable_bias", "is_decoder",
         "is_encoder_decoder", "is_gated_act", "layer_norm_elementwise_affine", "learned_pos_emb", "mlp_bias",
         "multi_query", "new_decoder_architecture", "no_bias", "norm_topk_prob", "parallel_attn", "qk_layernorm",
         "qkv_bias", "reorder_and_upcast_attn", "rope_interleave", "router_bias", "router_ignore_padding_tokens",
         "scale_attention_softmax_in_fp32", "scale_attn_by_inverse_layer_idx", "scale_attn_weights",
         "scale_decoder_outputs", "scale_embedding", "share_encoder_decoder_embeddings", "slow_but_exact",
         "summary_proj_to_labels", "summary_use_proj", "tie_word_embeddings", "use_bias",
         "use_bidirectional_attention", "use_cache", "use_parallel_residual", "use_qk_norm", "use_qkv_bias",
         "use_sliding_window"),
        _flag,
    ),
    **dict.fromkeys(
        ("activation", "activation_function", "afn", "dense_act_fn", "encoder_attention_type", "feed_forward_proj",
         "hidden_act", "hidden_activation", "norm_type", "router_dtype", "summary_activation", "summary_type",
         "topk_method", "transformers_version"),
        _word,
    ),
}  # fmt: skip
"""The settings that are used, each by its reader."""

UNUSED = frozenset(
    {
        "architectures", "chunk_size_feed_forward", "dtype", "encoder_no_repeat_ngram_size", "forced_eos_token_id",
        "id2label", "init_device", "label2id", "output_hidden_states", "output_router_logits", "problem_type",
        "return_dict",
    }
)  # fmt: skip
"""Fields of the configuration classes that keep their defaults: labels, precision, outputs, generation."""
