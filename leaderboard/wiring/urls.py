"""All URLs of the site."""

from django.urls import include, path

from leaderboard.boards.web.signing_api import keys
from leaderboard.evaluations.results.objects import artefact, hidden_artefact
from leaderboard.help.web import documents
from leaderboard.help.web.search import find
from leaderboard.operations.web.monitoring.trust import trust
from leaderboard.operations.web.monitoring.views import metrics, pool_demand, status
from leaderboard.platform.http.well_known import icon, security_txt
from leaderboard.platform.probes import live, ready
from leaderboard.platform.web.admin import site

_ACCOUNT_PAGES = [
    path("", include("leaderboard.people.web.urls")),
    path("", include("leaderboard.operations.web.leaving.urls")),
]

_DOCUMENTATION = [
    path("", documents.index, name="index"),
    path("reference/", documents.reference, name="reference"),
    path("examples/<path:name>", documents.example_file, name="example"),
    path("pictures/<str:name>", documents.picture_file, name="picture"),
    path("<slug:slug>/", documents.chapter, name="chapter"),
]

handler500 = "leaderboard.platform.http.middleware.view_failed"

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
    path("trust/", trust, name="trust"),
    path("accounts/", include("allauth.urls")),
    path("", include((_ACCOUNT_PAGES, "accounts"))),
    path("", include("leaderboard.people.web.profiles.urls")),
    path("", include("leaderboard.submissions.web.urls")),
    path("", include("leaderboard.evaluations.web.urls")),
    path("", include("leaderboard.catalog.web.urls")),
    path("", include("leaderboard.boards.web.urls")),
    path("docs/", include((_DOCUMENTATION, "handbook"))),
    path("", include(([path("search/", find, name="find")], "search"))),
    path("", include("leaderboard.queue.web.urls")),
    path("", include("leaderboard.messages.web.urls")),
    path("", include("leaderboard.workbench.web.urls")),
    path("", include("leaderboard.votes.web.urls")),
]
