"""Every address of the site that can be read, and what it is asked for with.

The test of query counts (`tests/leaderboard/test_queries.py`) and the measurement (`tests.scale`) walk the same table,
so that a page cannot be in one and not in the other. A route that stands nowhere here fails the test.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import ModelAdmin
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from leaderboard.accounts.models import User
from leaderboard.site.admin import site as operators_site

Things = Mapping[str, Any]
"""What there is, by the names of parameters: `suite`, `number`, `evaluation`, `compared` and `other` (ended, of one
board), `task`, `metric`, `submission`, `planner_id`, `username`, `team`, `chapter` of the documentation, `digest` and
`hidden_digest` of objects, and a `cursor` far down the list of evaluations."""
EXTENSIONS = ("csv", "json", "bib")
_BOARD_QUERIES = (
    "?sort=-finished",
    "?q=planner&page=2",
    "?kind=bundled&own=1",
    "?strategy=gold&since=2020-01-01&until=2100-01-01",
    "?size=none&weights=open",
    "?column=tokens&column=finished&per_page=100&page=3",
    "?reference=hide",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How one route is asked for."""

    queries: tuple[str, ...] = ()
    """Besides the plain address; `{name}` stands for a thing."""
    plain: bool = True
    """Whether the plain address is asked for too."""
    parameters: tuple[tuple[str, str], ...] = ()
    """Parameters that are another thing than their name says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One address of one route."""

    route: str
    path: str
    by_staff: bool = False
    """Whether only staff get to see something there."""


