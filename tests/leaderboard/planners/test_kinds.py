"""What all kinds of planners have in common, and what PostgreSQL refuses of each."""

from typing import get_args

import pytest
from django.db import IntegrityError, transaction
from django.forms.models import model_to_dict

from evaluator.client.shapes import PlannerEntry
from gpu_jobs.contract.lease import Lease
from leaderboard.planners.kinds import KINDS, kind_of
from leaderboard.planners.models import NEEDED, Planner, PlannerKind
from tests.leaderboard.factories import make_user

FIELDS = {
    PlannerKind.BUNDLED: {"bundled_name": "gold"},
    PlannerKind.ENDPOINT: {"endpoint_url": "https://example.org/plan"},
    PlannerKind.CHAT: {"endpoint_url": "https://example.org/v1", "model_id": "m", "strategy": "hugginggpt"},
    PlannerKind.HUB: {"model_id": "a/b", "revision": "main", "commit": "c" * 40, "strategy": "hugginggpt"},
    PlannerKind.CHECKPOINT: {"checkpoint_digest": "d" * 64, "strategy": "hugginggpt"},
    PlannerKind.PLANS: {"plans_digest": "e" * 64},
    PlannerKind.AGENT: {},
}


def test_a_kind_is_known_everywhere():
    assert set(KINDS) == set(NEEDED) == set(PlannerKind.values)
    known_to_workers = {
        get_args(message.model_fields["kind"].annotation)[0]
        for message in get_args(Lease.model_fields["planner"].annotation)
    }
    assert known_to_workers == set(KINDS)
    assert set(get_args(PlannerEntry.model_fields["kind"].annotation)) == set(KINDS)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", FIELDS)
def test_the_database_takes_what_a_kind_needs_and_nothing_else(kind):
    owner = make_user()

    def enter(**fields):
        with transaction.atomic():
            return Planner.objects.create(owner=owner, name="x", kind=kind, **fields)

    for field in FIELDS[kind]:
        with pytest.raises(IntegrityError, match="a_planner_has_what_its_kind_needs"):
            enter(**{**FIELDS[kind], field: ""})
    for field, value in {name: value for fields in FIELDS.values() for name, value in fields.items()}.items():
        if field not in FIELDS[kind]:
            with pytest.raises(IntegrityError, match="a_planner_has_what_its_kind_needs"):
                enter(**{**FIELDS[kind], field: value})
    planner = enter(**FIELDS[kind])
    assert model_to_dict(planner, fields=list(FIELDS[kind])) == FIELDS[kind]
    assert kind_of(planner).lease(planner=planner, tasks=[]).kind == kind
