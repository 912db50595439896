"""Addresses of the pages of suites."""

from django.urls import path

from leaderboard.catalog.web import views

app_name = "suites"

urlpatterns = [path("suites/<slug:suite>/", views.suite_page, name="suite")]
