"""Django's sessions in the database, read with SQL that is written once: every page of somebody who is signed in
begins with it."""

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from leaderboard.platform.compiled_queries import CompiledQuery

_SESSION = CompiledQuery(lambda key: Session.objects.filter(session_key=key), key=str)


class SessionStore(db.SessionStore):
    """See `django.contrib.sessions.backends.db`."""

    def _get_session_from_db(self) -> Session | None:
        found = _SESSION.first(key=self.session_key)
        if found is not None and found.expire_date > timezone.now():
            return found
        self._session_key = None
        return None
