"""A submitted value is defined once: form, serializer, example, limits and the client's entry follow from it."""

import pytest
from django import forms

from evaluator.client.shapes import NewSubmission, PlannerEntry
from leaderboard.planners.data import PlannerData
from leaderboard.planners.kinds import FIELDS, KINDS, kinds_with
from leaderboard.planners.web.serializers import OF_OWNER, PlannerInput, PlannerOutput
from leaderboard.platform.api.examples import example_of
from leaderboard.platform.fields import Choice, Number, SeenBy, Text, Tick, Whole, YesNo, merged
from leaderboard.submissions.fields import BESIDE_THE_PLANNER
from leaderboard.submissions.web.api import SubmissionInput
from leaderboard.submissions.web.forms import SubmitForm
from tests.leaderboard.factories import make_user

SECRET = Text("key", label="Key", noun="key", help="Kept.", example="x", seen_by=SeenBy.NOBODY, is_kept=False)
PLAIN = Text("word", label="Word", noun="word", help="A word.", example="x", longest=3)
COUNT = Whole("count", label="Count", noun="count", example=2, default=5, least=1, most=9, unit="pieces")
RATE = Number("rate", label="Rate", noun="rate", example=0.5, least=0, most=1, unit="per second")
OPEN = YesNo("open", label="Open", noun="openness", example=True, yes=("y", "Yes"), no=("n", "No"))
TICK = Tick("tick", label="Tick", noun="tick", example=False)
PICK = Choice("pick", label="Pick", noun="pick", example="a", choices=[("a", "A"), ("b", "B")])


def test_a_secret_is_not_shown_and_its_blanks_count():
    on_page, in_api = SECRET.form_field(), SECRET.api_field()
    assert isinstance(on_page.widget, forms.PasswordInput)
    assert on_page.clean(" x ") == " x "
    assert in_api.write_only
    assert in_api.run_validation(" x ") == " x "
    data = PlannerData.of(kind="endpoint", key="s3cr3t")
    assert data[SECRET] == "s3cr3t"
    assert "s3cr3t" not in repr(data)


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        (PLAIN, " abc ", "abc"),
        (COUNT, "7", 7),
        (COUNT, "", 5),
        (RATE, "", None),
        (OPEN, "n", False),
        (OPEN, "", None),
        (TICK, "on", True),
        (PICK, "b", "b"),
    ],
)
def test_what_was_typed_is_the_value(field, typed, value):
    assert field.from_form(field.form_field().clean(typed)) == value


def test_the_api_has_the_default_and_says_which_kinds_have_it():
    assert COUNT.api_field().run_validation() == 5
    assert RATE.api_field().run_validation(None) is None
    assert PLAIN.api_field(kinds=["hub", "chat"]).help_text == "For `hub` and `chat`: a word."
    assert PLAIN.api_field(kinds=[]).help_text == "A word."


def test_fields_of_several_kinds_keep_each_kind_s_order():
    assert merged([[PLAIN, PICK], [PLAIN, COUNT, PICK], [TICK, PICK], [RATE]]) == (PLAIN, COUNT, TICK, PICK, RATE)


@pytest.mark.django_db
def test_the_form_and_the_api_have_all_fields_and_no_other():
    forms = [SubmitForm(kind=kind, user=make_user(name)) for name, kind in KINDS.items()]
    assert {field.name for field in FIELDS if field.on_page} <= {name for form in forms for name in form.fields}
    assert set(PlannerInput().fields) == {"kind", *(field.name for field in FIELDS if field.in_api)}
    assert {field.name for field in FIELDS if field.is_kept} <= set(PlannerOutput().fields)
    shown = {block.field.name for form in forms for block in form.planner_blocks()}
    assert {field.name for field in FIELDS if field.on_page and field.template == "submissions/field.html"} <= shown


def test_the_example_is_what_the_kind_s_fields_say():
    example = example_of(PlannerInput)
    kind = KINDS[example["kind"]]
    for field in FIELDS:
        if field.in_api and kinds_with(field):
            assert example[field.name] == (field.example if field in kind.fields else field.default), field.name


def test_only_the_owner_is_shown_what_is_the_owner_s():
    assert {"endpoint_url", "timeout_seconds", "header"} <= OF_OWNER
    secret = [field for field in FIELDS if field.seen_by is SeenBy.NOBODY]
    assert secret
    for field in secret:
        assert not field.is_kept
        assert field.name not in PlannerOutput().fields


def test_the_client_enters_the_same_fields_with_the_same_defaults_and_limits():
    assert set(PlannerEntry.model_fields) == set(PlannerInput().fields)
    for field in (field for field in FIELDS if field.in_api):
        entry = PlannerEntry.model_fields[field.name]
        assert entry.is_required() is field.is_required, field.name
        assert field.is_required or entry.default == field.default, field.name
        assert entry.repr is (field.seen_by is not SeenBy.NOBODY and field.name not in {"plans", "roles"}), field.name
        for limit, own in (("ge", "least"), ("le", "most"), ("max_length", "longest")):
            known = [getattr(one, limit) for one in entry.metadata if hasattr(one, limit)]
            assert not known or known == [getattr(field, own)], f"{field.name}: {limit}"


def test_the_rest_of_a_submission_is_the_same_in_the_client_and_on_the_site():
    assert set(NewSubmission.model_fields) == set(SubmissionInput().fields)
    for field in BESIDE_THE_PLANNER:
        default = NewSubmission.model_fields[field.name].default
        assert default == field.default, field.name
        assert SubmissionInput().fields[field.name].run_validation() == default, field.name
