"""The operators' pages of the sealed pool."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from leaderboard.catalog.models import SealedEntry, SealedState
from leaderboard.catalog.sealed.pool import withdraw
from tests.leaderboard.catalog.sealed import GOAL, SLUG, added, derived, make_suite, proposal
from tests.leaderboard.factories import make_user

pytestmark = pytest.mark.django_db
LIST = "/admin/catalog/sealedentry/"


@pytest.fixture(autouse=True)
def suite():
    return make_suite()


@pytest.fixture
def operator(client: Client):
    return signed_in(client, "operator")


def signed_in(client: Client, name: str):
    user = make_user(name)
    user.is_staff = True
    user.save()
    client.force_login(user)
    return user


def page_of(client: Client, entry: SealedEntry) -> str:
    return client.get(reverse("admin:catalog_sealedentry_change", args=[entry.pk])).content.decode()


def test_one_entry_is_added_and_an_invalid_one_says_why(client, operator):
    found = {**proposal().model_dump(), "suite": SLUG, "goal": json.dumps(GOAL)}
    wrong = client.post(f"{LIST}propose/", {**found, "goal": '{"inputs": {}}'})
    assert "Goal: inputs" in wrong.content.decode()
    assert ">null<" not in "".join(client.get(f"{LIST}propose/").content.decode().split())
    page = client.post(f"{LIST}propose/", found, follow=True)
    assert page.status_code == 200
    entry = SealedEntry.objects.get()
    assert (entry.added_by, entry.state, entry.origin) == (operator, SealedState.PROPOSED, "person")
    again = client.post(f"{LIST}propose/", found)
    assert "The same text is in the pool" in again.content.decode()


def test_a_file_adds_all_or_none_and_names_the_lines(client, operator):
    lines = [json.dumps(proposal(number).model_dump()) for number in range(2)]

    def upload(*lines: str) -> str:
        file = SimpleUploadedFile("pool.jsonl", "\n".join(lines).encode())
        return client.post(f"{LIST}upload/", {"suite": SLUG, "file": file}, follow=True).content.decode()

    assert "Line 2: The line is not JSON" in upload(lines[0], "{", lines[1])
    assert not SealedEntry.objects.exists()
    assert "2 entries were added" in upload(*lines)
    assert "Line 1: The same text" in upload(lines[1])


def test_a_reviewer_sees_the_words_and_not_the_goal_and_the_readings_when_it_is_decided(client, operator):
    entry = derived(added(proposal(), by=make_user("ada"))[0])
    shown = page_of(client, entry)
    assert "Scan 1 of {image}" in shown
    assert "Review it" in shown
    review = reverse("admin:catalog_sealedentry_review", args=[entry.pk])
    asked = client.get(review).content.decode()
    for page in (shown, asked):
        assert "Image Captioning" not in page
        assert "image_captioning&quot;" not in page
    assert "There is one try" in asked or "there is one try" in asked
    names = list(client.get(review).context["form"].fields)
    answers = dict(zip(names, [["low_resolution"], "image_captioning", "de", "", "", "", "", "yes"], strict=True))
    page = client.post(review, answers, follow=True).content.decode()
    assert "the entry is sealed" in page
    assert "Image Captioning" in page
    assert "The entry is sealed" in client.post(review, answers, follow=True).content.decode()


def test_another_goal_disputes_the_entry_and_shows_both(client, operator):
    entry = derived(added(proposal(), by=make_user("ada"))[0])
    review = reverse("admin:catalog_sealedentry_review", args=[entry.pk])
    assert "needs a language" in client.post(review, {"q1": "image_captioning"}).content.decode()
    page = client.post(review, {"q1": "object_detection", "q2": "en", "q7": "yes"}, follow=True).content.decode()
    assert "the entry is disputed" in page
    assert "Object Detection" in page
    assert "Image Super Resolution" in page


def test_nobody_reviews_their_own_entry_and_the_list_has_no_words(client, operator):
    entry = derived(added(proposal(), by=operator)[0])
    review = reverse("admin:catalog_sealedentry_review", args=[entry.pk])
    assert "someone else reviews it" in client.get(review, follow=True).content.decode()
    assert "Review it" not in page_of(client, entry)
    shown = client.get(LIST, {"state__exact": "derived"}).content.decode()
    assert "derived: parsers agree" in shown
    assert "Scan 1" not in shown
    assert "There is no such entry" in client.get(f"{LIST}nonsense/review/", follow=True).content.decode()


def test_entries_are_withdrawn_for_good(client, operator):
    entry, gone = added(proposal(1), proposal(2), by=operator)
    withdraw(gone.pk, by=operator)
    body = {"action": "withdraw", "_selected_action": [str(entry.pk), str(gone.pk)]}
    page = client.post(LIST, body, follow=True)
    said = sorted(str(message).partition(": ")[2] for message in page.context["messages"])
    assert said == ["This is not possible: the entry is withdrawn.", "withdrawn."]


def test_people_who_are_no_operators_see_none_of_it(client):
    entry = added(proposal(), by=make_user("ada"))[0]
    client.force_login(make_user("bea"))
    for address in ("", "propose/", "upload/", f"{entry.pk}/change/", f"{entry.pk}/review/"):
        for answer in (client.get(LIST + address, follow=True), client.post(LIST + address, follow=True)):
            assert answer.status_code == 403, address
            assert "Scan 1" not in answer.content.decode()
