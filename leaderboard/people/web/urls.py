"""Addresses of the pages of tokens and teams."""

from django.urls import path

from leaderboard.people.web import views

urlpatterns = [
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<str:token_id>/revoke/", views.revoke, name="revoke"),
    path("teams/", views.teams, name="teams"),
    path("teams/<slug:slug>/", views.team, name="team"),
    path("teams/<slug:slug>/describe/", views.describe, name="describe-team"),
    path("teams/<slug:slug>/accept/", views.accept, name="accept-invitation"),
    path("teams/<slug:slug>/decline/", views.decline, name="decline-invitation"),
    path("teams/<slug:slug>/withdraw/<str:username>/", views.withdraw, name="withdraw-invitation"),
    path("teams/<slug:slug>/remove/<str:username>/", views.remove, name="remove-member"),
    path("teams/<slug:slug>/hand-over/<str:username>/", views.hand_over, name="hand-over"),
]
