"""The errors of the service. Each has a code for programs and a text for people."""

from __future__ import annotations

from typing import ClassVar


class ServiceError(Exception):
    """A command was refused. Nothing has changed.

    Attributes:
        code: Stable name of the problem, for programs.
        title: The problem in a few words; the same for every error of this class.
        status: HTTP status of the answer.
        detail: What was wrong with this command.
    """

    code: ClassVar[str] = "refused"
    title: ClassVar[str] = "The command was refused"
    status: ClassVar[int] = 400

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class BadRequest(ServiceError):
    """Something in the request is wrong: features, actions or a reward."""

    code = "bad_request"
    title = "The request cannot be carried out as it is"
    status = 422


class BadSettings(ServiceError):
    """The settings of a policy break a rule."""

    code = "bad_settings"
    title = "The settings of the policy break a rule"
    status = 422


class UnknownPolicy(ServiceError):
    """There is no policy with that name."""

    code = "unknown_policy"
    title = "There is no such policy"
    status = 404


class UnknownAction(ServiceError):
    """The catalogue has no action with that id."""

    code = "unknown_action"
    title = "The catalogue has no such action"
    status = 404


class UnknownEvent(ServiceError):
    """There is no decision with that id, or it closed too long ago."""

    code = "unknown_event"
    title = "There is no such decision"
    status = 404


class ConflictingEvent(ServiceError):
    """A different request used the id of an earlier decision."""

    code = "conflicting_event"
    title = "The id belongs to another decision"
    status = 409


class ConflictingReward(ServiceError):
    """The decision already has another reward, and its policy accepts only one."""

    code = "conflicting_reward"
    title = "The decision already has another reward"
    status = 409


class BackupFailed(ServiceError):
    """The journal could not be copied. The journal itself has not changed."""

    code = "backup_failed"
    title = "The journal could not be copied"
    status = 507


class JournalError(Exception):
    """The journal cannot be read or written. End the process: memory may be ahead of the disk."""


class DamagedJournal(JournalError):
    """The journal has changed since it was written: its bytes, its records or their order."""
