"""Accounts, sign-in and email."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from leaderboard.platform.settings.base import CONTENT_SECURITY_POLICY, DEBUG, DEMO, env
from leaderboard.platform.settings.django import INSTALLED_APPS

AUTH_USER_MODEL = "people.User"
AUTHENTICATION_BACKENDS = ["leaderboard.people.addresses.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email" if DEMO else "email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = env.text("PLANARENA_EMAIL_VERIFICATION", "none" if DEMO else "mandatory")
if ACCOUNT_EMAIL_VERIFICATION not in {"none", "optional", "mandatory"}:
    raise ImproperlyConfigured("PLANARENA_EMAIL_VERIFICATION must be none, optional or mandatory.")
ACCOUNT_PREVENT_ENUMERATION = "strict"
# Only in the browser that signed up, whose session holds the pending sign-in.
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
MFA_ADAPTER = "leaderboard.people.second_factor.Adapter"
MFA_TOTP_ISSUER = "PlanArena"
MFA_TOTP_TOLERANCE = 1
MFA_ALLOW_UNVERIFIED_EMAIL = ACCOUNT_EMAIL_VERIFICATION != "mandatory"
OPERATORS_NEED_SECOND_FACTOR = env.flag("PLANARENA_OPERATORS_NEED_2FA", default=not DEMO)
"""Whether staff need two-factor authentication for operator rights."""
GITHUB_URL = env.text("PLANARENA_GITHUB_URL", "https://github.com").rstrip("/")
SOCIALACCOUNT_QUERY_EMAIL = True
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {}
if GITHUB_CLIENT_ID := env.text("PLANARENA_GITHUB_CLIENT_ID"):
    _secret = env.required("PLANARENA_GITHUB_SECRET", purpose="the secret of the GitHub app that signs people in")
    SOCIALACCOUNT_PROVIDERS["github"] = {
        "APPS": [{"client_id": GITHUB_CLIENT_ID, "secret": _secret}],
        "SCOPE": ["read:user", "user:email"],
        **({} if GITHUB_URL == "https://github.com" else {"GITHUB_URL": GITHUB_URL}),
    }
    INSTALLED_APPS.append("allauth.socialaccount.providers.github")
    # Browsers apply form-action to redirects too, and the form redirects to GitHub.
    CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"].append(GITHUB_URL)
ACCOUNT_ADAPTER = "leaderboard.people.adapter.Adapter"
ACCOUNT_FORMS = {
    "login": "leaderboard.people.addresses.LoginForm",
    "change_password": "leaderboard.people.web.password_forms.ChangePasswordForm",
    "reset_password_from_key": "leaderboard.people.web.password_forms.ResetPasswordKeyForm",
    "reset_password": "leaderboard.people.addresses.ResetPasswordForm",
    "signup": "leaderboard.people.addresses.SignUpForm",
}
SOCIALACCOUNT_ADAPTER = "leaderboard.people.adapter.SocialAdapter"
SOCIALACCOUNT_FORMS = {"signup": "leaderboard.people.addresses.SignUpWithGitHubForm"}
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"

if ACCOUNT_EMAIL_VERIFICATION == "mandatory" and not DEBUG:
    EMAIL_HOST = env.required("EMAIL_HOST", purpose="the SMTP server that sends confirmation emails")
else:
    EMAIL_HOST = env.text("EMAIL_HOST", "localhost")
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if env.text('EMAIL_HOST') else 'console'}.EmailBackend"
EMAIL_PORT = env.integer("EMAIL_PORT", default=587, least=1)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
EMAIL_TIMEOUT = 10
"""Seconds. Django's default has no limit for a mail server that does not respond."""
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=True)
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "PlanArena <planarena@localhost>")
