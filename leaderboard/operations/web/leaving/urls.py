"""URLs of the account page."""

from django.urls import path

from leaderboard.operations.web.leaving import views

urlpatterns = [
    path("account/", views.account, name="account"),
    path("account/export/", views.export, name="export"),
    path("account/close/", views.close, name="close"),
    path("account/delete/", views.delete, name="delete"),
]
