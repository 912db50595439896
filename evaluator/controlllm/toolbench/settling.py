"""Settling the pairs of texts on which the rules are undecided, and what a record says of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.controlllm.toolbench.meaning.verdict import Pair, Settle, Verdict
from evaluator.core.records import MOST_PAIRS, TextPair
from evaluator.scoring.arbiters.base import Arbiter, Question, Settled

_VERDICTS = {"same": Verdict.SAME, "different": Verdict.DIFFERENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The undecided pairs of one plan with what an arbiter says of them."""

    pairs: tuple[Pair, ...]
    """At most `MOST_PAIRS`; further ones stay undecided, so that no plan asks without end."""
    settled: Mapping[Pair, Settled]
    """Empty without an arbiter."""

    @property
    def settle(self) -> Settle:
        """The verdicts as the rules ask for them."""
        return lambda pair: _verdict(self.settled.get(pair))

    def for_record(self) -> tuple[TextPair, ...]:
        """The pairs as a record has them."""
        return tuple(_text_pair(pair, settled=self.settled.get(pair)) for pair in self.pairs)


def settlement(*, undecided: Sequence[Pair], arbiter: Arbiter | None) -> Settlement:
    """Ask an arbiter, if there is one, about each undecided pair of a plan."""
    pairs = tuple(undecided[:MOST_PAIRS])
    if arbiter is None:
        return Settlement(pairs=pairs, settled={})
    questions = [Question(kind=pair.kind, wanted=pair.wanted, given=pair.given) for pair in pairs]
    return Settlement(pairs=pairs, settled=dict(zip(pairs, arbiter.settle(questions), strict=True)))


def _verdict(settled: Settled | None) -> Verdict:
    return Verdict.UNDECIDED if settled is None else _VERDICTS.get(settled.verdict, Verdict.UNDECIDED)


def _text_pair(pair: Pair, *, settled: Settled | None) -> TextPair:
    found = settled or Settled(verdict="undecided")
    return TextPair(
        kind=pair.kind,
        wanted=pair.wanted,
        given=pair.given,
        why=pair.why,
        verdict=found.verdict,
        answers=list(found.answers),
        problem=found.problem,
    )
