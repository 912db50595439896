"""Tokenizers and templates that cost time or memory, or that make native code give up."""

import json
from typing import Any

from tests.hostile.checkpoints.base import (
    Files,
    Target,
    before_splitting,
    case,
    settings,
    split_by,
    with_settings,
    with_template,
    with_tokenizer,
)

PANICS, HANGS, GROWS = "make native code panic: ", "hang: ", "fill memory: "


@case(tries=PANICS + "a normalizer without its table")
def normalizer_without_table(files: Files, target: Target) -> Files:
    del target
    return with_tokenizer(files, normalizer={"type": "Precompiled", "precompiled_charsmap": ""})


@case(tries=PANICS + "a normalizer whose table is noise")
def normalizer_with_noise(files: Files, target: Target) -> Files:
    del target
    return with_tokenizer(files, normalizer={"type": "Precompiled", "precompiled_charsmap": "//////8BAAAAAgAAAA=="})


@case(tries=PANICS + "a regular expression that runs out of stack")
def regex_out_of_stack(files: Files, target: Target) -> Files:
    del target
    return before_splitting(files, split_by(r"([a-z]+ ?)+\d{99}"))


@case(tries=PANICS + "pieces of length zero")
def pieces_of_no_length(files: Files, target: Target) -> Files:
    del target
    return before_splitting(files, {"type": "FixedLength", "length": 0})


@case(tries=PANICS + "a byte-level decoder for what is no byte")
def decoder_of_no_bytes(files: Files, target: Target) -> Files:
    del target
    steps = [
        {"type": "Strip", "content": "x", "start": 2**60, "stop": 2**60},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    return with_tokenizer(files, decoder={"type": "Sequence", "decoders": steps})


@case(tries=PANICS + "a post-processor that refers to tokens which there are not")
def processor_without_tokens(files: Files, target: Target) -> Files:
    del target
    template = [{"SpecialToken": {"id": "<none>", "type_id": 2**32 - 1}}, {"Sequence": {"id": "A", "type_id": 0}}]
    return with_tokenizer(files, post_processor={"type": "TemplateProcessing", "single": template, "pair": template,
                                                 "special_tokens": {}})  # fmt: skip


@case(tries=PANICS + "merges of pieces that are not in the vocabulary")
def merges_of_nothing(files: Files, target: Target) -> Files:
    del target
    model = settings(files, "tokenizer.json")["model"]
    return with_tokenizer(files, model={**model, "merges": [["\u0000", "\ud7ff"]] * 10})


@case(tries=PANICS + "a unigram model whose unknown token is out of range")
def unigram_out_of_range(files: Files, target: Target) -> Files:
    del target
    model = {"type": "Unigram", "unk_id": 2**40, "vocab": [["a", -1e308], ["b", 1e308]], "byte_fallback": True}
    return with_tokenizer(files, model=model)


@case(tries=HANGS + "a regular expression that backtracks")
def regex_that_backtracks(files: Files, target: Target) -> Files:
    del target
    return before_splitting(files, split_by(r"^(([a-zA-Z .,\n]+)+)+\u2603$"), split_by(r"(x+x+)+y"))


@case(tries=HANGS + "a normalizer that backtracks")
def normalizer_that_backtracks(files: Files, target: Target) -> Files:
    del target
    replace = {"type": "Replace", "pattern": {"Regex": r"(?:(?:.|\s)*)*\u2603"}, "content": ""}
    return with_tokenizer(files, normalizer=replace)


@case(tries=HANGS + "look-behind and back-references at every place")
def regex_with_back_references(files: Files, target: Target) -> Files:
    del target
    return before_splitting(files, split_by(r"(?<=(\w))(.*)(.*)(.*)\1\2\3\u2603|(?R)?"))


@case(tries=HANGS + "many normalizers after each other")
def many_normalizers(files: Files, target: Target) -> Files:
    del target
    steps = [{"type": "Replace", "pattern": {"String": chr(97 + at % 26)}, "content": chr(97 + (at + 1) % 26)}
             for at in range(20_000)]  # fmt: skip
    return with_tokenizer(files, normalizer={"type": "Sequence", "normalizers": steps})


@case(tries=GROWS + "a normalizer that doubles the text again and again")
def normalizer_that_doubles(files: Files, target: Target) -> Files:
    del target
    double = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}
    return with_tokenizer(files, normalizer={"type": "Sequence", "normalizers": [double] * 40})


@case(tries=GROWS + "a normalizer that puts a megabyte before the text")
def normalizer_that_prepends(files: Files, target: Target) -> Files:
    del target
    steps = [{"type": "Replace", "pattern": {"String": " "}, "content": "ab " * 3000},
             {"type": "Prepend", "prepend": "ab " * 300_000}]  # fmt: skip
    return with_tokenizer(files, normalizer={"type": "Sequence", "normalizers": steps})


