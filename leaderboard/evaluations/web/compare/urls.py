"""Addresses of the pages."""

from django.urls import path

from leaderboard.evaluations.web.compare import views

app_name = "compare"

urlpatterns = [
    path("compare/", views.compare, name="compare"),
    path("compare/<slug:suite>/", views.forms, name="forms"),
]