_EVALUATION = (("evaluation_id", "evaluation"),)
READ: Mapping[str, Asked] = {
    "api:schema": Asked(queries=("?format=json",)),
    "api:submissions": Asked(queries=("?fields=id,created",)),
    "api:submission": Asked(parameters=(("submission_id", "submission"),)),
    "api:evaluations": Asked(
        queries=(
            "?suite={suite}",
            "?state=completed",
            "?state=running",
            "?suite={suite}&state=completed",
            "?mine=true",
            "?fields=id,state",
            "?cursor={cursor}",
        )
    ),
    "api:evaluation": Asked(parameters=_EVALUATION),
    "api:results": Asked(
        parameters=_EVALUATION, queries=("?outcome=planner_fault", "?metric={metric}", "?fields=task,score", "?q=image")
    ),
    "api:record": Asked(parameters=(*_EVALUATION, ("task_key", "task"))),
    "api:log": Asked(parameters=_EVALUATION),
    "api:verifications": Asked(parameters=_EVALUATION),
    "api:quota": Asked(),
    "api:suites": Asked(),
    "api:tasks": Asked(parameters=(("slug", "suite"),), queries=("?fields=key,text",)),
    "api:board": Asked(parameters=(("slug", "suite"),)),
    "api:board-rows": Asked(
        parameters=(("slug", "suite"),),
        queries=("?kind=bundled&sort=-finished", "?rows=all&q=planner&page=2", "?size=none&fields=rank,planner"),
    ),
    "api:board-plots": Asked(parameters=(("slug", "suite"),)),
    "api:snapshots": Asked(parameters=(("slug", "suite"),), queries=("?fields=number,url",)),
    "api:snapshot": Asked(parameters=(("slug", "suite"),)),
    "api:snapshot-proof": Asked(parameters=(("slug", "suite"),)),
    "api:evaluation-proof": Asked(parameters=_EVALUATION),
    "signing-keys": Asked(),
    "api:suite": Asked(parameters=(("slug", "suite"),)),
    "api:breakdowns": Asked(parameters=_EVALUATION),
    "api:failures": Asked(parameters=_EVALUATION),
    "api:others": Asked(parameters=(*_EVALUATION, ("task_key", "task"))),
    "api:place": Asked(parameters=_EVALUATION),
    "api:queue": Asked(),
    "api:bundled-planners": Asked(),
    "api:compare": Asked(plain=False, queries=("?e={compared}&e={other}",)),
    "api:tokens": Asked(),
    "api:worker-tokens": Asked(),
    "api:checkpoints": Asked(),
    "api:user": Asked(),
    "api:planners": Asked(queries=("?owner={username}",)),
    "api:planner": Asked(),
    "api:wait": Asked(parameters=_EVALUATION),
    "api:new-wait": Asked(plain=False, queries=("?suite={suite}",)),
    "api:status": Asked(),
    "api:mails": Asked(),
    "status": Asked(),
    "profiles:edit": Asked(),
    "profiles:user": Asked(),
    "profiles:planner": Asked(),
    "handbook:reference": Asked(),
    "handbook:chapter": Asked(parameters=(("slug", "chapter"),)),
    "api:teams": Asked(),
    "api:team": Asked(parameters=(("slug", "team"),)),
    "api:webhooks": Asked(),
    "object": Asked(),
    "hidden-object": Asked(parameters=(("digest", "hidden_digest"),)),
    "accounts:tokens": Asked(),
    "accounts:account": Asked(),
    "accounts:teams": Asked(),
    "accounts:team": Asked(parameters=(("slug", "team"),)),
    "planners:submit": Asked(),
    "planners:submissions": Asked(queries=("?page=2",)),
    "evaluations:detail": Asked(
        parameters=_EVALUATION, queries=("?outcome=planner_fault&sort=-score&page=2", "?q=image", "?page=1000")
    ),
    "evaluations:progress": Asked(parameters=_EVALUATION),
    "evaluations:task": Asked(parameters=(*_EVALUATION, ("key", "task"))),
    "boards:home": Asked(),
    "boards:docs": Asked(),
    "boards:site-feed": Asked(),
    "boards:board": Asked(queries=(*_BOARD_QUERIES, "?rows=all", "?rows=all&sort=planner&q=planner&page=1000")),
    "boards:plots": Asked(),
    "boards:feed": Asked(),
    "boards:snapshots": Asked(queries=("?page=1000",)),
    "boards:snapshot": Asked(queries=_BOARD_QUERIES),
    "boards:row-file": Asked(parameters=(("evaluation", "compared"),)),
    "boards:snapshot-file": Asked(),
    "boards:newest-file": Asked(),
    "compare:compare": Asked(
        queries=("?e={compared}", "?e={compared}&e={other}", "?e={compared}&e={other}&winner=A&page=2")
    ),
    "workers:tokens": Asked(),
    "workers:log": Asked(parameters=_EVALUATION, queries=("?page=2",)),
    "workers:tail": Asked(parameters=_EVALUATION),
    "outbox:webhooks": Asked(),
}
WRITTEN_ONLY = frozenset(
    [
        "api:resume",
        "api:accept",
        "api:cancel",
        "api:rerun",
        "api:verify",
        "api:token",
        "api:account",
        "api:close-account",
        "accounts:close",
        "accounts:delete",
        "api:worker-token",
        "api:members",
        "api:member",
        "api:accept-invitation",
        "api:owner",
        "api:webhook",
        "api:test-webhook",
        "api:worker-session",
        "api:lease",
        "api:attempt-seed",
        "api:attempt-secret-header",
        "api:heartbeat",
        "api:missing-objects",
        "api:bundle",
        "api:object",
        "api:deliver",
        "api:deliver-log",
        "api:finish",
        "api:fail",
        "api:attempt-checkpoint",
        "api:header",
        "api:endpoint-tests",
        "api:uploads",
        "api:upload",
        "accounts:describe-team",
        "planners:check",
        "planners:test",
        "planners:remove-header",
        "outbox:mails",
        "accounts:revoke",
        "accounts:accept-invitation",
        "accounts:decline-invitation",
        "accounts:withdraw-invitation",
        "accounts:remove-member",
        "accounts:hand-over",
        "evaluations:resume",
        "evaluations:accept",
        "evaluations:cancel",
        "evaluations:rerun",
        "evaluations:verify",
        "evaluations:visibility",
        "workers:revoke",
        "outbox:test",
        "outbox:remove",
    ]
)
"""Routes that refuse people who would read them; the test asks them."""
NO_PAGES: Mapping[str, str] = {
    "api:nowhere": "answers 404",
    "api:export-account": "a stream that is read a page at a time; test_leaving.py",
    "accounts:export": "the same",
    "security-txt": "a file that follows from the settings",
    "evaluations:events": "a stream that stays open; test_live.py",
    "handbook:example": "a file of this release",
    "None": "leads on to another address",
    "icon": "leads to the drawing",
    "live": "for probes",
    "ready": "for probes",
    "metrics": "for Prometheus; test_metrics.py",
    **dict.fromkeys(
        [
            "account_login",
            "account_logout",
            "account_inactive",
            "account_signup",
            "account_reauthenticate",
            "account_email",
            "account_email_verification_sent",
            "account_change_password",
            "account_set_password",
            "account_reset_password",
            "account_confirm_login_code",
            "account_confirm_email",
            "account_reset_password_from_key_done",
            "account_reset_password_from_key",
            "account_reset_password_done",
            "mfa_index",
            "mfa_authenticate",
            "mfa_reauthenticate",
            "mfa_activate_totp",
            "mfa_deactivate_totp",
            "mfa_view_recovery_codes",
            "mfa_generate_recovery_codes",
            "mfa_download_recovery_codes",
            "socialaccount_login_cancelled",
            "socialaccount_login_error",
            "socialaccount_signup",
            "socialaccount_connections",
            "github_login",
            "github_callback",
        ],
        "a form of django-allauth about one account",
    ),
}


