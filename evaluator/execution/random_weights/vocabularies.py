"""Vocabularies of stand-in tokenizers, so that texts have usual lengths.

They are trained on the English prose that every Python comes with: the help topics of `pydoc`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

BYTES = tuple(sorted(pre_tokenizers.ByteLevel.alphabet()))
END = "<|endoftext|>"
MASKING = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
"""Special tokens of RoBERTa and BART, in the order of their ids."""


def write_json(path: Path, content: object) -> None:
    """A file of JSON, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def write_byte_pairs(folder: Path, *, count: int, specials: Sequence[str], **names: object) -> None:
    """`tokenizer.json` with pairs of bytes, as of GPT-2 and RoBERTa.

    Args:
        folder: of the checkpoint.
        count: tokens that the model has, special ones included.
        specials: the special tokens; their ids begin with 0.
        names: of the special tokens, and further settings, for `tokenizer_config.json`.
    """
    trained = json.loads(_byte_pairs(count, tuple(specials)))
    trained["model"]["vocab"] = _filled(trained["model"]["vocab"], count=count)
    _write(folder, Tokenizer.from_str(json.dumps(trained)), **names)


def write_word_pieces(folder: Path, *, count: int, lowers: bool) -> None:
    """`vocab.txt` of `count` lines, as of BERT; `lowers`: whether texts are read in small letters."""
    write_json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "BertTokenizer", "model_max_length": 512, "do_lower_case": lowers},
    )
    pieces = sorted((vocabulary := _filled(_word_pieces(count), count=count)), key=vocabulary.__getitem__)
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")


def write_sentence_pieces(folder: Path, *, count: int) -> None:
    """`tokenizer.json` with marked beginnings of words, as of T5."""
    trained = json.loads(_sentence_pieces(count))
    trained["model"]["vocab"] = _filled(trained["model"]["vocab"], count=count)
    names = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    _write(folder, Tokenizer.from_str(json.dumps(trained)), model_max_length=512, **names)


def write_clip_words(folder: Path, *, count: int) -> None:
    """`vocab.json` and `merges.txt` as of CLIP: bytes only, since its encoder pads texts to one length."""
    tokens = [*BYTES, *(f"{letter}</w>" for letter in BYTES), "th"]
    tokens += [f"unused{number}" for number in range(count - 2 - len(tokens))]
    start, end = "<|startoftext|>", END
    write_json(folder / "vocab.json", {token: number for number, token in enumerate([*tokens, start, end])})
    (folder / "merges.txt").write_text("#version: 0.2\nt h\n", encoding="utf-8")
    names = {"bos_token": start, "eos_token": end, "unk_token": end, "pad_token": end}
    write_json(folder / "tokenizer_config.json", {**names, "tokenizer_class": "CLIPTokenizer", "model_max_length": 77})


def _write(folder: Path, tokenizer: Tokenizer, **settings: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **settings})


def _prose() -> Iterator[str]:
    from pydoc_data.topics import topics

    return iter(topics.values())


def _filled(vocabulary: Mapping[str, int], *, count: int) -> dict[str, int]:
    """The vocabulary with pieces that no text has, up to `count`, so that every id of the model is one."""
    known = len(vocabulary)
    return {**vocabulary, **{f"unused{number}": number for number in range(known, count)}}


@cache
def _byte_pairs(count: int, specials: tuple[str, ...]) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=count, special_tokens=list(specials), initial_alphabet=list(BYTES), show_progress=False
    )
    tokenizer.train_from_iterator(_prose(), trainer)
    return str(tokenizer.to_str())


@cache
def _word_pieces(count: int) -> Mapping[str, int]:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=count, special_tokens=specials, show_progress=False)
    tokenizer.train_from_iterator((text.lower() for text in _prose()), trainer)
    # Numbered again, since the trainer leaves gaps where it finds a piece twice.
    vocabulary = tokenizer.get_vocab()
    return {piece: number for number, piece in enumerate(sorted(vocabulary, key=vocabulary.__getitem__))}


@cache
def _sentence_pieces(count: int) -> str:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=count, special_tokens=["<pad>", "</s>", "<unk>"], show_progress=False)
    tokenizer.train_from_iterator(_prose(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return str(tokenizer.to_str())
