"""Addresses of the pages."""

from django.urls import path

from leaderboard.submissions.web import regrading_views, views

app_name = "planners"

urlpatterns = [
    path("evaluations/<id:evaluation_id>/regrade/", regrading_views.regrade_now, name="regrade"),
    path("evaluations/<id:evaluation_id>/changes/", regrading_views.changes, name="changes"),
    path("submit/", views.choose, name="submit"),
    path("submit/check/", views.check, name="check"),
    path("submit/test/", views.test_call, name="test"),
    path("endpoint-tests/<id:job_id>/", views.endpoint_test, name="endpoint-test"),
    path("submit/plans/template/<slug:suite>.jsonl", views.plans_template, name="plans-template"),
    path("submit/<slug:kind>/", views.submit, name="submit-kind"),
    path("submissions/<id:submission_id>/remove-header/", views.remove_header, name="remove-header"),
    path("submissions/pending/<id:job_id>/", views.pending, name="pending"),
    path("submissions/", views.submissions, name="submissions"),
]
