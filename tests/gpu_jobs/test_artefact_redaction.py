"""Exact secrets in artefacts: found and taken out of texts, JSON and the metadata of images, and of nothing else."""

import io
import json
import zlib

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from evaluator.records import ArtefactReference
from evaluator.values import Artefact, MediaType, decode, encode
from gpu_jobs.artefact_redaction import holds_secret, redacted, with_digests
from gpu_jobs.client import ApiClient
from gpu_jobs.contract.lease import Lease
from gpu_jobs.redaction import Redactor
from gpu_jobs.worker import Worker
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.runner import FakeRunner

SECRET = 'a-secret-with-"quotes"-and-ü'


def text(content: str) -> Artefact:
    return Artefact(data=content.encode(), media_type=MediaType.TEXT)


def image(*, info: PngInfo | None = None, icc: bytes | None = None, after: bytes = b"") -> Artefact:
    buffer = io.BytesIO()
    picture = Image.new("RGB", (4, 3), (10, 200, 30))
    picture.save(buffer, format="PNG", pnginfo=info, icc_profile=icc)
    return Artefact(data=buffer.getvalue() + after, media_type=MediaType.PNG)


def info_with(add: str) -> PngInfo:
    info = PngInfo()
    match add:
        case "tEXt":
            info.add_text("Comment", SECRET.replace("ü", "u"))
        case "zTXt":
            info.add_text("Comment", SECRET.replace("ü", "u"), zip=True)
        case "iTXt":
            info.add_itxt("Comment", SECRET)
        case "compressed iTXt":
            info.add_itxt("Comment", SECRET, zip=True)
        case "private":
            info.add(b"prIv", SECRET.encode())
    return info


@pytest.mark.parametrize(
    "content", [f"the key is {SECRET}", json.dumps({"k": SECRET}), json.dumps([SECRET], ensure_ascii=False)]
)
def test_a_secret_is_taken_out_of_texts_and_of_json(content):
    found = redacted(text(content), secrets=[SECRET])
    assert "a-secret" not in found.data.decode()
    assert "***" in found.data.decode()
    assert found.digest != text(content).digest


@pytest.mark.parametrize("kind", ["tEXt", "zTXt", "iTXt", "compressed iTXt", "private"])
def test_metadata_with_a_secret_is_dropped_and_the_picture_stays(kind):
    dirty = image(info=info_with(kind))
    secrets = [SECRET, SECRET.replace("ü", "u")]
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


class Leaking(FakeRunner):
    """A runner whose models write the attempt's secrets into every artefact."""

    def _record(self, *, lease, task):
        record = super()._record(lease=lease, task=task)
        told = f"{task}: {lease.token}, {lease.hidden_seed.get_secret_value()}"
        info = PngInfo()
        info.add_text("Comment", told)
        references = []
        for artefact in (text(told), image(info=info)):
            self.store.put(artefact)
            references.append(ArtefactReference(digest=artefact.digest, media_type=artefact.media_type))
        (sample,) = record.samples
        changed = sample.model_copy(update={"answer": references[0], "inputs": {"image": references[1]}})
        return record.model_copy(update={"samples": [changed]})


def test_a_worker_sends_artefacts_without_its_secrets_and_records_that_name_those():
    lease = {**LEASE, "split": "hidden", "needs_seed": True, "token": "attempt-token"}
    api = FakeApi(lease)
    api.seed = "seed-of-this-season-and-suite"
    client = ApiClient(url="http://site", token="operator", transport=api.transport, sleep=lambda _: None)
    assert Worker(client=client, runner=Leaking(), name="w", idle_seconds=0.0).run() == 0
    assert len(api.results) == 3
    for data in api.objects.values():
        assert b"attempt-token" not in data
        assert b"seed-of-this" not in data
    named = {sample["answer"]["digest"] for record in api.results.values() for sample in record["samples"]}
    named |= {sample["inputs"]["image"]["digest"] for record in api.results.values() for sample in record["samples"]}
    assert named == set(api.objects)
