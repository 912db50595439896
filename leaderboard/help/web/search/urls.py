"""Addresses of the search."""

from django.urls import path

from leaderboard.help.web.search import views

app_name = "search"

urlpatterns = [path("search/", views.find, name="find")]
