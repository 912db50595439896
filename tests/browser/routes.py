"""Which addresses are pages, who looks at each, and how their parameters are filled in.

A page is what answers a person with HTML. Every route of the site stands in `PAGES` or in `NO_PAGES`; a test compares
both with the resolver, so that a new page cannot be forgotten.
"""

from dataclasses import dataclass, field

from leaderboard.docs_pages.chapters import BY_SLUG

ANONYMOUS, RESEARCHER, NEWCOMER, STAFF = "anonymous", "researcher", "newcomer", "staff"
"""Nobody; a person with evaluations, a team, tokens and webhooks; a person with nothing yet; an operator."""
CAREFUL, HALFWAY = "careful", "halfway"
"""A person with a second factor; the same after the password, before the code."""

SAME = "made of the same template as one that is looked at"


@dataclass(frozen=True, kw_only=True)
class Visit:
    """Somebody opens an address of a route.

    `fill` gives the route's parameters: names of `Site.arguments`. `query` is formatted with these. `name` tells visits
    of one route apart.
    """

    role: str = ANONYMOUS
    name: str = ""
    fill: dict[str, str] = field(default_factory=dict)
    query: str = ""
    status: int = 200
    address: str = ""
    """In the place of the route's, for what is no route."""
    leads_to: str = ""
    """The end of the address that one is sent on to; nothing: to none."""


def _both(**options: object) -> list[Visit]:
    return [Visit(**options), Visit(role=RESEARCHER, **options)]


def _suite(slug: str) -> dict[str, str]:
    return {"suite": f"={slug}"}


def _evaluation(state: str, role: str = ANONYMOUS, **options: object) -> Visit:
    return Visit(role=role, name=state, fill={"evaluation_id": state}, **options)


PAGES: dict[str, list[Visit]] = {
    "boards:home": _both(),
    "boards:docs": [Visit()],
    "boards:board": [
        *_both(fill=_suite("openagi")),
        Visit(name="filtered", fill=_suite("openagi"), query="q=word&rows=all&sort=-ViT&kind=bundled&since=2020-01-01"),
        Visit(name="nothing-matches", fill=_suite("openagi"), query="q=no-such-planner"),
        Visit(name="judged", fill=_suite("toolmini")),
        Visit(name="empty", fill=_suite("tool100")),
    ],
    "boards:plots": [Visit(fill=_suite("openagi")), Visit(name="empty", fill=_suite("tool100"))],
    "boards:snapshot": [Visit(fill=_suite("openagi") | {"number": "number"})],
    "compare:compare": [
        Visit(name="choose"),
        Visit(name="with-one", query="e={completed}"),
        Visit(name="two", query="e={completed}&e={other}"),
        Visit(name="refused", query="e=nonsense", status=400),
    ],
    "evaluations:detail": [
        _evaluation("completed"),
        _evaluation("completed", RESEARCHER),
        _evaluation("running"),
        *(_evaluation(state, RESEARCHER) for state in ("running", "queued", "on_hold", "failed", "cancelled")),
        _evaluation("on_hold", STAFF),
        Visit(name="filtered", fill={"evaluation_id": "on_hold"}, query="outcome=planner_fault&q=noisy"),
        Visit(name="judged", fill={"evaluation_id": "clumsy"}),
    ],
    "evaluations:task": [
        Visit(name="scored", fill={"evaluation_id": "completed", "key": "=25"}),
        Visit(name="fault", fill={"evaluation_id": "on_hold", "key": "=3"}),
        Visit(name="infrastructure", fill={"evaluation_id": "on_hold", "key": "=5"}),
        Visit(name="pending", fill={"evaluation_id": "running", "key": "=90"}),
        Visit(name="judged", fill={"evaluation_id": "clumsy", "key": "=image_detection/0"}),
    ],
    "workers:log": [Visit(role=RESEARCHER, fill={"evaluation_id": "running"})],
    "planners:submit": [
        Visit(role=RESEARCHER),
        Visit(role=NEWCOMER),
        *(
            Visit(role=RESEARCHER, name=kind, query=f"kind={kind}")
            for kind in ("bundled", "hub", "checkpoint", "plans")
        ),
    ],
    "profiles:user": [Visit(fill={"username": "=ada"}), Visit(role=RESEARCHER, fill={"username": "=ada"})],
    "profiles:planner": [Visit(fill={"planner_id": "planners_planner"})],
    "profiles:edit": [Visit(role=RESEARCHER), Visit(role=NEWCOMER, name="empty")],
    "boards:snapshots": [Visit(fill=_suite("openagi"))],
    "planners:submissions": [Visit(role=RESEARCHER), Visit(role=NEWCOMER, name="empty")],
    "accounts:tokens": [Visit(role=RESEARCHER), Visit(role=NEWCOMER, name="empty")],
    "accounts:account": [Visit(role=RESEARCHER), Visit(role=NEWCOMER, name="empty")],
    "accounts:teams": [Visit(role=RESEARCHER), Visit(role=NEWCOMER, name="empty")],
    "accounts:team": [Visit(role=RESEARCHER, fill={"slug": "slug"})],
    "workers:tokens": [Visit(role=RESEARCHER), Visit(role=NEWCOMER, name="empty")],
    "outbox:webhooks": [Visit(role=RESEARCHER), Visit(role=NEWCOMER, name="empty")],
    "account_login": [Visit()],
    "account_signup": [Visit()],
    "account_logout": [Visit(role=RESEARCHER)],
    "account_inactive": [Visit()],
    "account_reauthenticate": [Visit(role=RESEARCHER)],
    "account_email": [Visit(role=RESEARCHER)],
    "account_email_verification_sent": [Visit()],
    "account_confirm_email": [Visit(fill={"key": "=nothing"})],
    "account_change_password": [Visit(role=RESEARCHER)],
    "account_reset_password": [Visit()],
    "account_reset_password_done": [Visit()],
    "account_reset_password_from_key": [
        Visit(fill={"uidb36": "uidb36", "key": "key"}, leads_to="-set-password/"),
        Visit(name="outdated", fill={"uidb36": "uidb36", "key": "=nothing"}),
    ],
    "account_reset_password_from_key_done": [Visit()],
    "mfa_index": [Visit(role=RESEARCHER), Visit(role=CAREFUL)],
    "mfa_authenticate": [Visit(role=HALFWAY)],
    "mfa_reauthenticate": [Visit(role=CAREFUL)],
    "mfa_activate_totp": [Visit(role=RESEARCHER)],
    "mfa_deactivate_totp": [Visit(role=CAREFUL)],
    "mfa_view_recovery_codes": [Visit(role=CAREFUL)],
    "mfa_generate_recovery_codes": [Visit(role=CAREFUL)],
    "socialaccount_connections": [Visit(role=RESEARCHER)],
    "socialaccount_login_cancelled": [Visit()],
    "github_login": [Visit()],
    "github_callback": [Visit(name="without-an-answer", status=401)],
    "socialaccount_login_error": [Visit(status=401)],
    "status": [Visit()],
    "handbook:chapter": [Visit(name=slug, fill={"slug": f"={slug}"}) for slug in BY_SLUG],
    "handbook:reference": [Visit()],
    "admin:index": [Visit(role=STAFF), Visit(role=RESEARCHER, name="refused", status=403, leads_to="/admin/login/")],
    "admin:app_list": [Visit(role=STAFF, fill={"app_label": "=evaluations"})],
}
"""By the route's name."""

