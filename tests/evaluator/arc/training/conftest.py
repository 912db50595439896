import pytest

FAMILIES = ("turn", "crop", "stamp")


def tiny():
    """The shape of a writer that is small enough for a test."""
    from evaluator.training.causal import Shape

    return Shape(width=16, feed_forward=32, layers=1, heads=2)


@pytest.fixture(scope="session")
def lessons(tmp_path_factory):
    """A folder with lessons of three families."""
    from evaluator.arc.training.lessons import write_lessons

    folder = tmp_path_factory.mktemp("lessons")
    write_lessons(folder=folder, count=10, start=5, families=FAMILIES)
    return folder


@pytest.fixture(scope="session")
def order(lessons):
    """An order, where to and further settings left out."""
    from evaluator.arc.training.lessons import FILE
    from evaluator.arc.training.training import Order

    def made(out, **settings):
        return Order(out=out, **({"data": lessons / FILE, "steps": 6, "shape": tiny()} | settings))

    return made


@pytest.fixture(scope="session")
def writer(order, tmp_path_factory):
    """A writer after six steps."""
    from evaluator.arc.training.training import train_writer

    return train_writer(order(tmp_path_factory.mktemp("writers") / "seed-0" / "writer"))
