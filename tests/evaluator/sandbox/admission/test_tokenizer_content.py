"""The content of `tokenizer.json`: published layouts pass and read texts as before, bombs get a sentence."""

import base64
import json
import time

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from evaluator.sandbox.admission.rules import ModelRefusedError
from evaluator.sandbox.admission.tokenizer_content import MOST_GROWTH, read_tokenizer
from evaluator.sandbox.admission.tokenizer_patterns import KNOWN, checked_regex
from tests.fakes.tiny_models import TEXTS, byte_level_bpe, unigram

ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA_3 = (
    ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)  # fmt: skip
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
DEEPSEEK_V3 = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
MIXED = [*TEXTS, "", "I'LL  say:\n\n 12345 é ｶﾞ 漢字 don't!! \t x", "   ", "</s> <s>"]


def charsmap(*replacements: str) -> str:
    """A map of SentencePiece whose trie finds nothing."""
    trie = b"\0" * 1024
    texts = b"".join(text.encode() + b"\0" for text in replacements)
    return base64.b64encode(len(trie).to_bytes(4, "little") + trie + texts).decode()


def content(tokenizer=None) -> dict:
    tokenizer = tokenizer or byte_level_bpe()
    return json.loads(getattr(tokenizer, "backend_tokenizer", tokenizer).to_str())


def split(pattern: str) -> dict:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def byte_level(*patterns: str) -> dict:
    steps = [*map(split, patterns), {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                                     "use_regex": not patterns}]  # fmt: skip
    return {**content(), "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}


def bert() -> Tokenizer:
    vocabulary = {word: at for at, word in enumerate(["[UNK]", "[CLS]", "[SEP]", "image", "text", "##s", "e", "!"])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def llama_2() -> Tokenizer:
    tokenizer = Tokenizer.from_str(byte_level_bpe().backend_tokenizer.to_str())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = None
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 3)]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tokenizer


