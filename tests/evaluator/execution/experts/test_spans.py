"""The search for the span of an answer, against one over all pairs of tokens."""

import pytest
import torch

from evaluator.execution.experts.language import best_spans


def by_matrix(*, starts, ends, inside, longest):
    scores = (starts[:, None] + ends[None, :]).masked_fill(~(inside[:, None] & inside[None, :]), -torch.inf)
    allowed = torch.ones_like(scores, dtype=torch.bool).triu().tril(longest - 1)
    return list(divmod(int(scores.masked_fill(~allowed, -torch.inf).argmax()), len(starts)))


@pytest.mark.parametrize("longest", [1, 3, 15, 40])
@pytest.mark.parametrize("levels", [3, 1000])
def test_spans_are_those_of_the_whole_matrix_also_where_scores_tie(longest, levels):
    generator = torch.Generator().manual_seed(longest)
    starts, ends = (torch.randint(levels, (64, 33), generator=generator).float() for _ in range(2))
    inside = torch.rand(64, 33, generator=generator) > 0.3
    inside[0] = False
    inside[0, 32] = True
    found = best_spans(starts=starts, ends=ends, inside=inside, longest=longest).tolist()
    expected = [by_matrix(starts=starts[row], ends=ends[row], inside=inside[row], longest=longest) for row in range(64)]
    assert found == expected
    assert found[0] == [32, 32]


def test_rows_without_a_document_have_some_span():
    zeros = torch.zeros(2, 5)
    spans = best_spans(starts=zeros, ends=zeros, inside=torch.zeros(2, 5, dtype=torch.bool), longest=3)
    assert ((spans >= 0) & (spans < 5)).all()
