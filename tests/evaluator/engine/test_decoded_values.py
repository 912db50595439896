"""Values that the engine keeps in memory, so that the store is read once for each."""

from evaluator.engine.artefacts import Artefacts
from evaluator.engine.store import MemoryStore
from evaluator.values import Artefact


class CountingStore(MemoryStore):
    """Counts reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def get(self, digest: str) -> Artefact:
        self.reads += 1
        return super().get(digest)


def test_values_beyond_the_limit_are_read_from_the_store_again_and_the_last_used_stay():
    store = CountingStore()
    artefacts = Artefacts(store=store, cache_bytes=80)
    first, second, third = (artefacts.keep(letter * 10) for letter in "abc")
    assert (artefacts.value(third), artefacts.value(second), store.reads) == ("c" * 10, "b" * 10, 0)
    assert (artefacts.value(first), store.reads) == ("a" * 10, 1)
    assert (artefacts.value(second), store.reads) == ("b" * 10, 1)
    assert (artefacts.value(third), store.reads) == ("c" * 10, 2)


def test_a_value_larger_than_the_limit_is_read_each_time_and_evicts_nothing():
    store = CountingStore()
    artefacts = Artefacts(store=store, cache_bytes=80)
    small, large = artefacts.keep("a"), artefacts.keep("b" * 21)
    assert [artefacts.value(large) for _ in range(2)] == ["b" * 21] * 2
    assert (artefacts.value(small), store.reads) == ("a", 2)
