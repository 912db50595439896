"""Writes in the background: nothing is handed out unwritten, and nothing that failed is taken for written."""

import threading

import pytest
from PIL import Image

from evaluator.core.records import ArtefactReference
from evaluator.core.values import Artefact, encode
from evaluator.execution.engine.artefacts import Artefacts, WritesBehind
from evaluator.execution.engine.store import LocalStore, MemoryStore, ObjectMissingError


class GatedStore(MemoryStore):
    """Lets nothing through before it is told to; may refuse."""

    parallel_writes = 2

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.refuses = False
        self.order = []

    def put(self, artefact):
        assert self.gate.wait(timeout=30)
        if self.refuses:
            raise OSError("no space left")
        self.order.append(artefact.digest)
        return super().put(artefact)

    def put_step(self, *, key, outputs):
        assert self.gate.wait(timeout=30)
        self.order.append(key)
        super().put_step(key=key, outputs=outputs)


@pytest.fixture
def gated():
    store = GatedStore()
    yield store
    store.gate.set()


def _reference(artefact):
    return ArtefactReference(digest=artefact.digest, media_type=artefact.media_type)


def test_what_is_under_way_can_be_read(gated):
    behind, artefact = WritesBehind(gated), encode("a red circle")
    behind.put(artefact)
    assert not gated.has(artefact.digest)
    assert behind.has(artefact.digest)
    assert behind.get(artefact.digest) == artefact


def test_written_says_whether_the_first_writes_are_over(gated):
    behind = WritesBehind(gated)
    behind.put(encode("one"))
    asked = behind.submitted
    assert not behind.written(asked)
    gated.gate.set()
    behind.flush()
    assert behind.written(asked)
    assert gated.has(encode("one").digest)


def test_a_step_is_never_there_before_its_objects(gated):
    behind, artefact = WritesBehind(gated), encode("a blue star")
    behind.put(artefact)
    behind.put_step(key="k", outputs={"text": _reference(artefact)})
    gated.gate.set()
    behind.flush()
    assert gated.order.index(artefact.digest) < gated.order.index("k")
    assert gated.get_step("k") == {"text": _reference(artefact)}


def test_a_failed_write_is_told_and_is_tried_again_by_the_next_run(gated):
    behind, artefact = WritesBehind(gated), encode("a green ring")
    gated.refuses = True
    gated.gate.set()
    behind.put(artefact)
    with pytest.raises(OSError, match="no space left"):
        behind.flush()
    with pytest.raises(OSError, match="no space left"):
        behind.written(0)
    behind.close()
    gated.refuses = False
    behind.put(artefact)
    behind.flush()
    assert gated.has(artefact.digest)


def test_who_puts_more_than_memory_should_hold_waits(gated, monkeypatch):
    monkeypatch.setattr("evaluator.execution.engine.artefacts.WAITING_BYTES", 3)
    behind, entered = WritesBehind(gated), threading.Event()
    behind.put(encode("four"))

    def another():
        behind.put(encode("more"))
        entered.set()

    thread = threading.Thread(target=another)
    thread.start()
    assert not entered.wait(timeout=0.2)
    gated.gate.set()
    assert entered.wait(timeout=30)
    thread.join()
    behind.flush()
    assert gated.has(encode("more").digest)


def test_many_writes_reach_the_disk(tmp_path):
    store = LocalStore(tmp_path)
    behind = WritesBehind(store)
    for number in range(300):
        artefact = encode(f"text {number % 100}")
        behind.put(artefact)
        behind.put_step(key=f"{number:064x}", outputs={"text": _reference(artefact)})
    behind.flush()
    assert all(store.get_step(f"{number:064x}") is not None for number in range(300))


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


def test_large_pictures_are_encoded_in_threads_as_they_are_one_by_one(monkeypatch):
    threads = []

    def noted(value):
        threads.append(threading.current_thread().name)
        return encode(value)

    monkeypatch.setattr("evaluator.execution.engine.artefacts.encode", noted)
    pictures = [Image.new("RGB", (size, 128), (number, 0, 0)) for number, size in enumerate((128, 200, 128, 16))]
    values = [*pictures, "a text"]
    artefacts = Artefacts(store=MemoryStore())
    artefacts.prepare(values)
    assert len(threads) == 3
    assert all(name.startswith("encode") for name in threads)
    assert [artefacts.keep(value) for value in values] == [_reference(encode(value)) for value in values]
    assert threads[3:] == ["MainThread"] * 2
    # Each is kept once; a picture that changed since is encoded again.
    pictures[0].putpixel((0, 0), (255, 255, 255))
    assert artefacts.keep(pictures[0]) == _reference(encode(pictures[0]))


def test_values_are_read_ahead_once_and_errors_wait_for_whoever_asks():
    class Counting(MemoryStore):
        reads = 0

        def get(self, digest):
            self.reads += 1
            return super().get(digest)

    store = Counting()
    picture, text = encode(Image.new("RGB", (300, 200), "red")), encode("a red circle")
    for artefact in (picture, text):
        store.put(artefact)
    lost = ArtefactReference(digest="0" * 64, media_type=text.media_type)
    artefacts = Artefacts(store=store)
    wanted = [_reference(picture), _reference(text), lost]
    artefacts.read_ahead([*wanted, *wanted])
    assert artefacts.extent(wanted[0]) == (300, 200)
    assert artefacts.value(wanted[1]) == "a red circle"
    assert artefacts.value(wanted[0]).size == (300, 200)
    with pytest.raises(ObjectMissingError):
        artefacts.value(lost)
    assert store.reads == 3
    artefacts.read_ahead(wanted[:2])
    artefacts.close()
    assert store.reads == 3, "what is there is not read again"


def test_the_next_batch_is_read_while_one_runs():
    seen = []

    class Reading(MemoryStore):
        def get(self, digest):
            seen.append(threading.current_thread().name)
            return super().get(digest)

    store = Reading()
    references = [_reference(encode(f"text {number}")) for number in range(4)]
    for number in range(4):
        store.put(encode(f"text {number}"))
    artefacts = Artefacts(store=store)
    artefacts.read_ahead(references)
    assert [artefacts.value(reference) for reference in references] == [f"text {number}" for number in range(4)]
    assert {name.rpartition("_")[0] for name in seen} == {"read"}
