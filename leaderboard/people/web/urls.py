"""Addresses of tokens' pages."""

from django.urls import path

from leaderboard.people.web import views

urlpatterns = [
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<str:token_id>/revoke/", views.revoke, name="revoke"),
]
