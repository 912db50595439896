"""Which architectures are loaded, by `model_type`: text models whose memory follows from `config_fields`.

A closed list, in plain data: importing the tables of `transformers` imports torch, which a site that only looks at a
configuration does without. A test compares the settings of each with `config_fields`.
"""

CAUSAL = frozenset(
    {
        "apertus", "arcee", "biogpt", "bloom", "codegen", "cohere", "deepseek_v2", "deepseek_v3", "ernie4_5", "exaone4",
        "falcon", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "gpt-sw3", "gpt2", "gpt_bigcode", "gpt_neo",
        "gpt_neox", "gpt_oss", "gptj", "granite", "helium", "hunyuan_v1_dense", "internlm3", "llama", "ministral",
        "mistral", "mixtral", "mpt", "nemotron", "olmo", "olmo2", "openai-gpt", "opt", "persimmon", "phi", "phi3",
        "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2", "xglm",
    }
)  # fmt: skip
SEQUENCE_TO_SEQUENCE = frozenset(
    {
        "bart", "blenderbot", "blenderbot-small", "led", "longt5", "m2m_100", "marian", "mbart", "mt5", "pegasus",
        "plbart", "switch_transformers", "t5", "umt5",
    }
)  # fmt: skip
