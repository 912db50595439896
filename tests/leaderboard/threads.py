"""The same work in several threads at once, each with a database connection of its own."""

import threading
from collections.abc import Callable

from django.db import connection


def in_threads(work: Callable[[], None], *, count: int, seconds: float = 20) -> list[Exception]:
    """Run the work so often at one moment, and return what it raised. Fails if it takes longer than `seconds`."""
    together = threading.Barrier(count)
    errors: list[Exception] = []

    def one() -> None:
        try:
            together.wait(timeout=10)
            work()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=seconds)
    assert not any(thread.is_alive() for thread in threads), f"not over after {seconds} s"
    return errors
