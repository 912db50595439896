from evaluator.metrics.scorers.embedding_cache import EmbeddingCache


def upper(digests):
    return [digest.upper() for digest in digests]


def test_what_is_kept_is_not_computed_again():
    kept, asked = EmbeddingCache(), []
    for _ in range(2):
        found = kept.all_of(digests="abc", references="ab", compute=lambda new: asked.append(new) or upper(new))
        assert found == {"a": "A", "b": "B", "c": "C"}
    assert asked == [["a", "b", "c"], ["c"]]


def test_only_references_are_kept():
    kept = EmbeddingCache()
    kept.all_of(digests="abc", references="b", compute=upper)
    assert len(kept) == 1


def test_each_is_computed_once_however_often_it_occurs():
    asked = []
    EmbeddingCache().all_of(digests="aba", references="aa", compute=lambda new: asked.append(new) or upper(new))
    assert asked == [["a", "b"]]


def test_what_was_not_asked_for_longest_goes_first():
    kept, asked = EmbeddingCache(maxsize=2), []
    for digests in ("a", "b", "a", "c", "a", "b"):
        kept.all_of(digests=digests, references=digests, compute=lambda new: asked.extend(new) or upper(new))
    assert len(kept) == 2
    assert asked == ["a", "b", "c", "b"]


def test_more_at_once_than_can_be_kept_are_all_found():
    assert len(EmbeddingCache(maxsize=2).all_of(digests="abcd", references="abcd", compute=upper)) == 4
