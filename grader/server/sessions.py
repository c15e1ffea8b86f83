"""The sessions of one service, by the ids that clients know them by."""

import secrets
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from grader.config.settings import Settings
from grader.model import Limits, SuiteFile
from grader.model.errors import SessionLostError, SessionsFullError
from grader.opening import open_sessions
from grader.sessions.local import Session

_MOST_BRANCHES = 1024
_T = TypeVar("_T")


class SessionRegistry:
    """Opens sessions and finds them again. Safe for many threads."""

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._sessions = open_sessions(settings)
        self._lock = threading.Lock()
        self._by_id: dict[str, Session] = {}

    def open(
        self,
        *,
        image: str,
        limits: Limits,
        files: tuple[SuiteFile, ...] = (),
        wait_s: float = 0.0,
    ) -> tuple[str, Session]:
        """Open a session, and return its id.

        Raises:
            SessionsFullError: There is no room for one, also after waiting.
            GraderError: It could not be opened.
        """
        session = self._sessions.open(image=image, limits=limits, wait_s=wait_s)
        try:
            if files:
                session.run("", files=contents_of(files))
        except BaseException:
            session.close()
            raise
        return self._register(session), session

    def find(self, id: str) -> Session:
        """Return a session.

        Raises:
            SessionLostError: There is no session with this id.
        """
        with self._lock:
            session = self._by_id.get(id)
        if session is None:
            message = "there is no such session in this process, or it was closed"
            raise SessionLostError(message)
        return session

    def fork(self, id: str, at: int | None) -> tuple[str, Session]:
        """Return a branch of a session, with its id.

        Raises:
            InputError: The session has not as many steps.
            SessionLostError: There is no such session.
            SessionsFullError: There are too many branches.
        """
        branch = self.find(id).fork(at=at)
        return self._register(branch), branch

    def close(self, id: str) -> None:
        """End a branch. Repeats harmlessly."""
        with self._lock:
            session = self._by_id.pop(id, None)
        if session is not None:
            session.close()

    def count(self) -> int:
        """Return how many sessions are open."""
        return self._sessions.count()

    def end(self) -> None:
        """End every session. Repeats harmlessly."""
        self._sessions.close()

    def using(self, id: str, do: Callable[[Session], _T]) -> _T:
        """Do something with a session, and forget the session if it turns out to be lost.

        Raises:
            SessionLostError: There is no such session.
        """
        session = self.find(id)
        try:
            return do(session)
        except SessionLostError:
            self.close(id)
            raise

    def _register(self, session: Session) -> str:
        id = secrets.token_urlsafe(16)
        with self._lock:
            for lost in [key for key, each in self._by_id.items() if not each.is_open]:
                del self._by_id[lost]
            most = _MOST_BRANCHES * self._settings.sessions.most
            if len(self._by_id) < most:
                self._by_id[id] = session
                return id
        session.close()
        message = f"there are {most} branches of sessions, which is the most there may be"
        raise SessionsFullError(message)


def contents_of(files: tuple[SuiteFile, ...]) -> Mapping[str, bytes]:
    """Return the contents of files by their paths."""
    return {file.path: file.content for file in files}