def t5() -> dict:
    found = content(unigram())
    steps = [{"type": "Precompiled", "precompiled_charsmap": charsmap("ff", "1/4", "x" * 33)},
             {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]  # fmt: skip
    return {**found, "normalizer": {"type": "Sequence", "normalizers": steps}}


def clip() -> Tokenizer:
    tokenizer = Tokenizer.from_str(byte_level_bpe().backend_tokenizer.to_str())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(CLIP), "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 3))
    return tokenizer


def untyped() -> dict:
    """As the first versions of the library wrote it."""
    found = content()
    del found["model"]["type"]
    found["model"]["merges"] = [" ".join(pair) for pair in found["model"]["merges"]]
    return found


PUBLISHED = {
    "GPT-2": byte_level,
    "GPT-2 of 2020": untyped,
    "Llama 2": lambda: content(llama_2()),
    "Llama 3": lambda: byte_level(LLAMA_3),
    "Qwen2": lambda: byte_level(QWEN_2),
    "DeepSeek V3": lambda: byte_level(r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", DEEPSEEK_V3),
    "DeepSeek LLM": lambda: byte_level(
        "[\r\n]", r"\s?[A-Za-zµÀ-Ö]+", "\\s?[!-/:-~\uff01-\uff0f]+", r"\s+$", "[一-龥]+"
    ),
    "Falcon": lambda: byte_level(r"[\p{P}\$\+<=>\^~\|`]+", "[0-9][0-9][0-9]"),
    "T5": t5,
    "BERT": lambda: content(bert()),
    "CLIP": lambda: content(clip()),
}


@pytest.mark.parametrize("layout", PUBLISHED)
def test_published_layouts_pass_and_read_texts_as_the_library_does(layout):
    text = json.dumps(PUBLISHED[layout]())
    ours, theirs = Tokenizer.from_str(read_tokenizer(text.encode()).text), Tokenizer.from_str(text)
    for sample in MIXED:
        found, wanted = ours.encode(sample), theirs.encode(sample)
        assert (found.ids, found.offsets) == (wanted.ids, wanted.offsets)
        assert ours.decode(found.ids) == theirs.decode(wanted.ids)


def test_truncation_padding_and_dropout_never_reach_the_library():
    tokenizer = Tokenizer.from_str(byte_level_bpe().backend_tokenizer.to_str())
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=10**9)
    found = content(tokenizer)
    found["model"]["dropout"] = 0.5
    checked = read_tokenizer(json.dumps(found).encode())
    assert (checked.content["truncation"], checked.content["padding"]) == (None, None)
    assert checked.content["model"]["dropout"] is None
    assert len(Tokenizer.from_str(checked.text).encode("summarize the text")) == len(
        byte_level_bpe()("summarize the text")["input_ids"]
    )


def normalizer(*steps: dict) -> dict:
    return {**content(), "normalizer": {"type": "Sequence", "normalizers": list(steps)}}


def replacing(pattern: dict, text: str) -> dict:
    return {"type": "Replace", "pattern": pattern, "content": text}


def nested(depth: int) -> dict:
    part: dict = {"type": "NFC"}
    for _ in range(depth):
        part = {"type": "Sequence", "normalizers": [part]}
    return {**content(), "normalizer": part}


def added(count: int, **changes) -> dict:
    token = {"content": "x", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": False}  # fmt: skip
    return {**content(), "added_tokens": [{**token, "id": at, **changes} for at in range(count)]}


def model(**changes) -> dict:
    found = content()
    return {**found, "model": {**found["model"], **changes}}


def processed(**changes) -> dict:
    fields = {"single": [], "pair": [], "special_tokens": {}, **changes}
    return {**content(), "post_processor": {"type": "TemplateProcessing", **fields}}


A = {"Sequence": {"id": "A", "type_id": 0}}
BOMBS = {
    "no object": (list, "no JSON object"),
    "exponential pattern": (lambda: byte_level("(a+)+$"), "regular expression"),
    "quadratic pattern": (lambda: byte_level(" +▁"), "regular expression"),
    "back reference": (lambda: byte_level(r"(.)\1*"), "regular expression"),
    "look-around": (lambda: byte_level(r"(?<=a+)b"), "regular expression"),
    "set operation": (lambda: byte_level(r"[a-z&&[^b]]+"), "regular expression"),
    "long pattern": (lambda: byte_level("a" * 3000), "regular expression"),
    "large repetition": (lambda: byte_level("(a{1000}){1000}"), "regular expression"),
    "pattern in a normalizer": (lambda: normalizer(replacing({"Regex": "(a|a)*b"}, "")), "regular expression"),
    "pattern in a decoder": (
        lambda: {**content(), "decoder": replacing({"Regex": "(a|a)*b"}, "")}, "regular expression",
    ),
    "pattern of nothing": (lambda: byte_level("a*"), "regular expression"),
    "replacing nothing": (lambda: normalizer(replacing({"String": ""}, "x")), "must be a text of 1"),
    "long replacement": (lambda: normalizer(replacing({"String": "a"}, "x" * 65)), "content of normalizer"),
    "doubling": (
        lambda: normalizer(*[replacing({"String": "a"}, "aa")] * 30), "times as long",
    ),
    "prepending": (lambda: normalizer(*[{"type": "Prepend", "prepend": "x" * 64}] * 2), "times as long"),
    "many steps": (lambda: normalizer(*[{"type": "NFC"}] * 33), "at most 32"),
    "deep steps": (lambda: nested(5), "sequences in sequences"),
    "very deep steps": (lambda: nested(300), "sequences in sequences"),
    "long charsmap text": (
        lambda: normalizer({"type": "Precompiled", "precompiled_charsmap": charsmap("x" * 100_000)}),
        "replaces a character by 100000 bytes",
    ),
    "large charsmap": (
        lambda: normalizer({"type": "Precompiled", "precompiled_charsmap": "A" * 3_000_000}), "at most 2097152",
    ),
    "charsmap cut off": (
        lambda: normalizer({"type": "Precompiled", "precompiled_charsmap": "////"}), "cut off",
    ),
    "empty charsmap": (lambda: normalizer({"type": "Precompiled", "precompiled_charsmap": ""}), "must be base64"),
    "length zero": (
        lambda: {**content(), "pre_tokenizer": {"type": "FixedLength", "length": 0}}, "whole number from 1",
    ),
    "unknown part": (lambda: normalizer({"type": "Plugin"}), "of the type 'Plugin'"),
    "part of another kind": (lambda: {**content(), "decoder": {"type": "NFC"}}, "of the type 'NFC'"),
    "unhashable type": (lambda: {**content(), "decoder": {"type": ["NFC"]}}, "of the type list"),
    "unhashable type of a model": (lambda: model(type={}), "of the type dict"),
    "part that is a list": (lambda: {**content(), "decoder": ["NFC"]}, "decoder is no object"),
    "field of a wrong kind": (
        lambda: {**content(), "pre_tokenizer": {"type": "Digits", "individual_digits": 1}}, "true or false",
    ),
    "many added tokens": (lambda: added(20_001), "at most 20000"),
    "long added token": (lambda: added(1, content="x" * 1001), "content of an added token"),
    "empty added token": (lambda: added(1, content=""), "content of an added token"),
    "large id": (lambda: added(1, id=2**40), "the id of an added token"),
    "id that is no number": (lambda: added(1, id="7"), "the id of an added token"),
    "large vocabulary": (lambda: model(vocab=dict.fromkeys(map(str, range(600_001)), 0)), "at most 600000"),
    "long token": (lambda: model(vocab={"x" * 1001: 0}, merges=[]), "a token of model.vocab"),
    "large id of a token": (lambda: model(vocab={"x": 2**32 - 1}, merges=[]), "an id in model.vocab"),
    "many merges": (lambda: model(merges=["a b"] * 1_500_001), "at most 1500000"),
    "odd merge": (lambda: model(merges=[["a", "b", "c"]]), "no pair of tokens"),
    "unknown model": (lambda: model(type="Foreign"), "of the type 'Foreign'"),
    "quadratic words": (
        lambda: {**content(bert()), "model": {**content(bert())["model"], "max_input_chars_per_word": 10**9}},
        "max_input_chars_per_word",
    ),
    "endless score": (
        lambda: {**content(unigram()), "model": {"type": "Unigram", "vocab": [["a", float("inf")]]}}, "its score",
    ),
    "text many times": (lambda: processed(single=[A] * 2), "repeats the text"),
    "many special tokens": (lambda: processed(single=[A, *[{"SpecialToken": {"id": "x", "type_id": 0}}] * 99]), "64"),
    "special token of many ids": (
        lambda: processed(special_tokens={"x": {"id": "x", "ids": [0] * 10**5, "tokens": []}}), "at most 64",
    ),
    "growing decoder": (lambda: {**content(), "decoder": replacing({"String": "a"}, "b" * 60)}, "decoder may make"),
}  # fmt: skip


def test_bombs_are_refused_with_a_sentence():
    for bomb, (make, complaint) in BOMBS.items():
        with pytest.raises(ModelRefusedError, match=complaint) as refused:
            read_tokenizer(json.dumps(make()).encode())
        assert str(refused.value).startswith("tokenizer.json"), bomb
        assert len(str(refused.value)) < 500, bomb


MILLION_TOKENS = b'{"added_tokens": [' + b'{"id":0,"content":"x"},' * 10**6


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"[" * 100_000, "no JSON object"),
        (b'{"a":' * 100_000, "no JSON object"),
        (b"\xff\xfe", "no JSON object"),
        (b"{", "no JSON object"),
        (b'{"model": {"type": ' + b"[" * 900 + b"]" * 900 + b"}}", "of the type list"),
        (b"[" + b"[]," * 3_000_000, "more than 5000000 values"),
        (MILLION_TOKENS, "more than 5000000 values"),
    ],
    ids=["deep list", "deep object", "no text", "cut off", "deep type", "many lists", "a million added tokens"],
)
def test_json_that_is_deep_large_or_broken_is_refused(data, complaint):
    with pytest.raises(ModelRefusedError, match=complaint):
        read_tokenizer(data)


