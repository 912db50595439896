"""Tokenizers and templates that cost time or memory, or that make native code give up."""

from typing import Any

from tests.hostile.checkpoints.base import (
    Files,
    Target,
    add,
    before_splitting,
    settings,
    split_by,
    with_settings,
    with_template,
    with_tokenizer,
)

_TEMPLATE_OF_NOTHING = [
    {"SpecialToken": {"id": "<none>", "type_id": 2**32 - 1}}, {"Sequence": {"id": "A", "type_id": 0}},
]  # fmt: skip
_DOUBLE = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}


def _model(files: Files, **values: Any) -> Files:
    return with_tokenizer(files, model={**settings(files, "tokenizer.json")["model"], **values})


def _normalizers(files: Files, *steps: dict[str, Any]) -> Files:
    return with_tokenizer(files, normalizer={"type": "Sequence", "normalizers": list(steps)})


def _replacing(pattern: dict[str, str], text: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": text}


def _added(*tokens: tuple[int, str]) -> list[dict[str, Any]]:
    return [{"id": number, "content": content, "single_word": False, "lstrip": True, "rstrip": True,
             "normalized": True, "special": False} for number, content in tokens]  # fmt: skip


def _many_added_tokens(files: Files, _: Target) -> Files:
    first = max(settings(files, "tokenizer.json")["model"]["vocab"].values()) + 1
    return with_tokenizer(files, added_tokens=_added(*((first + at, f"word{at} ") for at in range(100_000))))


def _vocabulary_of_a_million(files: Files, _: Target) -> Files:
    vocabulary = settings(files, "tokenizer.json")["model"]["vocab"]
    return _model(files, vocab={**vocabulary, **{f"\u0120{at:x}": 2000 + at for at in range(1_000_000)}})


def _nested_normalizers(files: Files, _: Target) -> Files:
    before, after = b'{"type":"Sequence","normalizers":[' * 10_000, b"]}" * 10_000
    text = with_tokenizer(files, normalizer="HERE")["tokenizer.json"]
    return {**files, "tokenizer.json": text.replace(b'"HERE"', before + b'{"type":"NFC"}' + after)}


# Native code that panics.
add({
    "a normalizer without its table": lambda files, _: with_tokenizer(
        files, normalizer={"type": "Precompiled", "precompiled_charsmap": ""}),
    "a normalizer whose table is noise": lambda files, _: with_tokenizer(
        files, normalizer={"type": "Precompiled", "precompiled_charsmap": "//////8BAAAAAgAAAA=="}),
    "a regular expression that runs out of stack": lambda files, _: before_splitting(
        files, split_by(r"([a-z]+ ?)+\d{99}")),
    "pieces of length zero": lambda files, _: before_splitting(files, {"type": "FixedLength", "length": 0}),
    "a byte-level decoder for what is no byte": lambda files, _: with_tokenizer(
        files, decoder={"type": "Sequence", "decoders": [
            {"type": "Strip", "content": "x", "start": 2**60, "stop": 2**60}, {"type": "ByteFallback"},
            {"type": "Fuse"}]}),
    "a post-processor of tokens that there are not": lambda files, _: with_tokenizer(
        files, post_processor={"type": "TemplateProcessing", "single": _TEMPLATE_OF_NOTHING,
                               "pair": _TEMPLATE_OF_NOTHING, "special_tokens": {}}),
    "merges of pieces that are not in the vocabulary": lambda files, _: _model(
        files, merges=[["\u0000", "\ud7ff"]] * 10),
    "a unigram model whose unknown token is out of range": lambda files, _: with_tokenizer(
        files, model={"type": "Unigram", "unk_id": 2**40, "vocab": [["a", -1e308], ["b", 1e308]],
                      "byte_fallback": True}),
    "normalizers that are nested ten thousand deep": _nested_normalizers,
})  # fmt: skip
# Texts that never end being split.
add({
    "a regular expression that backtracks": lambda files, _: before_splitting(
        files, split_by(r"^(([a-zA-Z .,\n]+)+)+\u2603$"), split_by(r"(x+x+)+y")),
    "a normalizer that backtracks": lambda files, _: with_tokenizer(
        files, normalizer=_replacing({"Regex": r"(?:(?:.|\s)*)*\u2603"}, "")),
    "look-behind and back-references at every place": lambda files, _: before_splitting(
        files, split_by(r"(?<=(\w))(.*)(.*)(.*)\1\2\3\u2603|(?R)?")),
    "many normalizers after each other": lambda files, _: _normalizers(
        files, *(_replacing({"String": chr(97 + at % 26)}, chr(97 + (at + 1) % 26)) for at in range(20_000))),
})  # fmt: skip
# What fills memory.
add({
    "a normalizer that doubles the text again and again": lambda files, _: _normalizers(files, *[_DOUBLE] * 40),
    "a normalizer that puts a megabyte before the text": lambda files, _: _normalizers(
        files, _replacing({"String": " "}, "ab " * 3000), {"type": "Prepend", "prepend": "ab " * 300_000}),
    "a decoder that doubles the text again and again": lambda files, _: with_tokenizer(
        files, decoder={"type": "Sequence", "decoders": [_DOUBLE] * 40}),
    "padding to a length that no memory has": lambda files, _: with_tokenizer(
        files, padding={"strategy": {"Fixed": 2**40}, "direction": "Right", "pad_to_multiple_of": 2**40, "pad_id": 0,
                        "pad_type_id": 0, "pad_token": "<pad>"}),
    "a hundred thousand added tokens": _many_added_tokens,
    "added tokens with ids near the end of the numbers": lambda files, _: with_tokenizer(
        files, added_tokens=_added(*((2**32 - 1 - at, f"<{at}>") for at in range(10)))),
    "a vocabulary of a million pieces": _vocabulary_of_a_million,
    "a tokenizer that is nested a hundred thousand deep": lambda files, _: {
        **files, "tokenizer.json": b'{"normalizer":' * 100_000 + b"null" + b"}" * 100_000},
})  # fmt: skip
_TEMPLATES = {
    "counts for ever": "".join(f"{{% for {name} in range(99999) %}}" for name in "abc") + "{% endfor %}" * 3,
    "computes a power": "{{ (9 ** (9 ** 9)) % 7 }}{{ messages[0].content }}",
    "repeats a text": "{% set a = 'word ' * 1000000000 %}{{ a ~ a ~ a ~ a }}",
    "calls itself": "{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
    "has huge widths": "{{ '%2000000000d' % 1 }}{{ 'x'.ljust(2000000000) }}{{ 'x'|center(2000000000) }}",
    "is nested ten thousand deep": "{% if 1 %}" * 10_000 + "x" + "{% endif %}" * 10_000,
    "says a script": "{{ raise_exception('<script>alert(1)</script>\u202e\u0000\ud7ff</td>') }}",
}
add({
    f"a template that {name}": lambda files, _, template=template: with_template(files, template)
    for name, template in _TEMPLATES.items()
})  # fmt: skip
add({
    "special tokens, sides and lengths of wrong kinds": lambda files, _: with_settings(
        files, bos_token=["<s>"], padding_side={"a": 1}, model_max_length=-(10**30), eos_token=10**400)
})  # fmt: skip
