"""URLs of the page of notifications."""

from django.urls import path

from leaderboard.messages.web import views

app_name = "outbox"

urlpatterns = [
    path("mails/", views.choose_mails, name="mails"),
    path("webhooks/", views.webhooks, name="webhooks"),
    path("webhooks/<id:webhook_id>/test/", views.test, name="test"),
    path("webhooks/<id:webhook_id>/remove/", views.remove, name="remove"),
]
