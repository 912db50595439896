"""Addresses of the pages of reports. The names are those of the site's pages, so that its templates link to them."""

from django.urls import include, path

from leaderboard.evaluations.web.reports import views

_EVALUATIONS = [
    path("<slug:evaluation_id>/", views.detail, name="detail"),
    path("<slug:evaluation_id>/tasks/<path:key>/", views.task, name="task"),
]
_REPORTS = [
    path("", views.index, name="index"),
    path("<slug:evaluation_id>/objects/<slug:digest>", views.artefact, name="object"),
]

urlpatterns = [
    path("static/<path:name>", views.static_file),
    path("", include((_EVALUATIONS, "evaluations"))),
    path("", include((_REPORTS, "reports"))),
]
handler400 = "leaderboard.evaluations.web.reports.views.bad_request"
handler404 = "leaderboard.evaluations.web.reports.views.not_found"
handler500 = "leaderboard.evaluations.web.reports.views.server_error"
