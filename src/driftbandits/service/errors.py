"""What can go wrong with a command, as values: a code for programs, a text for people."""

from __future__ import annotations

from typing import ClassVar


class ServiceError(Exception):
    """A command that was refused. Nothing has changed.

    Attributes:
        code: Stable name of the problem, for programs.
        title: The problem in a few words, the same every time.
        status: HTTP status that fits.
        detail: What was wrong this time.
    """

    code: ClassVar[str] = "refused"
    title: ClassVar[str] = "The command was refused"
    status: ClassVar[int] = 400

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class BadRequest(ServiceError):
    """A request that cannot be carried out as it is: features, actions, a reward."""

    code = "bad_request"
    title = "The request cannot be carried out as it is"
    status = 422


class BadSettings(ServiceError):
    """Settings of a policy that break a rule."""

    code = "bad_settings"
    title = "The settings of the policy break a rule"
    status = 422


class UnknownPolicy(ServiceError):
    """There is no policy of that name."""

    code = "unknown_policy"
    title = "There is no such policy"
    status = 404


class UnknownAction(ServiceError):
    """The catalogue has no action of that id."""

    code = "unknown_action"
    title = "The catalogue has no such action"
    status = 404


class UnknownEvent(ServiceError):
    """There is no decision of that id, or it closed too long ago."""

    code = "unknown_event"
    title = "There is no such decision"
    status = 404


class ConflictingEvent(ServiceError):
    """The id of a decision came again with another request."""

    code = "conflicting_event"
    title = "The id belongs to another decision"
    status = 409


class ConflictingReward(ServiceError):
    """A decision that has a reward got another one, and its policy takes only one."""

    code = "conflicting_reward"
    title = "The decision has another reward already"
    status = 409


class BackupFailed(ServiceError):
    """A copy of the journal could not be made. The journal itself is as it was."""

    code = "backup_failed"
    title = "The journal could not be copied"
    status = 507


class JournalError(Exception):
    """The journal cannot be read or written. Memory may be ahead of the disk: end the process."""


class DamagedJournal(JournalError):
    """The journal is not what was written: bytes, records or their order have changed."""
