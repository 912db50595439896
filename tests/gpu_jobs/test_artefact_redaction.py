"""Exact secrets in artefacts: found and taken out of texts, JSON and the metadata of images, and of nothing else."""

import io
import json
import zlib

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from evaluator.core.records import ArtefactReference, SampleResult
from evaluator.core.values import Artefact, MediaType, decode, encode
from gpu_jobs.contract import Lease
from gpu_jobs.redaction import Redactor, holds_secret, redacted, with_digests
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.runner import FakeRunner
from tests.gpu_jobs.test_worker import Acting, make_worker

SECRET = 'a-secret-with-"quotes"-and-ü'


def text(content: str) -> Artefact:
    return Artefact(data=content.encode(), media_type=MediaType.TEXT)


def image(*, info: PngInfo | None = None, icc: bytes | None = None, after: bytes = b"") -> Artefact:
    buffer = io.BytesIO()
    picture = Image.new("RGB", (4, 3), (10, 200, 30))
    picture.save(buffer, format="PNG", pnginfo=info, icc_profile=icc)
    return Artefact(data=buffer.getvalue() + after, media_type=MediaType.PNG)


@pytest.mark.parametrize(
    "content", [f"the key is {SECRET}", json.dumps({"k": SECRET}), json.dumps([SECRET], ensure_ascii=False)]
)
def test_a_secret_is_taken_out_of_texts_and_of_json(content):
    found = redacted(text(content), secrets=[SECRET])
    assert "a-secret" not in found.data.decode()
    assert "***" in found.data.decode()
    assert found.digest != text(content).digest


LATIN = SECRET.replace("ü", "u")


@pytest.mark.parametrize(
    "add",
    [
        lambda info: info.add_text("Comment", LATIN), lambda info: info.add_text("Comment", LATIN, zip=True),
        lambda info: info.add_itxt("Comment", SECRET), lambda info: info.add_itxt("Comment", SECRET, zip=True),
        lambda info: info.add(b"prIv", SECRET.encode()),
    ],
    ids=["tEXt", "zTXt", "iTXt", "compressed iTXt", "private"],
)  # fmt: skip
def test_metadata_with_a_secret_is_dropped_and_the_picture_stays(add):
    info = PngInfo()
    add(info)
    dirty, secrets = image(info=info), [SECRET, LATIN]
    assert holds_secret(dirty, secrets=secrets)
    clean = redacted(dirty, secrets=secrets)
    assert not holds_secret(clean, secrets=secrets)
    assert decode(clean).tobytes() == decode(dirty).tobytes()


def test_a_colour_profile_and_what_follows_the_end_of_an_image_are_looked_at():
    for dirty in (image(icc=b"profile " + SECRET.encode()), image(after=b"rest " + SECRET.encode())):
        clean = redacted(dirty, secrets=[SECRET])
        assert decode(clean).tobytes() == decode(dirty).tobytes()
        assert len(clean.data) < len(dirty.data)
        assert not holds_secret(clean, secrets=[SECRET])


def test_metadata_that_unpacks_to_a_bomb_is_dropped_unread():
    info = PngInfo()
    info.add(b"zTXt", b"Comment\x00\x00" + zlib.compress(b"0" * 50_000_000))
    assert len(redacted(image(info=info), secrets=[SECRET]).data) < 1000


def test_what_says_that_it_is_an_image_and_is_none_loses_the_secret_too():
    broken = Artefact(data=b"\x89PNG\r\n\x1a\n\x00\x00\xff\xff" + SECRET.encode(), media_type=MediaType.PNG)
    assert SECRET.encode() not in redacted(broken, secrets=[SECRET]).data


def test_what_holds_no_secret_is_the_very_same_artefact():
    harmless = PngInfo()
    harmless.add_text("Comment", "a sunset")
    for artefact in (text("nothing"), encode("plain"), image(info=harmless, icc=b"profile"), image()):
        assert redacted(artefact, secrets=[SECRET]) is artefact
        assert redacted(artefact, secrets=[]) is artefact


def test_short_secrets_are_left_since_they_may_be_words():
    assert Redactor(secrets=["secret"]).in_artefact(text("a secret")) == text("a secret")


def test_records_name_what_replaces_an_artefact():
    record = FakeRunner()._record(lease=Lease.model_validate(LEASE), task="0")
    (named,) = record.artefacts()
    after = with_digests(record, replaced={named.digest: "0" * 64})
    assert [one.digest for one in after.artefacts()] == ["0" * 64]
    assert with_digests(record, replaced={"f" * 64: "0" * 64}) is record


def test_a_worker_sends_artefacts_without_its_secrets_and_records_that_name_those():
    lease = {**LEASE, "split": "hidden", "needs_seed": True, "token": "attempt-token"}
    api = FakeApi(lease)
    api.seed = "seed-of-this-season-and-suite"

    def leak(lease, task):
        """As models that write the attempt's secrets into every artefact."""
        told = f"{task}: {lease.token}, {lease.hidden_seed.get_secret_value()}"
        info = PngInfo()
        info.add_text("Comment", told)
        references = []
        for artefact in (text(told), image(info=info)):
            runner.store.put(artefact)
            references.append(ArtefactReference(digest=artefact.digest, media_type=artefact.media_type))
        answer, picture = references
        return {
            "samples": [
                SampleResult(index=0, score=0, inputs={"image": picture}, reference=None, answer=answer, steps=[])
            ]
        }

    runner = Acting(leak)
    assert make_worker(api, runner).run() == 0
    assert len(api.results) == 3
    everything = b"".join(api.objects.values())
    assert b"attempt-token" not in everything
    assert b"seed-of-this" not in everything
    samples = [sample for record in api.results.values() for sample in record["samples"]]
    named = {reference["digest"] for sample in samples for reference in (sample["answer"], sample["inputs"]["image"])}
    assert named == set(api.objects)
