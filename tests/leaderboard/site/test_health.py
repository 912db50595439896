"""What is wrong with a site, by its facts alone."""

from datetime import timedelta

from leaderboard.site.health import Code, Facts, Tone, Work, health, is_ready

MINUTE = timedelta(minutes=1)
INTERVALS = {"sweep": timedelta(seconds=15), "prune": timedelta(hours=1)}
FRESH = {"sweep": timedelta(seconds=20), "prune": 30 * MINUTE}


def work(**changed):
    return Work(**{"tasks": FRESH, "intervals": INTERVALS, **changed})


def codes(**facts):
    return [finding.code for finding in health(Facts(**{"work": work(), **facts}))]


CASES = [
    ({}, []),
    ({"database_problem": "OperationalError", "work": None}, [Code.DATABASE_DOWN]),
    ({"full_disks": ["store"]}, [Code.DISK_FULL]),
    ({"store_problem": "it refuses"}, [Code.STORE_UNAVAILABLE]),
    ({"broker_problem": "ConnectionError"}, [Code.BROKER_DOWN]),
    ({"waiting_messages": 5, "oldest_message": timedelta(seconds=3)}, []),
    ({"waiting_messages": 5, "oldest_message": 6 * MINUTE}, [Code.MESSAGES_UNREAD]),
    ({"waiting_messages": 1001}, [Code.MESSAGES_UNREAD]),
    ({"work": work(tasks=FRESH | {"sweep": 5 * MINUTE})}, []),
    ({"work": work(tasks=FRESH | {"sweep": 6 * MINUTE})}, [Code.QUEUE_STOPPED]),
    ({"work": work(tasks=FRESH | {"prune": 185 * MINUTE})}, []),
    ({"work": work(tasks=FRESH | {"prune": 186 * MINUTE})}, [Code.TASKS_LATE]),
    ({"work": work(late_for=4 * MINUTE)}, []),
    ({"work": work(late_for=6 * MINUTE)}, [Code.QUEUE_STOPPED]),
    ({"work": work(late_for=-60 * MINUTE)}, []),
    ({"work": work(unsent_for=6 * MINUTE)}, [Code.MESSAGES_LATE]),
    ({"work": work(paused=["openagi"])}, [Code.PAUSED]),
    ({"work": work(shards=3, leased=1)}, []),
    ({"work": work(shards=3, since_lease=MINUTE)}, []),
    ({"work": work(shards=3, since_lease=6 * MINUTE)}, [Code.NO_WORKERS]),
    ({"work": work(shards=3)}, [Code.NO_WORKERS]),
    ({"work": work(since_lease=60 * MINUTE)}, []),
]


def test_each_fact_has_its_finding():
    assert [codes(**facts) for facts, _ in CASES] == [expected for _, expected in CASES]


def test_the_worst_is_said_first_and_nothing_is_left_out():
    everything = {
        "database_problem": "OperationalError", "full_disks": ["store"], "store_problem": "it refuses",
        "broker_problem": "ConnectionError", "waiting_messages": 2000, "work": work(
            tasks={"sweep": FRESH["sweep"], "prune": 600 * MINUTE}, late_for=6 * MINUTE, unsent_for=6 * MINUTE,
            paused=["a"], shards=1,
        ),
    }  # fmt: skip
    assert codes(**everything) == list(Code)
    assert [finding.tone for finding in health(Facts(**everything))][:4] == [Tone.ERROR] * 4


def test_only_what_keeps_a_process_from_answering_takes_it_away():
    def ready(disks, **facts):
        return is_ready(health(Facts(**facts)), disks=disks)

    assert ready(True)
    assert not ready(False, database_problem="x")
    assert (ready(True, full_disks=["store"]), ready(False, full_disks=["store"])) == (False, True)
    assert (ready(True, store_problem="x"), ready(False, store_problem="x")) == (False, True)
    stopped = work(tasks=FRESH | {"sweep": 60 * MINUTE}, shards=5)
    assert ready(True, broker_problem="x", work=stopped), "the queue's processes are others"
