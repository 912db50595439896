import math

from evaluator.planners.language_models.protocol import Completion, Usage
from evaluator.suites.registry import default_suite
from gpu_jobs.model_server.benchmark import Comparison, compare, requests_of, serving, work_of
from tests.gpu_jobs.model_server.serving import greeted_soon

SUITE = default_suite(executes=True)


class Spoken:
    """Says one text to everything, whichever call it is."""

    name = "spoken"

    def __init__(self, text):
        self.text = text

    def answer(self, calls):
        return [Completion(text=self.text, usage=Usage(prompt_tokens=1, completion_tokens=1)) for _ in calls]


class SpokenFarAway(Spoken):
    round_trips = 0

    def answer(self, calls):
        self.round_trips += 1
        return super().answer(calls)


def test_a_ratio_is_the_median_of_pairs_of_rounds_so_that_a_slow_minute_counts_for_both():
    slow_minute = Comparison(
        work="free", in_process_seconds=(1.0, 10.0, 1.0), server_seconds=(1.1, 11.0, 1.2), same=True
    )
    assert round(slow_minute.ratio, 3) == 1.1


def test_processor_time_is_compared_over_all_rounds_together():
    rounds = Comparison(
        work="free", in_process_seconds=(1.0,), server_seconds=(1.0,), same=True, in_process_processor_seconds=4.0,
        server_processor_seconds=4.2,
    )  # fmt: skip
    assert rounds.processor_ratio == 1.05


def test_a_clock_that_did_not_advance_gives_no_ratio():
    at_once = Comparison(work="free", in_process_seconds=(1.0,), server_seconds=(1.0,), same=True)
    assert math.isnan(at_once.processor_ratio)


def test_round_trips_are_those_of_a_counted_round():
    work = work_of(suite=SUITE, requests=requests_of(suite=SUITE, count=2))[:1]
    (found,) = compare(work=work, local=Spoken("a"), remote=SpokenFarAway("a"), rounds=3)
    assert found.round_trips == 1


def test_over_tcp_the_program_of_a_model_server_s_container_is_asked(tmp_path):
    with serving(tmp_path / "model") as address:
        greeted_soon(address).close()


def test_other_answers_than_in_process_are_told():
    work = work_of(suite=SUITE, requests=requests_of(suite=SUITE, count=2))[:1]
    (same,) = compare(work=work, local=Spoken("a"), remote=Spoken("a"), rounds=1)
    (other,) = compare(work=work, local=Spoken("a"), remote=Spoken("b"), rounds=1)
    assert (same.same, other.same) == (True, False)


def test_the_work_holds_free_scored_and_constrained_decoding():
    assert [name for name, _ in work_of(suite=SUITE, requests=requests_of(suite=SUITE, count=1))] == [
        "free decoding", "scores of continuations", "openagi/constrained", "openagi/nonlinear", "openagi/zero-shot",
    ]  # fmt: skip