@case(tries=GROWS + "a decoder that doubles the text again and again")
def decoder_that_doubles(files: Files, target: Target) -> Files:
    del target
    double = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}
    return with_tokenizer(files, decoder={"type": "Sequence", "decoders": [double] * 40})


@case(tries=GROWS + "padding to a length that no memory has")
def padding_without_end(files: Files, target: Target) -> Files:
    del target
    padding = {"strategy": {"Fixed": 2**40}, "direction": "Right", "pad_to_multiple_of": 2**40, "pad_id": 0,
               "pad_type_id": 0, "pad_token": "<pad>"}  # fmt: skip
    return with_tokenizer(files, padding=padding)


@case(tries=GROWS + "a hundred thousand added tokens")
def many_added_tokens(files: Files, target: Target) -> Files:
    del target
    first = max(settings(files, "tokenizer.json")["model"]["vocab"].values()) + 1
    return with_tokenizer(files, added_tokens=[_added(first + at, f"word{at} ") for at in range(100_000)])


@case(tries=GROWS + "added tokens with ids near the end of the numbers")
def added_tokens_far_away(files: Files, target: Target) -> Files:
    del target
    return with_tokenizer(files, added_tokens=[_added(2**32 - 1 - at, f"<{at}>") for at in range(10)])


@case(tries=GROWS + "a vocabulary of a million pieces")
def vocabulary_of_a_million(files: Files, target: Target) -> Files:
    del target
    model = settings(files, "tokenizer.json")["model"]
    vocabulary = {**model["vocab"], **{f"\u0120{at:x}": 2000 + at for at in range(1_000_000)}}
    return with_tokenizer(files, model={**model, "vocab": vocabulary})


@case(tries=GROWS + "settings that are nested a hundred thousand deep")
def nested_tokenizer(files: Files, target: Target) -> Files:
    del target
    return {**files, "tokenizer.json": b'{"normalizer":' * 100_000 + b"null" + b"}" * 100_000}


@case(tries=PANICS + "normalizers that are nested ten thousand deep")
def nested_normalizers(files: Files, target: Target) -> Files:
    tokenizer = settings(files, "tokenizer.json")
    del target
    before, after = b'{"type":"Sequence","normalizers":[' * 10_000, b"]}" * 10_000
    text = json.dumps({**tokenizer, "normalizer": "HERE"}).encode()
    return {**files, "tokenizer.json": text.replace(b'"HERE"', before + b'{"type":"NFC"}' + after)}


@case(tries=HANGS + "a template that counts for ever")
def template_that_counts(files: Files, target: Target) -> Files:
    del target
    loop = "".join("{% for " + name + " in range(99999) %}" for name in "abc") + "{% endfor %}" * 3
    return with_template(files, loop)


@case(tries=HANGS + "a template that computes a power")
def template_with_a_power(files: Files, target: Target) -> Files:
    del target
    return with_template(files, "{{ (9 ** (9 ** 9)) % 7 }}{{ messages[0].content }}")


@case(tries=GROWS + "a template that repeats a text")
def template_that_repeats(files: Files, target: Target) -> Files:
    del target
    return with_template(files, "{% set a = 'word ' * 1000000000 %}{{ a ~ a ~ a ~ a }}")


@case(tries=GROWS + "a template that calls itself")
def template_that_calls_itself(files: Files, target: Target) -> Files:
    del target
    return with_template(files, "{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}")


@case(tries=GROWS + "a template whose widths are huge")
def template_with_widths(files: Files, target: Target) -> Files:
    del target
    return with_template(files, "{{ '%2000000000d' % 1 }}{{ 'x'.ljust(2000000000) }}{{ 'x'|center(2000000000) }}")


@case(tries=GROWS + "a template that is nested ten thousand deep")
def nested_template(files: Files, target: Target) -> Files:
    del target
    return with_template(files, "{% if 1 %}" * 10_000 + "x" + "{% endif %}" * 10_000)


@case(tries="put a script into a page with what its template says")
def template_with_a_script(files: Files, target: Target) -> Files:
    del target
    return with_template(files, "{{ raise_exception('<script>alert(1)</script>\u202e\u0000\ud7ff</td>') }}")


@case(tries="make numbers of special tokens, sides and lengths")
def settings_of_wrong_kinds(files: Files, target: Target) -> Files:
    del target
    return with_settings(files, bos_token=["<s>"], padding_side={"a": 1}, model_max_length=-(10**30), eos_token=10**400)


def _added(number: int, content: str) -> dict[str, Any]:
    return {"id": number, "content": content, "single_word": False, "lstrip": True, "rstrip": True, "normalized": True,
            "special": False}  # fmt: skip
