"""Which normalizers, pre-tokenizers, post-processors and decoders a submitted `tokenizer.json` may have.

For each type: its fields, and how much longer it makes a text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evaluator.sandbox.admission.charsmap import longest_replacement
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
from evaluator.sandbox.admission.tokenizer_patterns import checked_regex

MOST_STEPS = 32
"""Components in one sequence, nested ones included."""


MOST_NESTING = 3


_MOST_SPECIAL = 64
"""Tokens that a post-processor adds."""


_Reader = Callable[[Json, str], Json]
"""Reads the value of a field at a place; raises ModelRefusedError."""


def _by(factor: float) -> Callable[[Fields], float]:
    """The same growth whatever the fields are."""

    def growth(fields: Fields) -> float:
        del fields
        return factor

    return growth


_SAME = _by(1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    fields: Mapping[str, _Reader]
    growth: Callable[[Fields], float] = _SAME
    optional: Mapping[str, Json] | None = None
    """Values of fields that may be left out."""


def read_sequence(
    value: Json, *, kinds: Mapping[str, _Kind], inner: str, of: str
) -> tuple[dict[str, Json] | None, float]:
    """A component or a sequence of them as it is passed on, and the growth of all."""
    if value is None:
        return None, 1.0
    count = 0

    def read(part: Json, *, where: str, depth: int) -> tuple[dict[str, Json], float]:
        nonlocal count
        count += 1
        if count > MOST_STEPS or depth > MOST_NESTING:
            raise refused(of, f"has more than {MOST_STEPS} steps, or sequences in sequences in sequences")
        fields = read_object(part, where=where)
        kind = fields.get("type")
        if kind == "Sequence":
            steps = read_list(fields.get(inner), where=f"{where}.{inner}", most=MOST_STEPS)
            found = [read(step, where=f"{where}.{inner}[{at}]", depth=depth + 1) for at, step in enumerate(steps)]
            growth = 1.0
            for _, factor in found:
                growth *= factor
            return {"type": "Sequence", inner: [step for step, _ in found]}, growth
        if not isinstance(kind, str) or kind not in kinds:
            raise refused(where, f"is of the type {shown(kind)}; possible are {in_words(kinds)}")
        checked = _checked(fields, kind=kinds[kind], where=f"{where} ({kind})")
        return {"type": kind, **checked}, kinds[kind].growth(checked)

    return read(value, where=of, depth=1)


def _checked(fields: Fields, *, kind: _Kind, where: str) -> dict[str, Json]:
    """The known fields; the library ignores others too."""
    values = {**(kind.optional or {}), **fields}
    return {name: read(values[name], f"{name} of {where}") for name, read in kind.fields.items() if name in values}


def in_words(kinds: Mapping[str, object]) -> str:
    return ", ".join(sorted(kinds))


def _flag_at(value: Json, where: str) -> bool:
    return read_flag(value, where=where)


def _read_maybe_flag(value: Json, where: str) -> bool | None:
    return None if value is None else read_flag(value, where=where)


def _text_at(value: Json, where: str) -> str:
    return read_text(value, where=where)


def _read_character(value: Json, where: str) -> str:
    return read_text(value, where=where, least=1, most=1)


def _one_of(*words: str) -> _Reader:
    def read(value: Json, where: str) -> str:
        if value not in words:
            raise refused(where, f"must be one of {', '.join(words)}")
        return str(value)

    return read


def _from(least: int, most: int) -> _Reader:
    return lambda value, where: read_number(value, where=where, least=least, most=most)


def _read_pattern(value: Json, where: str) -> dict[str, str]:
    if isinstance(value, dict) and len(value) == 1:
        ((kind, text),) = value.items()
        if kind == "String":
            # The empty text is found everywhere.
            return {"String": read_text(text, where=where, least=1, most=LONGEST_TOKEN)}
        if kind == "Regex" and isinstance(text, str):
            return {"Regex": checked_regex(text, where=f"{NAME}: {where}")}
    raise refused(where, 'must be {"String": ...} or {"Regex": ...}')


def _replacement_growth(fields: Fields) -> float:
    found = len(fields["pattern"]["String"].encode()) if "String" in fields["pattern"] else 1
    return max(1.0, len(fields["content"].encode()) / found)


def _read_charsmap(value: Json, where: str) -> Json:
    try:
        longest_replacement(value)
    except ValueError as error:
        raise refused(where, str(error)) from None
    return value


_BEHAVIOURS = _one_of("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")


_SCHEME = _one_of("first", "never", "always")


_PLAIN = _Kind(fields={})


_BYTE_LEVEL = _Kind(
    fields={"add_prefix_space": _flag_at, "trim_offsets": _flag_at, "use_regex": _flag_at},
)


_METASPACE = _Kind(
    fields={
        "replacement": _read_character, "prepend_scheme": _SCHEME, "split": _flag_at,
        # Of older versions
        "add_prefix_space": _flag_at, "str_rep": _text_at,
    }
)  # fmt: skip


_UNICODE_FORM = _Kind(fields={}, growth=_by(3.0))


_COMPATIBILITY_FORM = _Kind(fields={}, growth=_by(11.0))
"""Of U+FDFA, the character that grows most."""


_REPLACE = _Kind(fields={"pattern": _read_pattern, "content": _text_at}, growth=_replacement_growth)


NORMALIZERS: Mapping[str, _Kind] = {
    "BertNormalizer": _Kind(
        fields={"clean_text": _flag_at, "handle_chinese_chars": _flag_at, "strip_accents": _read_maybe_flag,
                "lowercase": _flag_at},
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
    "Prepend": _Kind(fields={"prepend": _text_at}, growth=lambda fields: 1.0 + len(fields["prepend"].encode())),
    "Replace": _REPLACE,
    "Strip": _Kind(fields={"strip_left": _flag_at, "strip_right": _flag_at}),
    "StripAccents": _PLAIN,
}  # fmt: skip


PRE_TOKENIZERS: Mapping[str, _Kind] = {
    "BertPreTokenizer": _PLAIN,
    "ByteLevel": _BYTE_LEVEL,
    "CharDelimiterSplit": _Kind(fields={"delimiter": _read_character}),
    "Digits": _Kind(fields={"individual_digits": _flag_at}),
    "FixedLength": _Kind(fields={"length": _from(1, LONGEST_TOKEN)}),
    "Metaspace": _METASPACE,
    "Punctuation": _Kind(fields={"behavior": _BEHAVIOURS}),
    "Split": _Kind(fields={"pattern": _read_pattern, "behavior": _BEHAVIOURS, "invert": _flag_at}),
    "UnicodeScripts": _PLAIN,
    "Whitespace": _PLAIN,
    "WhitespaceSplit": _PLAIN,
}


DECODERS: Mapping[str, _Kind] = {
    "BPEDecoder": _Kind(fields={"suffix": _text_at}),
    "ByteFallback": _PLAIN,
    "ByteLevel": _BYTE_LEVEL,
    "CTC": _Kind(fields={"pad_token": _text_at, "word_delimiter_token": _text_at, "cleanup": _flag_at}),
    "Fuse": _PLAIN,
    "Metaspace": _METASPACE,
    "Replace": _REPLACE,
    "Strip": _Kind(fields={"content": _read_character, "start": _from(0, 1000), "stop": _from(0, 1000)}),
    "WordPiece": _Kind(fields={"prefix": _text_at, "cleanup": _flag_at}),
}


def _read_pair(value: Json, where: str) -> list[Json]:
    if not isinstance(value, list) or len(value) != 2:
        raise refused(where, "must be a token and its id")
    return [read_text(value[0], where=where, most=LONGEST_TOKEN), read_token_id(value[1], where=where)]


def _read_template(value: Json, where: str) -> list[Json]:
    pieces = [_piece(piece, where=where) for piece in read_list(value, where=where, most=_MOST_SPECIAL)]
    texts = [piece["Sequence"]["id"] for piece in pieces if "Sequence" in piece]
    if len(set(texts)) != len(texts):
        raise refused(where, "repeats the text that it is for")
    return pieces


def _piece(piece: Json, *, where: str) -> dict[str, Json]:
    kind, content = next(iter(piece.items())) if isinstance(piece, dict) and len(piece) == 1 else (None, None)
    if kind not in {"Sequence", "SpecialToken"} or not isinstance(content, dict):
        raise refused(where, "has an entry that is neither a Sequence nor a SpecialToken")
    name = read_text(content.get("id"), where=where, most=LONGEST_TOKEN)
    if kind == "Sequence" and name not in {"A", "B"}:
        raise refused(where, "has a Sequence that is neither A nor B")
    return {kind: {"id": name, "type_id": read_number(content.get("type_id"), where=where, least=0, most=1000)}}


def _read_specials(value: Json, where: str) -> dict[str, Json]:
    tokens = read_object(value, where=where)
    if len(tokens) > _MOST_SPECIAL:
        raise refused(where, f"has {len(tokens)} entries; at most {_MOST_SPECIAL} are possible")
    return {
        read_text(name, where=where, most=LONGEST_TOKEN): _special(token, where=where) for name, token in tokens.items()
    }


def _special(value: Json, *, where: str) -> dict[str, Json]:
    token = read_object(value, where=where)
    ids = read_list(token.get("ids"), where=where, most=_MOST_SPECIAL)
    texts = read_list(token.get("tokens"), where=where, most=_MOST_SPECIAL)
    return {
        "id": read_text(token.get("id"), where=where, most=LONGEST_TOKEN),
        "ids": [read_token_id(number, where=where) for number in ids],
        "tokens": [read_text(text, where=where, most=LONGEST_TOKEN) for text in texts],
    }


POST_PROCESSORS: Mapping[str, _Kind] = {
    "BertProcessing": _Kind(fields={"sep": _read_pair, "cls": _read_pair}),
    "ByteLevel": _BYTE_LEVEL,
    "RobertaProcessing": _Kind(
        fields={"sep": _read_pair, "cls": _read_pair, "trim_offsets": _flag_at, "add_prefix_space": _flag_at}
    ),
    "TemplateProcessing": _Kind(
        fields={"single": _read_template, "pair": _read_template, "special_tokens": _read_specials}
    ),
}
