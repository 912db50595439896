"""What `planarena bench model-server` compares: medians of pairs of rounds, processor time, answers and round trips."""

from evaluator.core.language_model import Completion, Usage
from evaluator.core.suites.registry import default_suite
from gpu_jobs.model_server.benchmark import Comparison, compare, requests_of, work_of


class Speaker:
    """Says one text to everything."""

    name = "speaker"

    def __init__(self, text):
        self.text, self.round_trips = text, 0

    def answer(self, calls):
        self.round_trips += 1
        return [Completion(text=self.text, usage=Usage(prompt_tokens=1, completion_tokens=1)) for _ in calls]


def test_a_slow_minute_counts_for_both_sides_and_other_answers_are_reported():
    found = Comparison(
        work="free", in_process_seconds=(1.0, 10.0, 1.0), server_seconds=(1.1, 11.0, 1.2), same=True,
        in_process_processor_seconds=4.0, server_processor_seconds=4.2,
    )  # fmt: skip
    assert (round(found.ratio, 3), found.processor_ratio) == (1.1, 1.05)
    suite = default_suite(executes=True)
    work = work_of(suite=suite, requests=requests_of(suite=suite, count=2))[:1]
    compared = [compare(work=work, local=Speaker("a"), remote=Speaker(text), rounds=3)[0] for text in "ab"]
    assert [(one.same, one.round_trips) for one in compared] == [(True, 1), (False, 1)]
