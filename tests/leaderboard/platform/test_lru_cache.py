"""The caches of a process."""

import sys
from concurrent.futures import ThreadPoolExecutor

from leaderboard.platform.lru_cache import SharedCache, clear_all


def test_a_value_is_made_only_while_it_is_missing():
    cache: SharedCache[str, str] = SharedCache(maxsize=2)
    made = []

    def make(key: str) -> str:
        made.append(key)
        return key.upper()

    for key in "abacab":
        assert cache.get_or_make(key, lambda key=key: make(key)) == key.upper()
    assert made == ["a", "b", "c", "b"], "b was the least recently used when c came"
    clear_all()
    assert cache.get("b") is None


def test_threads_share_a_full_cache():
    cache: SharedCache[int, int] = SharedCache(maxsize=4)

    def use(seed: int) -> int:
        return sum(cache.get_or_make(key % 9, lambda key=key: key % 9) == key % 9 for key in range(seed, seed + 5_000))

    switches = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(use, range(8))) == [5_000] * 8
    finally:
        sys.setswitchinterval(switches)
