"""Small checkpoints in the layout of sentence-transformers: a BERT over whole words."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
MODULES = ("Transformer", "Pooling", "Normalize")


def save_checkpoint(
    folder: Path,
    *,
    words: Sequence[str],
    layers: int = 2,
    modules: Sequence[str] = MODULES,
    pooling: Mapping[str, object] = MEAN,
    settings: Mapping[str, object] | None = None,
    prompt: str | None = None,
    synonyms: Mapping[str, str] | None = None,
) -> Path:
    """Args:
    folder: is made.
    words: the vocabulary, in lower case.
    layers: 0: a bag of words.
    modules: names of the modules of sentence-transformers.
    pooling: configuration of the pooling.
    settings: of the tokenizer.
    prompt: name of a default prompt.
    synonyms: words that have the embedding of another word.
    """
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    vocabulary = {word: index for index, word in enumerate((*SPECIAL, *words))}
    tokenizer = Tokenizer(models.WordLevel(vocab=vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=64,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    model = BertModel(config)
    embeddings = model.embeddings
    torch.nn.init.normal_(embeddings.word_embeddings.weight)
    with torch.no_grad():
        embeddings.word_embeddings.weight[: len(SPECIAL)] = 0
        for word, other in (synonyms or {}).items():
            embeddings.word_embeddings.weight[vocabulary[word]] = embeddings.word_embeddings.weight[vocabulary[other]]
    torch.nn.init.zeros_(embeddings.position_embeddings.weight)
    torch.nn.init.zeros_(embeddings.token_type_embeddings.weight)
    model.save_pretrained(folder)
    paths = {"Transformer": "", "Pooling": "1_Pooling"}
    rows = [
        {
            "idx": index,
            "name": str(index),
            "path": paths.get(kind, f"{index}_{kind}"),
            "type": f"sentence_transformers.models.{kind}",
        }
        for index, kind in enumerate(modules)
    ]
    _write(folder / "modules.json", rows)
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 64, **pooling})
    _write(folder / "sentence_bert_config.json", settings or {"max_seq_length": 16, "do_lower_case": False})
    _write(folder / "config_sentence_transformers.json", {"prompts": {}, "default_prompt_name": prompt})
    return folder


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))
