"""Names of files with kept results: a short hash of what was played."""

from __future__ import annotations

import hashlib

from driftbandits.environments import Environment


def digest(content: bytes) -> str:
    """A short hash of some bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def drawn(environment: Environment, seed: int) -> str:
    """A short hash of replication 0."""
    blocks = list(environment.blocks(seed=seed, replication=0))
    # Field by field, so that the hash does not depend on the cuts between blocks. Actions that
    # never change are part of every block, but count once.
    stay = all(len(b.actions) == 1 for b in blocks)
    parts = [
        [blocks[0].actions] if stay else [b.actions for b in blocks],
        [b.parameters for b in blocks],
        [b.noise for b in blocks],
    ]
    return digest(b"".join(array.tobytes() for part in parts for array in part))
