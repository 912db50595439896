"""The pages that compare evaluations. Query strings hold the whole state, so that a comparison can be cited."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from leaderboard.catalog.models import Suite
from leaderboard.evaluations.visibility import not_shared
from leaderboard.evaluations.web.compare.comparing import cause_table
from leaderboard.evaluations.web.compare.forms import both_forms, forms_of
from leaderboard.evaluations.web.compare.presenters import comparison_page, form_rows
from leaderboard.evaluations.web.compare.services import (
    MOST,
    NotComparableError,
    best_of_board,
    comparison_of,
    read_evaluations,
    read_ids,
)


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Two to six evaluations side by side; with one, a choice of others; with none, instructions."""
    try:
        ids = read_ids([text for text in request.GET.getlist("e") if text])
        evaluations = read_evaluations(ids, reader=request.user)
    except NotComparableError as error:
        return render(request, "evaluations/compare/refused.html", {"problems": error.problems}, status=400)
    if len(evaluations) < 2:
        evaluation = evaluations[0] if evaluations else None
        context = {"evaluation": evaluation, "offered": best_of_board(evaluation) if evaluation else [], "most": MOST}
        return render(request, "evaluations/compare/choose.html", context)
    first, comparison = evaluations[0], comparison_of(evaluations)
    page = comparison_page(
        evaluations=evaluations, comparison=comparison, parameters=request.GET.dict(), reader=request.user
    )
    causes = cause_table(comparison.causes)
    comparison_context = {"page": page, "suite": first.suite, "first": first, "most": MOST, "causes": causes}
    response = render(request, "evaluations/compare/compare.html", comparison_context)
    not_shared(response, suite=first.suite, split=first.split)
    return response


@require_safe
def forms(request: HttpRequest, suite: str) -> HttpResponse:
    """The same planners with whole plans and step by step, given either suite."""
    form = get_object_or_404(Suite, slug=suite, current=True)
    both = forms_of(form)
    context = {"suite": form, "whole": both.whole, "steps": both.steps, "rows": form_rows(both_forms(both))}
    return render(request, "evaluations/compare/forms.html", context)
