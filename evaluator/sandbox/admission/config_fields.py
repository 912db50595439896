"""The settings of a submitted model's `config.json` that are used. No torch.

A configuration class stores any argument, and published files also contain settings of generation, labels and overrides
for single layers. Only the settings listed here are passed to the class, so that the answers of a model depend on its
network and on the call only. Values are not checked: the sandbox that loads the model bounds their cost.
"""

USED = frozenset(
    {
        "_remove_final_layer_norm", "activation", "activation_dropout", "activation_function", "add_cross_attention",
        "add_router_probs", "afn", "alibi", "apply_residual_connection_post_layernorm", "attention_bias",
        "attention_dropout", "attention_heads", "attention_multiplier", "attention_out_bias",
        "attention_probs_dropout_prob", "attention_softmax_in_fp32", "attention_types", "attention_window",
        "attn_config", "attn_logit_softcapping", "attn_pdrop", "bias", "bos_token_id", "classifier_dropout", "clip_qkv",
        "d_ff", "d_kv", "d_model", "decoder_attention_heads", "decoder_ffn_dim", "decoder_layerdrop", "decoder_layers",
        "decoder_sparse_step", "decoder_start_token_id", "decoder_vocab_size", "dense_act_fn", "do_layer_norm_before",
        "dropout", "dropout_rate", "emb_pdrop", "embd_pdrop", "embed_dropout", "embedding_dropout",
        "embedding_fraction", "embedding_multiplier", "enable_bias", "encoder_attention_heads",
        "encoder_attention_type", "encoder_ffn_dim", "encoder_layerdrop", "encoder_layers", "eod_token_id",
        "eos_token_id", "expansion_ratio", "expert_capacity", "feed_forward_proj", "ffn_dim", "ffn_hidden_size",
        "final_logit_softcapping", "first_k_dense_replace", "global_block_size", "head_dim", "hidden_act",
        "hidden_activation", "hidden_dropout", "hidden_dropout_prob", "hidden_size", "init_std", "initializer_factor",
        "initializer_range", "intermediate_size", "is_decoder", "is_encoder_decoder", "is_gated_act", "kv_lora_rank",
        "layer_norm_elementwise_affine", "layer_norm_eps", "layer_norm_epsilon", "layer_types", "layerdrop",
        "learned_pos_emb", "local_radius", "logit_scale", "logits_scaling", "max_decoder_position_embeddings",
        "max_encoder_position_embeddings", "max_position_embeddings", "max_seq_len", "max_window_layers", "mlp_bias",
        "mlp_only_layers", "moe_intermediate_size", "multi_query", "n_ctx", "n_embd", "n_embed", "n_group", "n_head",
        "n_heads", "n_inner", "n_layer", "n_layers", "n_positions", "n_routed_experts", "n_shared_experts",
        "new_decoder_architecture", "no_bias", "no_rope_layer_interval", "no_rope_layers", "norm_eps", "norm_epsilon",
        "norm_topk_prob", "norm_type", "num_attention_heads", "num_decoder_layers", "num_experts",
        "num_experts_per_tok", "num_heads", "num_hidden_layers", "num_key_value_heads", "num_kv_heads", "num_layers",
        "num_ln_in_parallel_attn", "num_local_experts", "num_mtp_layers", "num_nextn_predict_layers",
        "num_sparse_decoder_layers", "num_sparse_encoder_layers", "original_max_position_embeddings", "pad_token_id",
        "parallel_attn", "partial_rotary_factor", "pretraining_tp", "q_lora_rank", "qk_layernorm", "qk_nope_head_dim",
        "qk_rope_head_dim", "qkv_bias", "query_pre_attn_scalar", "relative_attention_max_distance",
        "relative_attention_num_buckets", "reorder_and_upcast_attn", "resid_dropout", "resid_pdrop", "residual_dropout",
        "residual_multiplier", "rms_norm_eps", "rope_interleave", "rope_local_base_freq", "rope_parameters",
        "rope_scaling", "rope_theta", "rotary_dim", "rotary_emb_base", "rotary_pct", "routed_scaling_factor",
        "router_aux_loss_coef", "router_bias", "router_dtype", "router_ignore_padding_tokens", "router_jitter_noise",
        "router_z_loss_coef", "scale_attention_softmax_in_fp32", "scale_attn_by_inverse_layer_idx",
        "scale_attn_weights", "scale_decoder_outputs", "scale_embedding", "share_encoder_decoder_embeddings",
        "shared_expert_intermediate_size", "sliding_window", "sliding_window_pattern", "slow_but_exact",
        "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
        "swiglu_alpha", "swiglu_limit", "tie_word_embeddings", "topk_group", "topk_method", "transformers_version",
        "use_bias", "use_bidirectional_attention", "use_cache", "use_parallel_residual", "use_qk_norm", "use_qkv_bias",
        "use_sliding_window", "v_head_dim", "vocab_size", "window_size", "word_embed_proj_dim",
    }
)  # fmt: skip

UNUSED = frozenset(
    {
        "architectures", "chunk_size_feed_forward", "dtype", "encoder_no_repeat_ngram_size", "forced_eos_token_id",
        "id2label", "init_device", "label2id", "output_hidden_states", "output_router_logits", "problem_type",
        "return_dict",
    }
)  # fmt: skip
"""Fields of the configuration classes left at their defaults: labels, precision, outputs, generation."""