def routes() -> Iterator[tuple[str, Sequence[str]]]:
    """Name and parameters of every address but those of the admin."""

    def walk(resolver: Any, prefix: str) -> Iterator[tuple[str, Sequence[str]]]:
        for part in resolver.url_patterns:
            if isinstance(part, URLResolver):
                yield from walk(part, f"{prefix}{part.namespace}:" if part.namespace else prefix)
            elif isinstance(part, URLPattern):
                names = part.pattern.converters.keys() or part.pattern.regex.groupindex
                yield f"{prefix}{part.name}", list(names)

    yield from (found for found in walk(get_resolver(), "") if not found[0].startswith("admin:"))


def site_addresses(things: Things) -> Iterator[Address]:
    """Every address of the pages and of the API that these things fill."""
    for name, parameters in routes():
        if name in READ:
            for values in _filled(asked=READ[name], parameters=parameters, things=things):
                path = reverse(name, kwargs=values)
                for query in (("",) if READ[name].plain else ()) + READ[name].queries:
                    yield Address(route=name, path=path + query.format(**things), by_staff=name == "hidden-object")


def _filled(*, asked: Asked, parameters: Sequence[str], things: Things) -> Iterator[dict[str, Any]]:
    other = dict(asked.parameters)
    values = {name: things[other.get(name, name)] for name in parameters if name != "extension"}
    extensions = EXTENSIONS if "extension" in parameters else ("",)
    for extension in extensions:
        yield {**values, **({"extension": extension} if extension else {})}


def admin_addresses(*, staff: User, rows: Mapping[str, Any]) -> Iterator[Address]:
    """Every list of the operators' pages with each of its filters, a search and its last page; and of each kind the
    page and the history of one row: the one that `rows` names by the model's name, or any."""
    request = RequestFactory().get("/")
    request.user = staff
    yield Address(route="admin:index", path=reverse("admin:index"), by_staff=True)
    for label in sorted({model._meta.app_label for model in operators_site._registry}):
        path = reverse("admin:app_list", kwargs={"app_label": label})
        yield Address(route="admin:app_list", path=path, by_staff=True)
    for model, admin in operators_site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        path = reverse(f"{name}_changelist")
        for query in _list_queries(admin=admin, request=request):
            yield Address(route=f"{name}_changelist", path=path + query, by_staff=True)
        key = rows.get(model.__name__) or model._default_manager.values_list("pk", flat=True).first()
        if key is not None:
            for page in ("change", "history"):
                yield Address(route=f"{name}_{page}", path=reverse(f"{name}_{page}", args=[key]), by_staff=True)


def _list_queries(*, admin: ModelAdmin, request: Any) -> Iterator[str]:
    shown = admin.get_changelist_instance(request)
    yield ""
    if admin.search_fields:
        yield "?q=planner"
    for filtered in shown.filter_specs:
        yield list(filtered.choices(shown))[-1]["query_string"]
    if shown.paginator.num_pages > 1:
        yield f"?p={shown.paginator.num_pages}"
