"""Direct uploads: a worker sends pictures to the bucket by requests that the site has signed, and nothing else."""

import base64
import io
import logging
import random
import time

import httpx
import pytest
from django.test import Client
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from evaluator.core.records import ArtefactReference, SampleResult
from evaluator.core.values import Artefact, MediaType, encode
from evaluator.execution.engine.store import MemoryStore
from gpu_jobs import client as worker
from gpu_jobs.contract import Lease
from gpu_jobs.delivery import Delivery, DirectUploads
from gpu_jobs.redaction import Redactor
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.objects import server_store
from tests.fakes.s3.server import Fault
from tests.leaderboard.factories import make_record, make_submission, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, worker_client, worker_with
from tests.leaderboard.queue.workers.test_tokens import launching, lease, own_evaluation, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("bucket")]


def picture(seed):
    """Noise of 64 x 64 pixels, which does not fit into less than 12,288 bytes."""
    return encode(Image.frombytes("RGB", (96, 96), random.Random(seed).randbytes(96 * 96 * 3)))


@pytest.fixture
def given():
    """A lease of a worker of the site's, as it answers it."""
    launching(make_submission().evaluations.get())
    return lease(worker_client()).json()


def through_django(request):
    """Sends a worker's requests to the site's views."""
    headers = {name: value for name, value in request.headers.items() if name in {"authorization", "idempotency-key"}}
    answer = Client().generic(
        request.method, request.url.raw_path.decode(), request.content,
        content_type=request.headers.get("content-type", ""), headers=headers,
    )  # fmt: skip
    return httpx.Response(answer.status_code, content=answer.content, headers=dict(answer.headers))


@pytest.fixture
def api():
    return worker.ApiClient(
        url="http://testserver", token="unused", patience_seconds=0.0, sleep=lambda _: None,
        transport=httpx.MockTransport(through_django),
    )  # fmt: skip


def offer(given, *artefacts, token=""):
    uploads = [{"digest": one.digest, "size": len(one.data), "media_type": one.media_type} for one in artefacts]
    client = ApiClient(token or given["token"])
    return client.post(f"worker/attempts/{given['attempt']}/objects/uploads/", {"uploads": uploads})


def offered(given, artefact):
    (found,) = offer(given, artefact).json()["offered"]
    return found


def send(found, data, **changes):
    headers = {**found["headers"], **changes.get("headers", {})}
    return httpx.put(changes.get("url", found["url"]), content=data, headers=headers).status_code


def record_of(given, *artefacts):
    references = {
        str(index): ArtefactReference(digest=one.digest, media_type=one.media_type)
        for index, one in enumerate(artefacts)
    }
    samples = [SampleResult(index=0, inputs=references, reference=None, answer=None, score=0.5, steps=[])]
    record = make_record(given["tasks"][0], suite=given["suite"])
    return record.model_copy(update={"samples": samples})


def deliver(given, api, *artefacts, redact=None):
    """What a worker does with the results of its first task."""
    store = MemoryStore()
    for artefact in artefacts:
        store.put(artefact)
    uploads = DirectUploads(sleep=lambda _: None)
    delivery = Delivery(
        client=api, lease=Lease.model_validate(given), store=store, uploads=uploads, every_seconds=0.01, redact=redact
    )
    # In this thread: it has the database's transaction.
    delivery.add(record_of(given, *artefacts))
    delivery._flush()


def test_pictures_go_to_the_bucket_and_texts_and_small_ones_through_the_site(bucket, given, api):
    large, small, text = picture(1), encode(Image.new("RGB", (4, 4))), encode("an answer" * 5000)
    sent = []
    inner = httpx.MockTransport(through_django)

    def noting(request):
        sent.append((request.url.path, len(request.content)))
        return inner.handle_request(request)

    api._client = httpx.Client(base_url="http://testserver/api/v1/worker/", transport=httpx.MockTransport(noting))
    deliver(given, api, large, small, text)
    (bundle,) = [size for path, size in sent if path.endswith("/objects/")]
    assert len(text.data) < bundle < len(large.data) + len(text.data)
    assert TaskResult.objects.exclude(record_digest="").count() == 1
    for artefact in (large, small, text):
        assert server_store(split="public").get(artefact.digest) == artefact


def refuses_other_requests(found, *, wanted):
    """The service refuses everything but the offered bytes at the offered place."""
    other = picture(2)
    same_length = wanted.data[:-1] + bytes([wanted.data[-1] ^ 1])
    checksum = base64.b64encode(bytes.fromhex(other.digest)).decode()
    assert send(found, same_length) == 400
    assert send(found, other.data) in {400, 403}
    assert send(found, other.data, headers={"x-amz-checksum-sha256": checksum}) == 403
    assert send(found, wanted.data, headers={"Content-Type": "text/html"}) == 403
    assert send(found, wanted.data, headers={"x-amz-meta-reason": "mine"}) == 403
    assert send(found, wanted.data, headers={"x-amz-copy-source": "arena/site/hidden/objects/ab/cd"}) == 403
    elsewhere = found["url"].replace(wanted.digest[2:], other.digest[2:])
    assert send(found, wanted.data, url=elsewhere) == 403
    assert send(found, wanted.data, url=found["url"].replace("/public/", "/hidden/")) == 403
    assert httpx.get(found["url"]).status_code == 403
    assert httpx.delete(found["url"]).status_code == 403


