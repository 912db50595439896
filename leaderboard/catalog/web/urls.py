"""Addresses of the pages about suites and seasons, and of their API."""

from django.urls import path

from leaderboard.catalog.web import api
from leaderboard.catalog.web.seasons import seasons
from leaderboard.catalog.web.views import suite_page

app_name = "suites"

urlpatterns = [
    path("suites/<slug:suite>/", suite_page, name="suite"),
    path("boards/<slug:suite>/seasons/", seasons, name="seasons"),
]

api_patterns = [
    path("seasons/", api.SeasonsView.as_view(), name="seasons"),
    path("seasons/<slug:season>/", api.SeasonView.as_view(), name="season"),
    path("seasons/<slug:season>/sealed/<slug:suite>/", api.SealedRequestsView.as_view(), name="sealed-requests"),
    path("suites/", api.SuitesView.as_view(), name="suites"),
    path("suites/<slug:slug>/", api.SuiteView.as_view(), name="suite"),
    path("suites/<slug:slug>/tasks/", api.TasksView.as_view(), name="tasks"),
]
"""Addresses of the API."""
