"""Entries and the chain of hashes that protects all records and their order.

One commit writes one entry. Each record has a link: a hash of the previous link and of the bytes of
the record.

    link_0 = H("driftbandits journal")        link_n = H(link_{n−1}, body_n)

H is BLAKE2b with 16 bytes. An entry holds some records and the link of the last one. A changed
byte, a missing record or a moved record gives a different link. Links do not depend on how records
are split into entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import msgspec

from ..errors import DamagedJournal

_SIZE = 16

GENESIS = blake2b(b"driftbandits journal", digest_size=_SIZE).digest()

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[bytes])


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The records of one commit.

    Attributes:
        first: Number of its first record; the first record of all has number 1.
        count: Number of its records, at least 1.
        time: Time of its last record.
        payload: The bytes of its records.
        link: Link of its last record.
    """

    first: int
    count: int
    time: float
    payload: bytes
    link: bytes

    @property
    def last(self) -> int:
        """Number of its last record."""
        return self.first + self.count - 1


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state after a record.

    Attributes:
        number: Number of the last record in the state; 0 before the first.
        time: Time of that record.
        link: Link of that record.
        stamp: Versions and processor that made the snapshot, as JSON.
        payload: The state.
        checksum: Hash of all the fields above.
    """

    number: int
    time: float
    link: bytes
    stamp: str
    payload: bytes
    checksum: bytes = b""

    def sealed(self) -> Snapshot:
        """The snapshot with its checksum."""
        return msgspec.structs.replace(self, checksum=self._hash())

    @property
    def intact(self) -> bool:
        """Whether it has not changed since it was sealed."""
        return self.checksum == self._hash()

    def _hash(self) -> bytes:
        head = f"{self.number} {self.time!r} {self.link.hex()} {self.stamp}\n".encode()
        return blake2b(self.payload, digest_size=_SIZE, salt=_salt(head)).digest()


def _salt(head: bytes) -> bytes:
    return blake2b(head, digest_size=blake2b.SALT_SIZE).digest()


def link_of(link: bytes, body: bytes) -> bytes:
    """The link of a record; ``link`` is the link of the record before it."""
    return blake2b(link + body, digest_size=_SIZE).digest()


def entry_of(first: int, time: float, bodies: list[bytes], link: bytes) -> Entry:
    """The entry of some records; ``link`` is the link of the record before them."""
    for body in bodies:
        link = link_of(link, body)
    payload = _encoder.encode(bodies)
    return Entry(first=first, count=len(bodies), time=time, payload=payload, link=link)


def bodies_of(entry: Entry) -> list[bytes]:
    """The bytes of each record of an entry. The link is not checked."""
    try:
        bodies = _decoder.decode(entry.payload)
    except msgspec.DecodeError as error:
        raise DamagedJournal(f"the entry at record {entry.first} is damaged: {error}") from error
    if len(bodies) != entry.count:
        raise DamagedJournal(
            f"the entry at record {entry.first} must have {entry.count} records, got {len(bodies)}"
        )
    return bodies


def records_of(
    entries: Iterable[Entry], *, after: int = 0, link: bytes = GENESIS
) -> Iterator[tuple[int, bytes, bytes]]:
    """Number, link and bytes of every record after record ``after``, whose link is ``link``.

    Every link is checked. Damaged entries raise `DamagedJournal`.
    """
    for entry in entries:
        if entry.first != after + 1:
            raise DamagedJournal(f"record {after + 1} is missing; the next entry is {entry.first}")
        bodies = bodies_of(entry)
        links = list[bytes]()
        for body in bodies:
            link = link_of(link, body)
            links.append(link)
        if link != entry.link:
            raise DamagedJournal(
                f"records {entry.first} to {entry.last} have changed since they were written: "
                "the chain of links is broken"
            )
        for number, (own, body) in enumerate(zip(links, bodies, strict=True), start=entry.first):
            yield number, own, body
        after = entry.last
