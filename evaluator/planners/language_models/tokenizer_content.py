"""What may be in a submitted `tokenizer.json`. No torch, no network, no native code.

The file is parsed here with bounds, and only what this module knows goes into the text that the native library reads:
truncation, padding, dropout and unknown settings never reach it, and two parsers cannot understand a file differently.
Every component is of a listed type; numbers, texts and nesting have ranges; the growth of a text is bounded.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from evaluator.planners.language_models.admission import ModelRefusedError
from evaluator.planners.language_models.charsmap import longest_replacement
from evaluator.planners.language_models.tokenizer_patterns import checked_regex

NAME = "tokenizer.json"
MOST_JSON_VALUES = 5_000_000
"""Keys, values, lists and objects; bounds the memory for reading the file. The largest published have 3 million."""
MOST_VOCABULARY = 600_000
"""Tokens of the model. The largest published vocabularies have some 260,000."""
MOST_MERGES = 1_500_000
LONGEST_TOKEN = 1000
"""Characters. The longest published ones are runs of 512 spaces."""
MOST_ADDED_TOKENS = 20_000
"""Published: 6,500 of Gemma 3."""
MOST_TOKEN_ID = 2**20
MOST_STEPS = 32
"""Components in one sequence, nested ones included."""
MOST_NESTING = 3
MOST_GROWTH = 1024
"""Bytes that one byte of a text may become in all normalizers together."""
_MOST_DECODER_GROWTH = 16
_LONGEST_CONTENT = 64
"""Characters of a replacement, a prefix and the like."""
_MOST_WORD_CHARACTERS = 1000
_MOST_SPECIAL = 64
"""Tokens that a post-processor adds."""

_Json = Any
_Fields = Mapping[str, _Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerContent:
    """A tokenizer that passed."""

    content: Mapping[str, _Json]
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
    model, vocabulary = _model(_object(content.get("model"), where="model"))
    added = _added_tokens(content.get("added_tokens"))
    normalizer, growth = _sequence(content.get("normalizer"), kinds=_NORMALIZERS, inner="normalizers", of="normalizer")
    if growth > MOST_GROWTH:
        raise _refused(
            "normalizer", f"may make a text {growth:.0f} times as long; at most {MOST_GROWTH} times are possible"
        )
    pre_tokenizer, _ = _sequence(
        content.get("pre_tokenizer"), kinds=_PRE_TOKENIZERS, inner="pretokenizers", of="pre_tokenizer"
    )
    processor, _ = _sequence(
        content.get("post_processor"), kinds=_POST_PROCESSORS, inner="processors", of="post_processor"
    )
    decoder, decoder_growth = _sequence(content.get("decoder"), kinds=_DECODERS, inner="decoders", of="decoder")
    if decoder_growth > _MOST_DECODER_GROWTH:
        raise _refused(
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


def _parsed(data: bytes) -> _Fields:
    if sum(data.count(sign) for sign in (b",", b":", b"[", b"{")) > MOST_JSON_VALUES:
        raise ModelRefusedError(f"{NAME} has more than {MOST_JSON_VALUES} values; no tokenizer needs as many.")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ModelRefusedError(f"{NAME} is no JSON object.")
    return content


def _refused(where: str, what: str) -> ModelRefusedError:
    return ModelRefusedError(f"{NAME}: {where} {what}.")


def _object(value: _Json, *, where: str) -> _Fields:
    if not isinstance(value, dict):
        raise _refused(where, "is no object")
    return value


def _list(value: _Json, *, where: str, most: int) -> Sequence[_Json]:
    if not isinstance(value, list):
        raise _refused(where, "is no list")
    if len(value) > most:
        raise _refused(where, f"has {len(value)} entries; at most {most} are possible")
    return value


def _text(value: _Json, *, where: str, most: int = _LONGEST_CONTENT, least: int = 0) -> str:
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise _refused(where, f"must be a text of {least} to {most} characters")
    return value


def _optional_text(value: _Json, *, where: str) -> str | None:
    return None if value is None else _text(value, where=where, most=LONGEST_TOKEN)


def _flag(value: _Json, *, where: str) -> bool:
    if not isinstance(value, bool):
        raise _refused(where, "must be true or false")
    return value


def _number(value: _Json, *, where: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _refused(where, f"must be a whole number from {least} to {most}, not {_shown(value)}")
    return value


def _shown(value: _Json) -> str:
    return repr(value)[:40] if isinstance(value, str | int | float | None) else type(value).__name__


def _token_id(value: _Json, *, where: str) -> int:
    return _number(value, where=where, least=0, most=MOST_TOKEN_ID)


# The model


def _model(content: _Fields) -> tuple[_Fields, int]:
    """The model, and the largest id in its vocabulary."""
    kind = content.get("type", _untyped(content))
    if not isinstance(kind, str) or kind not in _MODELS:
        raise _refused("model", f"is of the type {_shown(kind)}; possible are {_in_words(_MODELS)}")
    return _MODELS[kind](content)


def _untyped(content: _Fields) -> str:
    """What a model of the first versions is, which wrote no type."""
    if "merges" in content:
        return "BPE"
    if isinstance(content.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "max_input_chars_per_word" in content else "WordLevel"


def _vocabulary(content: _Fields) -> tuple[Mapping[str, int], int]:
    vocabulary = _object(content.get("vocab"), where="model.vocab")
    if len(vocabulary) > MOST_VOCABULARY:
        raise _refused("model.vocab", f"has {len(vocabulary)} tokens; at most {MOST_VOCABULARY} are possible")
    for token, number in vocabulary.items():
        _text(token, where="a token of model.vocab", most=LONGEST_TOKEN)
        _token_id(number, where="an id in model.vocab")
    return vocabulary, max(vocabulary.values(), default=0)


def _bpe(content: _Fields) -> tuple[_Fields, int]:
    vocabulary, most = _vocabulary(content)
    merges = _list(content.get("merges"), where="model.merges", most=MOST_MERGES)
    if not all(map(_is_merge, merges)):
        raise _refused("model.merges", f"has an entry that is no pair of tokens of at most {LONGEST_TOKEN} characters")
    names = ("unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    flags = ("fuse_unk", "byte_fallback", "ignore_merges")
    return {
        "type": "BPE",
        "dropout": None,
        **{name: _optional_text(content.get(name), where=f"model.{name}") for name in names},
        **{name: _flag(content.get(name) or False, where=f"model.{name}") for name in flags},
        "vocab": vocabulary,
        "merges": merges,
    }, most


def _is_merge(merge: _Json) -> bool:
    if isinstance(merge, str):
        return len(merge) <= 2 * LONGEST_TOKEN + 1
    return (
        isinstance(merge, list) and len(merge) == 2
        and all(isinstance(part, str) and len(part) <= LONGEST_TOKEN for part in merge)
    )  # fmt: skip


def _word_piece(content: _Fields) -> tuple[_Fields, int]:
    vocabulary, most = _vocabulary(content)
    longest = content.get("max_input_chars_per_word", 100)
    return {
        "type": "WordPiece",
        "unk_token": _text(content.get("unk_token", "[UNK]"), where="model.unk_token", most=LONGEST_TOKEN),
        "continuing_subword_prefix": _text(
            content.get("continuing_subword_prefix", "##"), where="model.continuing_subword_prefix"
        ),
        # Words are read in quadratic time.
        "max_input_chars_per_word": _number(
            longest, where="model.max_input_chars_per_word", least=1, most=_MOST_WORD_CHARACTERS
        ),
        "vocab": vocabulary,
    }, most


def _word_level(content: _Fields) -> tuple[_Fields, int]:
    vocabulary, most = _vocabulary(content)
    unknown = _text(content.get("unk_token", "<unk>"), where="model.unk_token", most=LONGEST_TOKEN)
    return {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown}, most


def _unigram(content: _Fields) -> tuple[_Fields, int]:
    pieces = _list(content.get("vocab"), where="model.vocab", most=MOST_VOCABULARY)
    for piece in pieces:
        if not isinstance(piece, list) or len(piece) != 2 or not _is_score(piece[1]):
            raise _refused("model.vocab", "has an entry that is no pair of a token and its score")
        _text(piece[0], where="a token of model.vocab", most=LONGEST_TOKEN)
    unknown = content.get("unk_id")
    return {
        "type": "Unigram",
        "unk_id": None
        if unknown is None
        else _number(unknown, where="model.unk_id", least=0, most=max(0, len(pieces) - 1)),
        "vocab": pieces,
        "byte_fallback": _flag(content.get("byte_fallback") or False, where="model.byte_fallback"),
    }, max(0, len(pieces) - 1)


def _is_score(value: _Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 and isfinite(value)


_MODELS: Mapping[str, Callable[[_Fields], tuple[_Fields, int]]] = {
    "BPE": _bpe,
    "Unigram": _unigram,
    "WordLevel": _word_level,
    "WordPiece": _word_piece,
}


def _added_tokens(value: _Json) -> list[dict[str, _Json]]:
    tokens = _list(value or [], where="added_tokens", most=MOST_ADDED_TOKENS)
    return [_added_token(_object(token, where="an entry of added_tokens")) for token in tokens]


def _added_token(token: _Fields) -> dict[str, _Json]:
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {
        "id": _token_id(token.get("id"), where="the id of an added token"),
        "content": _text(token.get("content"), where="the content of an added token", most=LONGEST_TOKEN, least=1),
        **{flag: _flag(token.get(flag) or False, where=f"{flag} of an added token") for flag in flags},
    }


# The other components: for each type its fields and how much longer it makes a text


_Reader = Callable[[_Json, str], _Json]
"""Reads the value of a field at a place; raises ModelRefusedError."""


def _by(factor: float) -> Callable[[_Fields], float]:
    """The same growth whatever the fields are."""

    def growth(fields: _Fields) -> float:
        del fields
        return factor

    return growth


_SAME = _by(1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    fields: Mapping[str, _Reader]
    growth: Callable[[_Fields], float] = _SAME
    optional: Mapping[str, _Json] | None = None
    """Values of fields that may be left out."""


def _sequence(
    value: _Json, *, kinds: Mapping[str, _Kind], inner: str, of: str
) -> tuple[dict[str, _Json] | None, float]:
    """A component or a sequence of them as it is passed on, and the growth of all."""
    if value is None:
        return None, 1.0
    count = 0

    def read(part: _Json, *, where: str, depth: int) -> tuple[dict[str, _Json], float]:
        nonlocal count
        count += 1
        if count > MOST_STEPS or depth > MOST_NESTING:
            raise _refused(of, f"has more than {MOST_STEPS} steps, or sequences in sequences in sequences")
        fields = _object(part, where=where)
        kind = fields.get("type")
        if kind == "Sequence":
            steps = _list(fields.get(inner), where=f"{where}.{inner}", most=MOST_STEPS)
            found = [read(step, where=f"{where}.{inner}[{at}]", depth=depth + 1) for at, step in enumerate(steps)]
            growth = 1.0
            for _, factor in found:
                growth *= factor
            return {"type": "Sequence", inner: [step for step, _ in found]}, growth
        if not isinstance(kind, str) or kind not in kinds:
            raise _refused(where, f"is of the type {_shown(kind)}; possible are {_in_words(kinds)}")
        checked = _checked(fields, kind=kinds[kind], where=f"{where} ({kind})")
        return {"type": kind, **checked}, kinds[kind].growth(checked)

    return read(value, where=of, depth=1)


def _checked(fields: _Fields, *, kind: _Kind, where: str) -> dict[str, _Json]:
    """The known fields; the library ignores others too."""
    values = {**(kind.optional or {}), **fields}
    return {name: read(values[name], f"{name} of {where}") for name, read in kind.fields.items() if name in values}


def _in_words(kinds: Mapping[str, object]) -> str:
    return ", ".join(sorted(kinds))


def _read_flag(value: _Json, where: str) -> bool:
    return _flag(value, where=where)


def _read_maybe_flag(value: _Json, where: str) -> bool | None:
    return None if value is None else _flag(value, where=where)


def _read_text(value: _Json, where: str) -> str:
    return _text(value, where=where)


def _read_character(value: _Json, where: str) -> str:
    return _text(value, where=where, least=1, most=1)


def _one_of(*words: str) -> _Reader:
    def read(value: _Json, where: str) -> str:
        if value not in words:
            raise _refused(where, f"must be one of {', '.join(words)}")
        return str(value)

    return read


def _from(least: int, most: int) -> _Reader:
    return lambda value, where: _number(value, where=where, least=least, most=most)


def _read_pattern(value: _Json, where: str) -> dict[str, str]:
    if isinstance(value, dict) and len(value) == 1:
        ((kind, text),) = value.items()
        if kind == "String":
            # The empty text is found everywhere.
            return {"String": _text(text, where=where, least=1, most=LONGEST_TOKEN)}
        if kind == "Regex" and isinstance(text, str):
            return {"Regex": checked_regex(text, where=f"{NAME}: {where}")}
    raise _refused(where, 'must be {"String": ...} or {"Regex": ...}')


def _replacement_growth(fields: _Fields) -> float:
    found = len(fields["pattern"]["String"].encode()) if "String" in fields["pattern"] else 1
    return max(1.0, len(fields["content"].encode()) / found)


def _read_charsmap(value: _Json, where: str) -> _Json:
    try:
        longest_replacement(value)
    except ValueError as error:
        raise _refused(where, str(error)) from None
    return value


_BEHAVIOURS = _one_of("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_SCHEME = _one_of("first", "never", "always")
_PLAIN = _Kind(fields={})
_BYTE_LEVEL = _Kind(
    fields={"add_prefix_space": _read_flag, "trim_offsets": _read_flag, "use_regex": _read_flag},
)
_METASPACE = _Kind(
    fields={
        "replacement": _read_character, "prepend_scheme": _SCHEME, "split": _read_flag,
        # Of older versions
        "add_prefix_space": _read_flag, "str_rep": _read_text,
    }
)  # fmt: skip
_UNICODE_FORM = _Kind(fields={}, growth=_by(3.0))
_COMPATIBILITY_FORM = _Kind(fields={}, growth=_by(11.0))
"""Of U+FDFA, the character that grows most."""
_REPLACE = _Kind(fields={"pattern": _read_pattern, "content": _read_text}, growth=_replacement_growth)

_NORMALIZERS: Mapping[str, _Kind] = {
    "BertNormalizer": _Kind(
        fields={"clean_text": _read_flag, "handle_chinese_chars": _read_flag, "strip_accents": _read_maybe_flag,
                "lowercase": _read_flag},
        growth=_by(5.0),
    ),
    "ByteLevel": _Kind(fields={}, growth=_by(2.0)),
    "Lowercase": _Kind(fields={}, growth=_by(1.5)),
    "NFC": _UNICODE_FORM,
    "NFD": _UNICODE_FORM,
    "NFKC": _COMPATIBILITY_FORM,
    "NFKD": _COMPATIBILITY_FORM,
    "Nmt": _PLAIN,
    "Precompiled": _Kind(
        fields={"precompiled_charsmap": _read_charsmap},
        growth=lambda fields: float(max(1, longest_replacement(fields["precompiled_charsmap"]))),
    ),
    "Prepend": _Kind(fields={"prepend": _read_text}, growth=lambda fields: 1.0 + len(fields["prepend"].encode())),
    "Replace": _REPLACE,
    "Strip": _Kind(fields={"strip_left": _read_flag, "strip_right": _read_flag}),
    "StripAccents": _PLAIN,
}  # fmt: skip
_PRE_TOKENIZERS: Mapping[str, _Kind] = {
    "BertPreTokenizer": _PLAIN,
    "ByteLevel": _BYTE_LEVEL,
    "CharDelimiterSplit": _Kind(fields={"delimiter": _read_character}),
    "Digits": _Kind(fields={"individual_digits": _read_flag}),
    "FixedLength": _Kind(fields={"length": _from(1, LONGEST_TOKEN)}),
    "Metaspace": _METASPACE,
    "Punctuation": _Kind(fields={"behavior": _BEHAVIOURS}),
    "Split": _Kind(fields={"pattern": _read_pattern, "behavior": _BEHAVIOURS, "invert": _read_flag}),
    "UnicodeScripts": _PLAIN,
    "Whitespace": _PLAIN,
    "WhitespaceSplit": _PLAIN,
}
_DECODERS: Mapping[str, _Kind] = {
    "BPEDecoder": _Kind(fields={"suffix": _read_text}),
    "ByteFallback": _PLAIN,
    "ByteLevel": _BYTE_LEVEL,
    "CTC": _Kind(fields={"pad_token": _read_text, "word_delimiter_token": _read_text, "cleanup": _read_flag}),
    "Fuse": _PLAIN,
    "Metaspace": _METASPACE,
    "Replace": _REPLACE,
    "Strip": _Kind(fields={"content": _read_character, "start": _from(0, 1000), "stop": _from(0, 1000)}),
    "WordPiece": _Kind(fields={"prefix": _read_text, "cleanup": _read_flag}),
}


def _read_pair(value: _Json, where: str) -> list[_Json]:
    if not isinstance(value, list) or len(value) != 2:
        raise _refused(where, "must be a token and its id")
    return [_text(value[0], where=where, most=LONGEST_TOKEN), _token_id(value[1], where=where)]


def _read_template(value: _Json, where: str) -> list[_Json]:
    pieces = [_piece(piece, where=where) for piece in _list(value, where=where, most=_MOST_SPECIAL)]
    texts = [piece["Sequence"]["id"] for piece in pieces if "Sequence" in piece]
    if len(set(texts)) != len(texts):
        raise _refused(where, "repeats the text that it is for")
    return pieces


def _piece(piece: _Json, *, where: str) -> dict[str, _Json]:
    kind, content = next(iter(piece.items())) if isinstance(piece, dict) and len(piece) == 1 else (None, None)
    if kind not in {"Sequence", "SpecialToken"} or not isinstance(content, dict):
        raise _refused(where, "has an entry that is neither a Sequence nor a SpecialToken")
    name = _text(content.get("id"), where=where, most=LONGEST_TOKEN)
    if kind == "Sequence" and name not in {"A", "B"}:
        raise _refused(where, "has a Sequence that is neither A nor B")
    return {kind: {"id": name, "type_id": _number(content.get("type_id"), where=where, least=0, most=1000)}}


def _read_specials(value: _Json, where: str) -> dict[str, _Json]:
    tokens = _object(value, where=where)
    if len(tokens) > _MOST_SPECIAL:
        raise _refused(where, f"has {len(tokens)} entries; at most {_MOST_SPECIAL} are possible")
    return {
        _text(name, where=where, most=LONGEST_TOKEN): _special(token, where=where) for name, token in tokens.items()
    }


def _special(value: _Json, *, where: str) -> dict[str, _Json]:
    token = _object(value, where=where)
    ids = _list(token.get("ids"), where=where, most=_MOST_SPECIAL)
    texts = _list(token.get("tokens"), where=where, most=_MOST_SPECIAL)
    return {
        "id": _text(token.get("id"), where=where, most=LONGEST_TOKEN),
        "ids": [_token_id(number, where=where) for number in ids],
        "tokens": [_text(text, where=where, most=LONGEST_TOKEN) for text in texts],
    }


_POST_PROCESSORS: Mapping[str, _Kind] = {
    "BertProcessing": _Kind(fields={"sep": _read_pair, "cls": _read_pair}),
    "ByteLevel": _BYTE_LEVEL,
    "RobertaProcessing": _Kind(
        fields={"sep": _read_pair, "cls": _read_pair, "trim_offsets": _read_flag, "add_prefix_space": _read_flag}
    ),
    "TemplateProcessing": _Kind(
        fields={"single": _read_template, "pair": _read_template, "special_tokens": _read_specials}
    ),
}
