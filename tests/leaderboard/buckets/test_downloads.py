"""Downloads: browsers that show a public picture are led to the bucket, and everything else comes from the site."""

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from evaluator.core.values import Artefact, MediaType, encode
from leaderboard.evaluations.results import objects
from leaderboard.evaluations.results.objects import server_store
from leaderboard.people.models import User
from leaderboard.platform.environment import origin_of, store_url
from tests.leaderboard.factories import make_user

pytestmark = pytest.mark.django_db

ON_A_PAGE = {"Sec-Fetch-Dest": "image"}
HOSTILE = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.fixture
def public(bucket, settings, monkeypatch):
    """The service, which browsers reach."""
    monkeypatch.setenv("PLANARENA_S3_PUBLIC_ENDPOINT", bucket.url)
    settings.STORE_ORIGIN = bucket.url
    objects._bucket.cache_clear()
    return bucket


def put(data, media_type=MediaType.PNG, *, split="public"):
    return server_store(split=split).put(Artefact(data=data, media_type=media_type))


def shown(digest, path="objects", client=None, **headers):
    return (client or Client()).get(f"/{path}/{digest}", headers=ON_A_PAGE | headers)


def test_a_picture_on_a_page_comes_from_the_bucket_as_the_picture_that_it_is(public):
    digest = put(HOSTILE)
    # Somebody has changed what the bucket says that it is.
    name = f"/arena/site/public/objects/{digest[:2]}/{digest[2:]}"
    answer = shown(digest)
    assert answer.status_code == 302
    assert answer["Cache-Control"] == "private, max-age=150"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "Sec-Fetch-Dest" in answer["Vary"]
    public.objects[name] = public.objects[name]._replace(content_type="image/svg+xml")
    found = httpx.get(answer["Location"])
    assert found.content == HOSTILE
    assert found.headers["Content-Type"] == "image/png"
    assert found.headers["Content-Disposition"] == "inline"


def test_an_address_in_the_bucket_is_for_one_object_and_one_content_type_and_expires(public):
    url = shown(put(b"a picture"))["Location"]
    other = put(b"another")
    assert int(parse_qs(urlsplit(url).query)["X-Amz-Expires"][0]) == 300
    assert httpx.get(url).status_code == 200
    assert httpx.get(url.replace("image%2Fpng", "text%2Fhtml")).status_code == 403
    assert httpx.get(url.replace("/public/", "/hidden/")).status_code == 403
    before, after = url.split("/objects/")
    assert httpx.get(f"{before}/objects/{other[:2]}/{other[2:]}?{after.split('?')[1]}").status_code == 403
    assert httpx.get(f"{before}/?list-type=2&{after.split('?')[1]}").status_code == 403
    assert httpx.put(url, content=b"x").status_code == 403
    assert httpx.get(f"{before}/objects/{after.split('?')[0]}").status_code == 403


def test_texts_programs_and_opened_pictures_are_served_by_the_site_with_its_headers(public):
    text, picture = put(b"<script>", MediaType.TEXT), put(HOSTILE)
    page = Client()
    for answer in (
        shown(text),
        page.get(f"/objects/{picture}"),
        page.get(f"/objects/{picture}", headers={"Sec-Fetch-Dest": "document"}),
        page.get(f"/objects/{picture}", headers={"Sec-Fetch-Dest": "empty"}),
    ):
        assert answer.status_code == 200
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer["Content-Security-Policy"]


def test_nothing_hidden_has_an_address_in_the_bucket(public):
    digest = put(b"hidden", split="hidden")
    assert shown(digest).status_code == 404
    assert shown(digest, path="hidden-objects").status_code == 404
    staff, user = Client(), make_user()
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    staff.force_login(User.objects.get(pk=user.pk))
    answer = shown(digest, path="hidden-objects", client=staff)
    assert (answer.status_code, answer.content) == (200, b"hidden")
    assert answer["Cache-Control"] == "private, no-store"


def test_what_is_not_there_or_damaged_has_no_address(public):
    digest = put(b"a picture")
    name = f"/arena/site/public/objects/{digest[:2]}/{digest[2:]}"
    public.objects[name] = public.objects[name]._replace(data=b"altered!!", sha256="")
    assert shown(digest).status_code == 404
    assert shown("0" * 64).status_code == 404
    assert shown("..%2f..%2fhidden").status_code == 404


def test_without_a_public_endpoint_the_site_serves_pictures(bucket):
    digest = server_store(split="public").put(encode("x"))
    picture = put(b"a picture")
    assert shown(digest).status_code == 200
    answer = shown(picture)
    assert (answer.status_code, answer.content) == (200, b"a picture")


def test_addresses_of_buckets_and_origins_are_read():
    assert store_url("/srv/store") == store_url("") == ""
    assert store_url("s3://arena/some/prefix/") == "s3://arena/some/prefix"
    assert origin_of("https://S3.example.org/arena") == "https://s3.example.org"
    assert origin_of("") == ""
    for wrong in ("http://x/y", "s3://", "s3://Bucket", "s3://bucket/../x", "s3://bucket?x=1", "gs://b"):
        with pytest.raises(ImproperlyConfigured, match="must be a folder, or s3://bucket/prefix"):
            store_url(wrong)
    for wrong in ("s3.example.org", "javascript:alert(1)", "https://a b", "https://x; script-src *"):
        with pytest.raises(ImproperlyConfigured, match="must begin with"):
            origin_of(wrong)
