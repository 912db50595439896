"""Stores: nothing half-written counts, nothing in use is evicted, and S3 keeps the same contract as a folder."""

import os
import time

import pytest
from PIL import Image

from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import ArtefactReference
from evaluator.core.values import encode
from evaluator.execution.engine.jobs import Job
from evaluator.execution.engine.opening import open_store, parse_size
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import LocalStore, ObjectDamagedError, ObjectMissingError, StoreUnavailableError
from tests.fakes.experts import FakeExpert, FakePool, invert
from tests.fakes.s3.server import FakeS3

HOUR = 3600.0


def text(number):
    return encode(f"{number:03d}" + "x" * 97)


def reference(digest):
    return ArtefactReference(digest=digest, media_type="text/plain; charset=utf-8")


def age(folder, *, hours):
    """Let everything in a store have been used so long ago."""
    then = time.time() - hours * HOUR
    for path in folder.glob("objects/*/*"):
        os.utime(path, (then, then))


def test_what_was_not_used_for_the_longest_time_is_evicted(tmp_path):
    store = LocalStore(tmp_path, max_bytes=1000)
    old = [store.put(text(number)) for number in range(9)]
    age(tmp_path, hours=5)
    store.get(old[0])
    new = [store.put(text(number)) for number in range(9, 12)]
    left = [digest for digest in old if store.has(digest)]
    assert old[0] in left
    assert len(left) < len(old)
    assert all(store.has(digest) for digest in new)
    assert sum(path.stat().st_size for path in tmp_path.glob("objects/*/*")) <= 1000


def test_what_was_used_within_the_hour_stays_although_the_store_is_full(tmp_path):
    store = LocalStore(tmp_path, max_bytes=1000)
    digests = [store.put(text(number)) for number in range(30)]
    assert all(store.has(digest) for digest in digests)


def test_what_a_run_uses_stays_as_long_as_the_run(tmp_path):
    store = LocalStore(tmp_path, max_bytes=1000, keep_seconds=-HOUR)
    with store.held():
        digests = [store.put(text(number)) for number in range(30)]
        assert all(store.has(digest) for digest in digests)
    store.put(text(99))
    assert not all(store.has(digest) for digest in digests)


def test_the_limit_counts_what_was_there_before(tmp_path):
    first = LocalStore(tmp_path)
    for number in range(20):
        first.put(text(number))
    age(tmp_path, hours=5)
    LocalStore(tmp_path, max_bytes=1000).put(text(99))
    assert sum(path.stat().st_size for path in tmp_path.glob("objects/*/*")) <= 1000


def one_job(engine):
    plan = Plan(steps=(Step("s1", "invert", {"image": "$image"}, {"image": "s1.image"}),), answers=("s1.image",))
    return Job(task="t", sample=0, plan=plan, resources={"image": engine.keep(Image.new("RGB", (4, 4)))})


@pytest.mark.parametrize("harm", ["cut", "removed", "step_cut", "step_wrong", "half_written"])
def test_a_step_with_anything_wrong_about_it_is_executed_again(tmp_path, harm):
    def run():
        engine = Engine(pool=FakePool({"invert": FakeExpert(invert)}), store=LocalStore(tmp_path))
        (result,) = engine.run([one_job(engine)])
        return engine.calls.total(), result.answer

    _, answer = run()
    (step,) = tmp_path.glob("steps/*/*.json")
    (made,) = tmp_path.glob(f"objects/{answer.digest[:2]}/{answer.digest[2:]}*")
    if harm == "cut":
        made.write_bytes(made.read_bytes()[:-5])
    elif harm == "removed":
        made.unlink()
    elif harm == "step_cut":
        step.write_bytes(step.read_bytes()[:-5])
    elif harm == "step_wrong":
        step.write_text('["nothing"]')
    else:
        made.rename(made.with_name(".writing-1-abcd-0"))
    assert run() == (1, answer)
    assert run() == (0, answer)


@pytest.fixture
def s3(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with FakeS3().serving() as fake:
        monkeypatch.setenv("PLANARENA_S3_ENDPOINT", fake.url)
        yield fake


def opened(folder):
    return open_store(where="s3://arena/some/prefix", data=folder)


def test_a_bucket_keeps_objects_and_steps_for_whoever_opens_it_next(s3, tmp_path):
    store = opened(tmp_path / "one")
    digest = store.put(text(1))
    picture = store.put(encode(Image.new("RGB", (4, 4), (1, 2, 3))))
    store.put_step(key="a" * 64, outputs={"text": reference(digest)})
    assert f"/arena/some/prefix/objects/{digest[:2]}/{digest[2:]}" in s3.objects
    other = opened(tmp_path / "two")
    assert other.get(digest) == text(1)
    assert other.get(picture).media_type == "image/png"
    assert other.get_step("a" * 64) == {"text": reference(digest)}
    assert other.has(digest)
    assert not other.has("0" * 64)
    assert other.get_step("b" * 64) is None
    with pytest.raises(ObjectMissingError):
        other.get("0" * 64)


def test_what_was_read_or_written_is_not_fetched_again(s3, tmp_path):
    store = opened(tmp_path)
    digest = store.put(text(1))
    store.put_step(key="a" * 64, outputs={"text": reference(digest)})
    s3.requests.clear()
    assert store.get(digest) == text(1)
    assert store.put(text(1)) == digest
    assert store.get_step("a" * 64) is not None
    assert s3.requests == []


def test_a_damaged_object_in_a_bucket_is_never_returned(s3, tmp_path):
    digest = opened(tmp_path / "one").put(text(1))
    path = f"/arena/some/prefix/objects/{digest[:2]}/{digest[2:]}"
    s3.objects[path] = s3.objects[path]._replace(data=b"something else")
    store = opened(tmp_path / "two")
    with pytest.raises(ObjectDamagedError):
        store.get(digest)
    assert path not in s3.objects
    (kept,) = [name for name in s3.objects if name.startswith(f"/arena/some/prefix/quarantine/{digest}.")]
    assert s3.objects[kept].data == b"something else"
    store.put_step(key="a" * 64, outputs={"text": reference(digest)})
    assert opened(tmp_path / "three").get_step("a" * 64) is None


def test_errors_of_a_bucket_are_retried_and_never_taken_for_absence(s3, tmp_path):
    s3.failures = 2
    store = opened(tmp_path)
    digest = store.put(text(1))
    assert opened(tmp_path / "two").get(digest) == text(1)
    s3.failures = 99
    with pytest.raises(StoreUnavailableError):
        store.has("0" * 64)


@pytest.mark.parametrize("where", ["s3://", "http://bucket/prefix", "gs://bucket"])
def test_what_names_no_store_is_refused(tmp_path, where):
    with pytest.raises(ValueError, match="give a folder or s3://bucket/prefix"):
        open_store(where=where, data=tmp_path)


def test_sizes_are_parsed():
    sizes = {"6GB": 6 * 10**9, "512 MiB": 2**29, "1.5 kb": 1500, "77": 77, "77B": 77}
    assert {text: parse_size(text) for text in sizes} == sizes
    for text in ("", "GB", "-1", "6 apples", "6GBGB"):
        with pytest.raises(ValueError, match="is no size"):
            parse_size(text)
