"""Addresses of the pages."""

from django.urls import path

from leaderboard.submissions import views
from leaderboard.submissions.kinds_css import kinds_css

app_name = "planners"

urlpatterns = [
    path("submit/", views.submit, name="submit"),
    path("submit/kinds.css", kinds_css, name="kinds-css"),
    path("submit/check/", views.check, name="check"),
    path("submit/test/", views.test_call, name="test"),
    path("submissions/<uuid:submission_id>/remove-header/", views.remove_header, name="remove-header"),
    path("submissions/", views.submissions, name="submissions"),
]
