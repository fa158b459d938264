"""Signed hashing: from texts to a position and a sign, the same everywhere and for ever.

The hash of a text is BLAKE2b (RFC 7693) of its UTF-8 bytes with a digest of 8 bytes, read as a
little-endian integer. The highest bit gives the sign; the other 63 bits, modulo the size, give the
position. The result depends neither on the process, nor on the platform, nor on the version of
Python or of this package. The tests have known answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

_TOP = 1 << 63

# Every ASCII character that is neither a letter nor a digit, as a space.
_SPACES = {code: " " for code in range(128) if not chr(code).isalnum()}


@lru_cache(maxsize=65_536)
def signed_hash(text: str, size: int) -> tuple[int, float]:
    """Position in 0, …, size - 1 and sign of a text.

    >>> signed_hash("sport", 16), signed_hash("politics", 16)
    ((2, 1.0), (5, -1.0))
    """
    # A text from JSON may hold half of a surrogate pair, which plain UTF-8 cannot encode.
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    hashed = int.from_bytes(digest, "little")
    return (hashed % _TOP) % size, 1.0 if hashed < _TOP else -1.0


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case, without ASCII punctuation.

    >>> words_of("Strikes: what's next?")
    ['strikes', 'what', 's', 'next']
    """
    return text.casefold().translate(_SPACES).split()


def sketch(tokens: Iterable[str], size: int) -> list[float]:
    """The signed sum of the unit vectors of at least one token, scaled to norm 1, (size,).

    Tokens with opposite signs at the same position can cancel. If all cancel, they are added
    without signs, so that a value never looks like no value.
    """
    hashed = [signed_hash(token, size) for token in tokens]
    total = _sum(hashed, size)
    if not any(total):
        total = _sum([(position, 1.0) for position, _ in hashed], size)
    norm = math.sqrt(math.fsum(entry * entry for entry in total))
    return [entry / norm for entry in total]


def _sum(hashed: list[tuple[int, float]], size: int) -> list[float]:
    total = [0.0] * size
    for position, sign in hashed:
        total[position] += sign
    return total
