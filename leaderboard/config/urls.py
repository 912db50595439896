"""Every address of the site."""

from django.urls import include, path

from leaderboard.config.admin import site
from leaderboard.config.health import live, ready
from leaderboard.config.icon import icon
from leaderboard.config.security_txt import security_txt
from leaderboard.evaluations.objects import artefact, hidden_artefact
from leaderboard.monitoring.views import metrics, status
from leaderboard.signing.views import keys

urlpatterns = [
    path("admin/", site.urls),
    path("api/v1/", include("leaderboard.api.urls")),
    path("objects/<slug:digest>", artefact, name="object"),
    path("hidden-objects/<slug:digest>", hidden_artefact, name="hidden-object"),
    path(".well-known/planarena-keys.json", keys, name="signing-keys"),
    path(".well-known/security.txt", security_txt, name="security-txt"),
    path("favicon.ico", icon, name="icon"),
    path("health/live", live, name="live"),
    path("health/ready", ready, name="ready"),
    path("metrics", metrics, name="metrics"),
    path("status/", status, name="status"),
    path("accounts/", include("allauth.urls")),
    path("", include("leaderboard.accounts.urls")),
    path("", include("leaderboard.profiles.urls")),
    path("", include("leaderboard.planners.urls")),
    path("", include("leaderboard.evaluations.urls")),
    path("", include("leaderboard.boards.urls")),
    path("", include("leaderboard.handbook.urls")),
    path("", include("leaderboard.compare.urls")),
    path("", include("leaderboard.workers.urls")),
    path("", include("leaderboard.outbox.urls")),
]
