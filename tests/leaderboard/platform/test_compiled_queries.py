"""Queries whose SQL is written once: they find what Django's own find."""

from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.db.models import F
from django.db.transaction import TransactionManagementError

from leaderboard.evaluations.models import Evaluation
from leaderboard.platform.compiled_queries import CompiledQuery
from tests.leaderboard.factories import make_evaluation

pytestmark = pytest.mark.django_db


def by_key(evaluation):
    found = Evaluation.objects.select_related("suite", "submission__planner__secret").filter(pk=evaluation)
    return found.annotate(doubled=F("samples") * 2)


def test_it_finds_the_same_instance_with_what_is_read_with_it_which_can_be_saved(django_assert_num_queries):
    query = CompiledQuery(by_key, evaluation=UUID)
    for expected in (make_evaluation(), make_evaluation()):
        with django_assert_num_queries(1):
            found = query.first(evaluation=expected.pk)
            planner, columns = found.submission.planner, found.suite.columns
            assert not hasattr(planner, "secret")
        django = by_key(expected.pk).get()
        assert found == expected
        assert {field.attname: getattr(found, field.attname) for field in Evaluation._meta.concrete_fields} == {
            field.attname: getattr(django, field.attname) for field in Evaluation._meta.concrete_fields
        }
        assert (planner, columns) == (django.submission.planner, django.suite.columns)
        assert found.doubled == 2 * expected.samples
    assert query.first(evaluation=uuid4()) is None
    found.launch_handle = "changed"
    found.save(update_fields=["launch_handle"])
    assert Evaluation.objects.get(pk=found.pk).launch_handle == "changed"


@pytest.mark.django_db(transaction=True)
def test_rows_are_locked_in_transactions_only():
    query = CompiledQuery(lambda evaluation: by_key(evaluation).select_for_update(of=("self",)), evaluation=UUID)
    expected = make_evaluation()
    with transaction.atomic():
        assert query.first(evaluation=expected.pk) == expected
    with pytest.raises(TransactionManagementError):
        query.first(evaluation=expected.pk)
