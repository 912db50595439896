"""Made up installations of any size can be measured."""

import pytest

from evaluator.suites import registry, suite_names
from tests.scale import wide_suite
from tests.scale.data import (
    FEWEST,
    TooFewError,
    furnish,
    is_private,
    planners_of,
    populate,
    spread,
    under_way,
)
from tests.scale.measuring import addresses

OTHERS = (185, 120)


@pytest.mark.parametrize(
    ("evaluations", "results", "expected"),
    [
        (5000, 2_000_000, [2237, 2236, 527]),
        # More results than so many evaluations can have: the other suites keep their fewest.
        (400, 2_000_000, [FEWEST, FEWEST, 376]),
        (400, 0, [194, 194, FEWEST]),
        (36, 1_000, [FEWEST] * 3),
    ],
)
def test_every_suite_gets_what_its_pages_need(evaluations, results, expected):
    found = spread(evaluations=evaluations, results=results, sizes=(*OTHERS, 2500))
    assert found == expected
    assert sum(found) == evaluations


def test_too_few_evaluations_are_refused_with_the_number_needed():
    with pytest.raises(TooFewError, match="35 evaluations are too few: 3 suites need 36"):
        spread(evaluations=35, results=1_000, sizes=(*OTHERS, 2500))


def test_the_first_planner_of_a_suite_has_an_evaluation_under_way_and_two_that_everybody_sees():
    for evaluations in range(FEWEST, 1300):
        running = under_way(evaluations)
        own = range(0, evaluations, planners_of(evaluations))
        assert own[0] in running
        assert sum(number not in running and not is_private(number) for number in own) >= 2, evaluations
        assert abs(len(running) - evaluations / 100) <= 1


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setenv(registry.VARIABLE, wide_suite.__name__)
    registry.forget()
    yield
    monkeypatch.undo()
    registry.forget()


@pytest.mark.full
@pytest.mark.django_db
@pytest.mark.usefixtures("wide")
def test_the_smallest_installation_has_every_page_for_each_reader():
    populate(evaluations=FEWEST * len(suite_names()), results=1_000, users=3)
    furnish()
    readers = [reader for _, reader in addresses()]
    assert {*readers} == {"owner", "anonymous", "staff"}
    assert len(readers) > 100
