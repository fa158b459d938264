"""The decision service hosts policies.

Every command is on disk before its answer is sent, and a replay gives the same bits.
"""

from .errors import (
    BackupFailed,
    BadRequest,
    BadSettings,
    ConflictingEvent,
    ConflictingReward,
    DamagedJournal,
    JournalError,
    ServiceError,
    UnknownAction,
    UnknownEvent,
    UnknownPolicy,
)
from .house import House
from .journal.memory import MemoryStore
from .journal.sqlite import SQLiteStore
from .messages import (
    ActivationAnswer,
    DecisionAnswer,
    DecisionRequest,
    NamedAction,
    PolicyView,
    RewardAnswer,
)
from .policy_settings import PolicySettings
from .recovery import recover, verify

__all__ = [
    "ActivationAnswer",
    "BackupFailed",
    "BadRequest",
    "BadSettings",
    "ConflictingEvent",
    "ConflictingReward",
    "DamagedJournal",
    "DecisionAnswer",
    "DecisionRequest",
    "House",
    "JournalError",
    "MemoryStore",
    "NamedAction",
    "PolicySettings",
    "PolicyView",
    "RewardAnswer",
    "SQLiteStore",
    "ServiceError",
    "UnknownAction",
    "UnknownEvent",
    "UnknownPolicy",
    "recover",
    "verify",
]
