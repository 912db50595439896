import pytest

from evaluator.training.planners.arc.conversion import FILE, write_lessons
from evaluator.training.planners.arc.training import Order, train_writer
from evaluator.training.planners.causal.networks import Shape

TINY = Shape(width=16, feed_forward=32, layers=1, heads=2)
FAMILIES = ("turn", "crop", "stamp")


@pytest.fixture(scope="session")
def lessons(tmp_path_factory):
    """A folder with lessons of three families."""
    folder = tmp_path_factory.mktemp("lessons")
    write_lessons(folder=folder, count=10, start=5, families=FAMILIES)
    return folder


@pytest.fixture(scope="session")
def order(lessons):
    """An order, where to and further settings left out."""

    def made(out, **settings):
        return Order(out=out, **({"data": lessons / FILE, "steps": 6, "shape": TINY} | settings))

    return made


@pytest.fixture(scope="session")
def writer(order, tmp_path_factory):
    """A writer after six steps."""
    return train_writer(order(tmp_path_factory.mktemp("writers") / "seed-0" / "writer"))