def test_a_key_that_comes_twice_is_read_as_it_was_checked():
    """The native library reads what was checked, not the file."""
    text = json.dumps(content())
    twice = '{"normalizer": {"type": "Prepend", "prepend": "evil"}, ' + text[1:]
    assert Tokenizer.from_str(read_tokenizer(twice.encode()).text).normalizer is None


@pytest.mark.full
@pytest.mark.parametrize("pattern", [*sorted(KNOWN), r"\s+$", r" {2,}", r"\s?\p{L}+", r"[a-c]{1,3}[d-f]?x*"])
def test_accepted_patterns_take_linear_time(pattern):
    """Eight times the units and something else at the end: a quadratic pattern takes 64 times as long."""
    step = pre_tokenizers.Split(Regex(checked_regex(pattern, where="it")), "isolated")

    def seconds(text):
        started = time.process_time()
        step.pre_tokenize_str(text)
        return time.process_time() - started

    for unit in (" ", "a", "A", " a", "1", "\n", "!", "'", " \n", "é", "aA"):
        short, long = (min(seconds(unit * count + "\x00") for _ in range(3)) for count in (2_500, 20_000))
        assert long < 25 * max(short, 0.001), unit


@pytest.mark.parametrize("text", ["a  ", "a \n\n b \n", "  ", " \n a \n\n", "", "\n", "a\n \nb  "])
def test_the_linear_form_of_a_pattern_finds_the_same(text):
    written, linear = (pre_tokenizers.Split(Regex(one), "isolated")
                       for one in (r"\s+$", checked_regex(r"\s+$", where="it")))  # fmt: skip
    assert linear.pre_tokenize_str(text) == written.pre_tokenize_str(text)


def test_a_text_that_its_normalizer_makes_too_long_is_refused_before_it_fills_the_memory(tmp_path):
    from evaluator.planners.language_models.local.tokenizer_loading import TextTooLongError, load_tokenizer

    steps = [replacing({"String": "a"}, "b" * 32), replacing({"String": "b"}, "c" * 32)]
    (tmp_path / "tokenizer.json").write_text(json.dumps(normalizer(*steps)))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.growth == MOST_GROWTH
    assert tokenizer("x" * 9000)["input_ids"]
    with pytest.raises(TextTooLongError, match="of a text of 9000 characters"):
        tokenizer("a" * 9000)
