"""Every address of the site."""

from django.urls import include, path

from leaderboard.boards.signing.views import keys
from leaderboard.monitoring.views import metrics, pool_demand, status
from leaderboard.results.objects import artefact, hidden_artefact
from leaderboard.site.admin import site
from leaderboard.site.http.icon import icon
from leaderboard.site.http.security_txt import security_txt
from leaderboard.site.probes import live, ready

_ACCOUNT_PAGES = [
    path("", include("leaderboard.accounts.urls")),
    path("", include("leaderboard.leaving.urls")),
    path("", include("leaderboard.profiles.team_urls")),
]

handler500 = "leaderboard.site.http.refusals.view_failed"

urlpatterns = [
    path("admin/", site.urls),
    path("api/v1/", include("leaderboard.wiring.api_urls")),
    path("objects/<slug:digest>", artefact, name="object"),
    path("hidden-objects/<slug:digest>", hidden_artefact, name="hidden-object"),
    path(".well-known/planarena-keys.json", keys, name="signing-keys"),
    path(".well-known/security.txt", security_txt, name="security-txt"),
    path("favicon.ico", icon, name="icon"),
    path("health/live", live, name="live"),
    path("health/ready", ready, name="ready"),
    path("metrics", metrics, name="metrics"),
    path("metrics/pools/<slug:pool>", pool_demand, name="pool-demand"),
    path("status/", status, name="status"),
    path("accounts/", include("allauth.urls")),
    path("", include((_ACCOUNT_PAGES, "accounts"))),
    path("", include("leaderboard.profiles.urls")),
    path("", include("leaderboard.submissions.urls")),
    path("", include("leaderboard.pages.urls")),
    path("", include("leaderboard.pages.sharing.urls")),
    path("", include("leaderboard.pages.suites.urls")),
    path("", include("leaderboard.boards.pages.urls")),
    path("", include("leaderboard.docs_pages.urls")),
    path("", include("leaderboard.compare.urls")),
    path("", include("leaderboard.search.urls")),
    path("", include("leaderboard.pages.workers.urls")),
    path("", include("leaderboard.notifications.urls")),
]
