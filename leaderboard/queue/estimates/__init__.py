"""The queue as readers see it: its length, an evaluation's place in it, and how long it will probably wait and run."""

from leaderboard.queue.estimates.expectation import (
    Expectation,
    Line,
    Range,
    expectation,
    expected,
    expected_of_new,
)
from leaderboard.queue.estimates.length import Queue, queue_now
from leaderboard.queue.estimates.pace import Done, Throughput, throughput
from leaderboard.queue.estimates.place import (
    Before,
    Place,
    Shards,
    WaitsFor,
    place_of,
    what_it_waits_for,
    with_open_shards,
)

__all__ = [
    "Before",
    "Done",
    "Expectation",
    "Line",
    "Place",
    "Queue",
    "Range",
    "Shards",
    "Throughput",
    "WaitsFor",
    "expectation",
    "expected",
    "expected_of_new",
    "place_of",
    "queue_now",
    "throughput",
    "what_it_waits_for",
    "with_open_shards",
]
