"""What may be in a submitted `tokenizer.json`. No torch, no network, no native code.

The file is parsed here with bounds, and only what this module knows goes into the text that the native library reads:
truncation, padding, dropout and unknown settings never reach it, and two parsers cannot understand a file differently.
Every component is of a listed type; numbers, texts and nesting have ranges; the growth of a text is bounded.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

from evaluator.sandbox.admission.rules import ModelRefusedError
from evaluator.sandbox.admission.tokenizer_components import (
    DECODERS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    in_words,
    read_sequence,
)
from evaluator.sandbox.admission.tokenizer_fields import (
    LONGEST_TOKEN,
    NAME,
    Fields,
    Json,
    read_flag,
    read_list,
    read_number,
    read_object,
    read_text,
    read_token_id,
    refused,
    shown,
)

MOST_JSON_VALUES = 5_000_000
"""Keys, values, lists and objects; bounds the memory for reading the file. The largest published have 3 million."""
MOST_VOCABULARY = 600_000
"""Tokens of the model. The largest published vocabularies have some 260,000."""
MOST_MERGES = 1_500_000
MOST_ADDED_TOKENS = 20_000
"""Published: 6,500 of Gemma 3."""
MOST_GROWTH = 1024
"""Bytes that one byte of a text may become in all normalizers together."""
_MOST_DECODER_GROWTH = 16
_MOST_WORD_CHARACTERS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerContent:
    """A tokenizer that passed."""

    content: Mapping[str, Json]
    """What the native library is given."""
    growth: float
    """Bytes that one byte of a text becomes at most before it is split."""
    most_id: int
    """The largest token id that it can give."""

    @property
    def text(self) -> str:
        """The content as JSON."""
        return json.dumps(self.content, allow_nan=False)


def read_tokenizer(data: bytes) -> TokenizerContent:
    """The tokenizer in `tokenizer.json`.

    Raises:
        ModelRefusedError: it is none, or has a component, a number or a text that is not accepted.
    """
    content = _parsed(data)
    model, vocabulary = _model(read_object(content.get("model"), where="model"))
    added = _added_tokens(content.get("added_tokens"))
    normalizer, growth = read_sequence(
        content.get("normalizer"), kinds=NORMALIZERS, inner="normalizers", of="normalizer"
    )
    if growth > MOST_GROWTH:
        raise refused(
            "normalizer", f"may make a text {growth:.0f} times as long; at most {MOST_GROWTH} times are possible"
        )
    pre_tokenizer, _ = read_sequence(
        content.get("pre_tokenizer"), kinds=PRE_TOKENIZERS, inner="pretokenizers", of="pre_tokenizer"
    )
    processor, _ = read_sequence(
        content.get("post_processor"), kinds=POST_PROCESSORS, inner="processors", of="post_processor"
    )
    decoder, decoder_growth = read_sequence(content.get("decoder"), kinds=DECODERS, inner="decoders", of="decoder")
    if decoder_growth > _MOST_DECODER_GROWTH:
        raise refused(
            "decoder",
            f"may make a text {decoder_growth:.0f} times as long; at most {_MOST_DECODER_GROWTH} are possible",
        )
    return TokenizerContent(
        content={
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer,
            "post_processor": processor,
            "decoder": decoder,
            "model": model,
        },
        growth=growth,
        most_id=max([vocabulary, *(token["id"] for token in added)]),
    )


def _parsed(data: bytes) -> Fields:
    if sum(data.count(sign) for sign in (b",", b":", b"[", b"{")) > MOST_JSON_VALUES:
        raise ModelRefusedError(f"{NAME} has more than {MOST_JSON_VALUES} values; no tokenizer needs as many.")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ModelRefusedError(f"{NAME} is no JSON object.")
    return content


def _optional_text(value: Json, *, where: str) -> str | None:
    return None if value is None else read_text(value, where=where, most=LONGEST_TOKEN)


# The model


def _model(content: Fields) -> tuple[Fields, int]:
    """The model, and the largest id in its vocabulary."""
    kind = content.get("type", _untyped(content))
    if not isinstance(kind, str) or kind not in _MODELS:
        raise refused("model", f"is of the type {shown(kind)}; possible are {in_words(_MODELS)}")
    return _MODELS[kind](content)


def _untyped(content: Fields) -> str:
    """What a model of the first versions is, which wrote no type."""
    if "merges" in content:
        return "BPE"
    if isinstance(content.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "max_input_chars_per_word" in content else "WordLevel"


def _vocabulary(content: Fields) -> tuple[Mapping[str, int], int]:
    vocabulary = read_object(content.get("vocab"), where="model.vocab")
    if len(vocabulary) > MOST_VOCABULARY:
        raise refused("model.vocab", f"has {len(vocabulary)} tokens; at most {MOST_VOCABULARY} are possible")
    for token, number in vocabulary.items():
        read_text(token, where="a token of model.vocab", most=LONGEST_TOKEN)
        read_token_id(number, where="an id in model.vocab")
    return vocabulary, max(vocabulary.values(), default=0)


def _bpe(content: Fields) -> tuple[Fields, int]:
    vocabulary, most = _vocabulary(content)
    merges = read_list(content.get("merges"), where="model.merges", most=MOST_MERGES)
    if not all(map(_is_merge, merges)):
        raise refused("model.merges", f"has an entry that is no pair of tokens of at most {LONGEST_TOKEN} characters")
    names = ("unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    flags = ("fuse_unk", "byte_fallback", "ignore_merges")
    return {
        "type": "BPE",
        "dropout": None,
        **{name: _optional_text(content.get(name), where=f"model.{name}") for name in names},
        **{name: read_flag(content.get(name) or False, where=f"model.{name}") for name in flags},
        "vocab": vocabulary,
        "merges": merges,
    }, most


def _is_merge(merge: Json) -> bool:
    if isinstance(merge, str):
        return len(merge) <= 2 * LONGEST_TOKEN + 1
    return (
        isinstance(merge, list) and len(merge) == 2
        and all(isinstance(part, str) and len(part) <= LONGEST_TOKEN for part in merge)
    )  # fmt: skip


def _word_piece(content: Fields) -> tuple[Fields, int]:
    vocabulary, most = _vocabulary(content)
    longest = content.get("max_input_chars_per_word", 100)
    return {
        "type": "WordPiece",
        "unk_token": read_text(content.get("unk_token", "[UNK]"), where="model.unk_token", most=LONGEST_TOKEN),
        "continuing_subword_prefix": read_text(
            content.get("continuing_subword_prefix", "##"), where="model.continuing_subword_prefix"
        ),
        # Words are read in quadratic time.
        "max_input_chars_per_word": read_number(
            longest, where="model.max_input_chars_per_word", least=1, most=_MOST_WORD_CHARACTERS
        ),
        "vocab": vocabulary,
    }, most


def _word_level(content: Fields) -> tuple[Fields, int]:
    vocabulary, most = _vocabulary(content)
    unknown = read_text(content.get("unk_token", "<unk>"), where="model.unk_token", most=LONGEST_TOKEN)
    return {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown}, most


def _unigram(content: Fields) -> tuple[Fields, int]:
    pieces = read_list(content.get("vocab"), where="model.vocab", most=MOST_VOCABULARY)
    for piece in pieces:
        if not isinstance(piece, list) or len(piece) != 2 or not _is_score(piece[1]):
            raise refused("model.vocab", "has an entry that is no pair of a token and its score")
        read_text(piece[0], where="a token of model.vocab", most=LONGEST_TOKEN)
    unknown = content.get("unk_id")
    return {
        "type": "Unigram",
        "unk_id": None
        if unknown is None
        else read_number(unknown, where="model.unk_id", least=0, most=max(0, len(pieces) - 1)),
        "vocab": pieces,
        "byte_fallback": read_flag(content.get("byte_fallback") or False, where="model.byte_fallback"),
    }, max(0, len(pieces) - 1)


def _is_score(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 and isfinite(value)


_MODELS: Mapping[str, Callable[[Fields], tuple[Fields, int]]] = {
    "BPE": _bpe,
    "Unigram": _unigram,
    "WordLevel": _word_level,
    "WordPiece": _word_piece,
}


def _added_tokens(value: Json) -> list[dict[str, Json]]:
    tokens = read_list(value or [], where="added_tokens", most=MOST_ADDED_TOKENS)
    return [_added_token(read_object(token, where="an entry of added_tokens")) for token in tokens]


def _added_token(token: Fields) -> dict[str, Json]:
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {
        "id": read_token_id(token.get("id"), where="the id of an added token"),
        "content": read_text(token.get("content"), where="the content of an added token", most=LONGEST_TOKEN, least=1),
        **{flag: read_flag(token.get(flag) or False, where=f"{flag} of an added token") for flag in flags},
    }


# The other components: for each type its fields and how much longer it makes a text
