"""The trie holds what the tokenizer makes of whole texts, and nothing but allowed completions comes out of it."""

import random
from functools import cache, partial

import pytest

from evaluator.planners.language_models.spelling import Grammar, Speller, UnspellableError
from tests.fakes.tiny_models import END, AnyOrder, byte_level_bpe, completions, unigram

TOKENIZERS = {
    "byte-level": byte_level_bpe,
    "byte-level with a space before": partial(byte_level_bpe, prefix_space=True),
    "byte-level in bytes": partial(byte_level_bpe, size=262),
    "unigram": unigram,
    "unigram of many pieces": partial(unigram, size=60),
}


@cache
def tokenizer_of(name):
    return TOKENIZERS[name]()


@pytest.fixture(params=list(TOKENIZERS))
def tokenizer(request):
    return tokenizer_of(request.param)


def encoder(tokenizer):
    def encode(text):
        result = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return result["input_ids"], result["offset_mapping"]

    return encode


def grammar(tokenizer, constraint, **settings):
    return Grammar(constraint=constraint, speller=Speller(encoder(tokenizer)), end=END, **settings)


def walks(grammar, written=()):
    """Every sequence of tokens that the grammar allows, with its end."""
    allowed = grammar.allowed(written)
    if not allowed:
        yield written
    for token in allowed:
        yield from walks(grammar, (*written, token))


def test_every_walk_is_one_completion_spelt_as_the_tokenizer_spells_it(tokenizer):
    constraint = AnyOrder(most=3)
    results = list(walks(grammar(tokenizer, constraint)))
    wanted = {
        (*tokenizer(", ".join(names), add_special_tokens=False)["input_ids"], END): names
        for names in completions(constraint)
    }
    assert len(results) == len(wanted) == 7 + 7 * 6 + 7 * 6 * 5
    assert set(results) == set(wanted)


def test_what_was_written_is_read_back(tokenizer):
    constraint = AnyOrder(most=3)
    trie = grammar(tokenizer, constraint)
    for names in random.Random(1).sample(list(completions(constraint)), 40):
        tokens = trie.spelling(names)
        assert tokens[-1] == END
        assert trie.names(tokens) == (names, True)
        before, ended = trie.names(tokens[:-1])
        assert not ended
        assert before == names[: len(before)]
        assert tokenizer.decode(tokens[:-1], skip_special_tokens=True).strip() == ", ".join(names)


def test_a_name_that_begins_another_may_end_or_go_on(tokenizer):
    constraint = AnyOrder(names=("Text", "Text Generation"), most=1)
    assert {grammar(tokenizer, constraint).names(walk) for walk in walks(grammar(tokenizer, constraint))} == {
        (("Text",), True),
        (("Text Generation",), True),
    }


def test_the_constraint_is_asked_again_after_every_name():
    constraint = AnyOrder(names=("A", "B", "C"), most=3, forbidden={("A", "B")})
    results = {grammar(tokenizer_of("byte-level"), constraint).names(walk)[0] for walk in
             walks(grammar(tokenizer_of("byte-level"), constraint))}  # fmt: skip
    assert results == set(completions(constraint))
    assert ("A", "B") not in results
    assert ("B", "A") in results
    assert ("A",) in constraint.asked


def test_a_first_name_after_a_prompt_has_the_space_that_the_model_knows():
    tokenizer = tokenizer_of("byte-level")
    trie = grammar(tokenizer, AnyOrder(most=1), anchor=":", lead=" ")
    spelt = trie.spelling(("Image Denoising",))[:-1]
    assert tokenizer.decode(spelt) == " Image Denoising"
    assert spelt == tuple(tokenizer(": Image Denoising", add_special_tokens=False)["input_ids"][1:])


def test_a_tokenizer_whose_spelling_depends_on_all_that_follows_is_refused():
    def encode(text):
        # A token for every character, all of which change with the length of the text.
        ids = [1000 * len(text) + position for position in range(len(text))]
        return ids, [(position, position + 1) for position in range(len(text))]

    with pytest.raises(UnspellableError, match="depends on all that follows"):
        list(walks(Grammar(constraint=AnyOrder(most=3), speller=Speller(encode), end=END)))
