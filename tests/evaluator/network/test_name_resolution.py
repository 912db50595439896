"""Name servers that never answer cost a bounded number of threads, and each caller no more than its share."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from evaluator.network import name_resolution, ssrf_guard
from evaluator.network.name_resolution import NameResolver, NameUnresolvedError, numeric_address

SOON, LATE = 0.01, 30.0


class HangingNames:
    """A resolver's look-up that answers names under `hang.example` only once `over` is set."""

    def __init__(self):
        self.over = threading.Event()
        self.asked = []

    def __call__(self, host, port):
        self.asked.append(host)
        if host.endswith("hang.example"):
            self.over.wait(LATE)
        return ["8.8.8.8"]


@contextmanager
def hanging(**options):
    names = HangingNames()
    try:
        yield names, NameResolver(look_up=names, **options)
    finally:
        names.over.set()


def unresolved(resolver, host, *, caller="", seconds=SOON):
    with pytest.raises(NameUnresolvedError) as error:
        resolver.addresses(host=host, port=80, seconds=seconds, caller=caller)
    return str(error.value)


def test_a_caller_over_its_share_is_answered_without_a_look_up_and_others_are_not_delayed():
    with hanging(most=8, share=2) as (names, resolver):
        for number in range(2):
            assert "not resolved in time" in unresolved(resolver, f"{number}.hang.example", caller="eve")
        # However long it would wait: it is refused at once.
        assert "too many names" in unresolved(resolver, "2.hang.example", caller="eve", seconds=None)
        assert resolver.addresses(host="ok.example", port=80, seconds=LATE, caller="ada") == ["8.8.8.8"]
        assert names.asked == ["0.hang.example", "1.hang.example", "ok.example"]
        names.over.set()
        assert resolver.addresses(host="0.hang.example", port=80, seconds=LATE, caller="eve") == ["8.8.8.8"]


def test_all_callers_together_are_bounded():
    with hanging(most=3, share=2) as (_, resolver):
        for number in range(3):
            unresolved(resolver, f"{number}.hang.example", caller=f"user-{number}")
        assert "too many names" in unresolved(resolver, "3.hang.example", caller="user-3", seconds=None)
        assert resolver.load() == (3, 0)


def test_calls_for_one_name_share_a_look_up_and_the_waiting_is_bounded_by_caller_too():
    with hanging(most=8, share=2) as (names, resolver):
        found = []

        def wait():
            found.append(resolver.addresses(host="one.hang.example", port=80, seconds=LATE, caller="eve"))

        threads = [threading.Thread(target=wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        while resolver.load() != (1, 2):
            threading.Event().wait(SOON)
        assert "too many names" in unresolved(resolver, "one.hang.example", caller="eve", seconds=None)
        names.over.set()
        for thread in threads:
            thread.join()
        assert found == [["8.8.8.8"]] * 2
        assert len(names.asked) == 1
        assert resolver.load() == (0, 0)


def test_the_event_loop_goes_on_while_a_name_hangs_and_one_who_gives_up_cancels_nobody_else():
    with hanging() as (names, resolver):

        async def run():
            with pytest.raises(NameUnresolvedError):
                await resolver.addresses_async(host="a.hang.example", port=80, seconds=SOON)
            waiting = asyncio.create_task(resolver.addresses_async(host="a.hang.example", port=80, seconds=LATE))
            leaving = asyncio.create_task(resolver.addresses_async(host="a.hang.example", port=80, seconds=LATE))
            await asyncio.sleep(0)
            leaving.cancel()
            assert await resolver.addresses_async(host="ok.example", port=80, seconds=LATE) == ["8.8.8.8"]
            names.over.set()
            return await waiting

        assert asyncio.run(run()) == ["8.8.8.8"]


def test_a_name_that_does_not_resolve_is_an_error_of_the_system():
    def refuse(host, port):
        raise OSError(-2, "Name or service not known")

    resolver = NameResolver(look_up=refuse)
    with pytest.raises(OSError, match="not known"):
        resolver.addresses(host="no.example", port=80, seconds=LATE)
    assert resolver.load() == (0, 0)


def test_hosts_that_are_written_as_addresses_need_no_name_server():
    hosts = {"0x7f.1": "127.0.0.1", "2130706433": "127.0.0.1", "::1": "::1", "example.org": None, "localhost": None}
    assert {host: numeric_address(host) for host in hosts} == hosts


def test_an_address_whose_name_hangs_is_accepted_when_it_is_entered(monkeypatch):
    with hanging() as (names, resolver):
        monkeypatch.setattr(name_resolution, "NAMES", resolver)
        monkeypatch.setattr(ssrf_guard, "RESOLVE_SECONDS", SOON)
        ssrf_guard.check_url(url="https://planner.hang.example/", allow_private=False)
        assert names.asked == ["planner.hang.example"]
        ssrf_guard.check_url(url="https://other.hang.example/", allow_private=False, look_up=False)
        assert names.asked == ["planner.hang.example"]
