"""URLs of the pages of workers."""

from django.urls import path

from leaderboard.queue.web import views

app_name = "workers"

urlpatterns = [
    path("worker-tokens/", views.tokens, name="tokens"),
    path("worker-tokens/<id:token_id>/revoke/", views.revoke, name="revoke"),
    path("evaluations/<id:evaluation_id>/log/", views.log, name="log"),
    path("evaluations/<id:evaluation_id>/log/tail/", views.log_tail, name="tail"),
]