LISTED = (
    "accounts_user", "accounts_team", "audit_auditentry", "catalog_suite", "catalog_task", "planners_planner",
    "planners_checkpointupload", "evaluations_submission", "evaluations_evaluation", "evaluations_shard",
    "evaluations_attempt", "notifications_outboxmessage", "notifications_webhook",
    "quotas_quotaentry", "quotas_quotabalance", "queue_workertoken",
)  # fmt: skip
"""What the operators' pages list. One row of each is opened, and of one its history: all come from one template."""
PAGES |= {
    **{f"admin:{rows}_changelist": [Visit(role=STAFF)] for rows in LISTED},
    **{f"admin:{rows}_change": [Visit(role=STAFF, fill={"object_id": rows})] for rows in LISTED},
    "admin:evaluations_evaluation_history": [Visit(role=STAFF, fill={"object_id": "evaluations_evaluation"})],
}

ERRORS = [
    Visit(name="400", address="/broken/400/", status=400),
    Visit(name="403", address="/broken/403/", status=403),
    Visit(name="404", address="/nothing/", status=404),
    Visit(name="404", address="/nothing/", status=404, role=RESEARCHER),
    Visit(name="405", address="/evaluations/{completed}/cancel/", status=405, role=RESEARCHER),
    Visit(name="429", address="/broken/429/", status=429),
    Visit(name="500", address="/broken/500/", status=500),
]
"""Pages that say what went wrong."""

NO_PAGES: dict[str, str] = {
    "object": "an artefact",
    "hidden-object": "an artefact",
    "icon": "leads to the drawing",
    "signing-keys": "for clients",
    "live": "for machines",
    "ready": "for machines",
    "metrics": "for machines",
    "boards:site-feed": "a feed",
    "boards:feed": "a feed",
    "boards:row-file": "a file",
    "boards:snapshot-file": "a file",
    "boards:newest-file": "a file",
    "evaluations:events": "a stream",
    "handbook:example": "a file",
    "accounts:export": "a file",
    "security-txt": "a file",
    "mfa_download_recovery_codes": "a file",
    "socialaccount_signup": "leads elsewhere: it asks only for what GitHub left open",
    "workers:tail": "a piece of a page",
    "evaluations:progress": "a piece of a page",
    "account_set_password": "leads elsewhere: everybody has a password",
    "account_confirm_login_code": "leads elsewhere: nobody signs in by a code",
    "admin:login": "leads to the site's own",
    "admin:logout": "takes POST",
    "admin:password_change": "leads to the site's own",
    "admin:password_change_done": "leads to the beginning",
    "admin:autocomplete": "a list",
    "admin:jsi18n": "a script",
    "admin:view_on_site": "leads elsewhere",
    **{f"admin:{rows}_{what}": "refused to all" for rows in LISTED for what in ("add", "delete")},
    **{f"admin:{rows}_history": SAME for rows in LISTED if rows != "evaluations_evaluation"},
    **dict.fromkeys(
        (
            "accounts:close", "accounts:delete",
            "accounts:revoke", "accounts:accept-invitation", "accounts:decline-invitation", "accounts:hand-over",
            "accounts:withdraw-invitation", "accounts:remove-member", "evaluations:resume", "evaluations:accept",
            "accounts:describe-team", "evaluations:visibility", "planners:check", "planners:test",
            "planners:remove-header", "evaluations:cancel", "evaluations:rerun", "evaluations:verify",
            "workers:revoke", "outbox:test", "outbox:remove", "outbox:mails",
        ),
        "takes POST",
    ),
}  # fmt: skip
"""Why it is none, or needs no look of its own, by the route's name. Those of the API are found by their namespace."""
