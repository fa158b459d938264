"""Names for what is kept on disk: a few letters that differ where what was played does."""

from __future__ import annotations

import hashlib

from driftbandits.environments import Environment


def digest(content: bytes) -> str:
    """A short name for some bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def drawn(environment: Environment, seed: int) -> str:
    """What replication 0 consists of, in a few letters."""
    blocks = list(environment.blocks(seed=seed, replication=0))
    # Field by field, since how rounds are cut into blocks changes none of them. Actions that never
    # change come with every block.
    stay = all(len(b.actions) == 1 for b in blocks)
    parts = [
        [blocks[0].actions] if stay else [b.actions for b in blocks],
        [b.parameters for b in blocks],
        [b.noise for b in blocks],
    ]
    return digest(b"".join(array.tobytes() for part in parts for array in part))