def test_the_bucket_refuses_everything_but_the_bytes_that_were_offered(bucket, given):
    wanted = picture(1)
    found = offered(given, wanted)
    refuses_other_requests(found, wanted=wanted)
    assert bucket.names() == []
    assert not server_store(split="public").has(wanted.digest)
    assert send(found, wanted.data) == 200
    assert server_store(split="public").get(wanted.digest) == wanted


def test_an_offer_expires(bucket, given, monkeypatch):
    wanted = picture(1)
    found = offered(given, wanted)
    now = time.time()
    monkeypatch.setattr("tests.fakes.s3.signatures.time.time", lambda: now + 901)
    assert send(found, wanted.data) == 403
    assert bucket.names() == []


def test_only_pictures_of_some_size_that_the_site_lacks_are_offered(given, settings):
    there, text, small = picture(1), encode("text" * 9000), encode(Image.new("RGB", (4, 4)))
    server_store(split="public").put(there)
    settings.MAX_OBJECT_BYTES = 30_000
    large = Artefact(data=bytes(30_001), media_type=MediaType.PNG)
    script = Artefact(data=b"<svg/>" * 4000, media_type=MediaType.PNG)
    found = [one["digest"] for one in offer(given, there, text, small, large, script).json()["offered"]]
    # A worker may call anything a picture; browsers are told that it is one, too.
    assert found == [script.digest]
    client = ApiClient(given["token"])
    path = f"worker/attempts/{given['attempt']}/objects/uploads/"
    for digest in ("../../hidden/objects/ab/cd", "A" * 64, ""):
        bad = {"uploads": [{"digest": digest, "size": 20_000, "media_type": "image/png"}]}
        assert client.post(path, bad).status_code == 400
    bad = {"uploads": [{"digest": "a" * 64, "size": 20_000, "media_type": "image/svg+xml"}]}
    assert client.post(path, bad).json()["offered"] == []


def test_nobody_uploads_for_another_attempt_or_after_its_end(given):
    assert offer(given, picture(1), token="another").status_code in {401, 403}
    ApiClient(given["token"]).post(f"worker/attempts/{given['attempt']}/fail/", {"how": "failed", "reason": "x"})
    assert offer(given, picture(1)).status_code == 409


def test_self_hosted_workers_send_everything_through_the_site(bucket):
    ada = make_user("ada")
    own_evaluation(ada)
    given = lease(worker_with(token_of(ada)["token"])).json()
    assert offer(given, picture(1)).json() == {"offered": []}
    client, path = ApiClient(given["token"]), f"worker/attempts/{given['attempt']}/objects/"
    assert client.post(f"{path}missing/", {"digests": ["a" * 64]}).json()["takes_uploads"] is False
    one = picture(1)
    assert client.put(f"{path}{one.digest}/", one.data, one.media_type).status_code == 204
    assert server_store(split="public").has(one.digest)


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.FULL, Fault.BUSY, Fault.RESET, Fault.RESET_AFTER])
def test_a_bucket_that_takes_nothing_from_a_worker_takes_it_from_the_site(bucket, given, api, fault):
    one = picture(1)
    failed, times = 0, 1 if fault in {Fault.REFUSED, Fault.FULL} else 3

    def refuses_uploads(method, name):
        nonlocal failed
        failed += method == "PUT"
        return fault if method == "PUT" and failed <= times else None

    bucket.fault = refuses_uploads
    deliver(given, api, one)
    assert failed > 1
    assert server_store(split="public").get(one.digest) == one
    assert TaskResult.objects.exclude(record_digest="").count() == 1


def test_secrets_are_taken_out_before_a_picture_is_uploaded(bucket, given, api):
    secret = "a-secret-of-this-worker"
    note = PngInfo()
    note.add_text("comment", secret)
    file = io.BytesIO()
    Image.frombytes("RGB", (96, 96), random.Random(1).randbytes(96 * 96 * 3)).save(file, "PNG", pnginfo=note)
    deliver(given, api, Artefact(data=file.getvalue(), media_type=MediaType.PNG), redact=Redactor(secrets=[secret]))
    assert len(bucket.names("/public/objects/")) == 2
    assert not [name for name, one in bucket.objects.items() if secret.encode() in one.data]


def test_signed_addresses_are_in_no_log_and_no_repr(bucket, given, api, caplog):
    bucket.fault = lambda method, _name: Fault.RESET if method == "PUT" else None
    one = picture(1)
    (found,) = api.uploads(lease=Lease.model_validate(given), artefacts=[one])
    with caplog.at_level(logging.INFO):
        rest = DirectUploads(sleep=lambda _: None).send(client=api, lease=Lease.model_validate(given), artefacts=[one])
    assert rest == [one]
    assert "is sent to the site" in caplog.text
    ours = [line.getMessage() for line in caplog.records if line.name.startswith(("gpu_jobs", "leaderboard"))]
    assert not [line for line in ours if "X-Amz" in line]
    assert "X-Amz" not in repr(found)
    assert "Signature=***" in Redactor()(found.url)
