"""Public profiles of users and teams. Pages and API use the same functions."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import transaction

from leaderboard.people.models import Team, User
from leaderboard.people.teams import NotAllowedError, owns
from leaderboard.platform.audit import record
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors

LONGEST_DISPLAY_NAME = 80
LONGEST_AFFILIATION = 120
LONGEST_LINK = 200
LONGEST_TEXT = 1000
_IS_ADDRESS = URLValidator(schemes=["http", "https"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileData:
    """A user's profile, as entered."""

    display_name: str = ""
    affiliation: str = ""
    link: str = ""
    bio: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamProfileData:
    """A team's profile, as entered by its owner."""

    description: str = ""
    link: str = ""
    shows_members: bool = False


def set_profile(*, user: User, data: ProfileData) -> None:
    """Update a user's public profile.

    Raises:
        FieldErrors: a field is too long or not printable; nothing was changed.
    """
    _check(
        lines={
            "display_name": (data.display_name, LONGEST_DISPLAY_NAME),
            "affiliation": (data.affiliation, LONGEST_AFFILIATION),
        },
        texts={"bio": data.bio},
        link=data.link,
    )
    User.objects.filter(pk=user.pk).update(
        display_name=data.display_name.strip(),
        affiliation=data.affiliation.strip(),
        link=data.link.strip(),
        bio=data.bio.strip(),
    )


def set_team_profile(*, team: Team, data: TeamProfileData, by: User) -> None:
    """Update a team's public profile.

    Raises:
        FieldErrors: a field is too long or not printable; nothing was changed.
        NotAllowedError: `by` does not own the team.
    """
    if not owns(user=by, team=team):
        raise NotAllowedError("Only the owner of a team may do this.")
    _check(lines={}, texts={"description": data.description}, link=data.link)
    with transaction.atomic():
        Team.objects.filter(pk=team.pk).update(
            description=data.description.strip(), link=data.link.strip(), shows_members=data.shows_members
        )
        if data.shows_members != team.shows_members:
            details = {"shows_members": data.shows_members}
            record(by=by, action=Action.TEAM_DESCRIBED, target=team, label=team.name, details=details)


def _check(*, lines: Mapping[str, tuple[str, int]], texts: Mapping[str, str], link: str) -> None:
    errors: dict[str, list[str]] = {}
    for field, (text, longest) in lines.items():
        if len(text) > longest or not text.isprintable():
            errors[field] = [f"At most {longest} printable characters on one line."]
    for field, text in texts.items():
        if len(text) > LONGEST_TEXT or not all(character.isprintable() or character in "\r\n\t" for character in text):
            errors[field] = [f"At most {LONGEST_TEXT} printable characters."]
    if link := link.strip():
        try:
            _IS_ADDRESS(link)
            # Credentials in a URL would be public, or mislead about its host.
            is_valid = len(link) <= LONGEST_LINK and "@" not in urlsplit(link).netloc
        except (ValidationError, ValueError):
            is_valid = False
        if not is_valid:
            errors["link"] = [f"Enter a full URL of at most {LONGEST_LINK} characters, such as https://example.org/me."]
    if errors:
        raise FieldErrors(errors)
