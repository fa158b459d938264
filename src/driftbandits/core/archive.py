"""Named arrays in one archive, in NumPy's ``.npz`` format: no pickles, every byte verified.

``np.savez`` and ``np.load`` are not used. Before NumPy 2.2, ``savez(allow_pickle=False)`` writes an
array called ``allow_pickle``. ``load`` trusts the shape that a member claims: it reserves memory
for that shape, and compares the checksum only if it reads the member to its end.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

_SUFFIX = ".npy"
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def write_arrays(file: BinaryIO, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write ``arrays`` to ``file``; ``np.load`` reads them too."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            if "\0" in name:  # zipfile would cut the name there
                raise ValueError(f"names of arrays must not contain NUL, got {name!r}")
            with archive.open(name + _SUFFIX, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_arrays(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an archive that `write_arrays` or ``np.savez`` wrote.

    Raises an exception of any kind if the archive is damaged or forged. The arrays together are
    never larger than ``content``.
    """
    if not content.startswith(b"PK"):
        raise ValueError("it is not an archive")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        _check_sizes(members, len(content))
        arrays = {member.filename: _parse(member, archive.read(member)) for member in members}
    if len(arrays) < len(members):
        raise ValueError("several members have the same name")
    named = {name.removesuffix(_SUFFIX): array for name, array in arrays.items()}
    # NumPy before 2.2 wrote this array beside those that it was given.
    if "allow_pickle" in named and named["allow_pickle"].dtype == np.bool_:
        del named["allow_pickle"]
    return named


def _check_sizes(members: list[zipfile.ZipInfo], limit: int) -> None:
    """Refuse compressed or overlapping members: they could become larger than the file."""
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"member {member.filename} is compressed")
    if sum(member.file_size for member in members) > limit:
        raise ValueError("its members are larger than the file")


def _parse(member: zipfile.ZipInfo, content: bytes) -> npt.NDArray[Any]:
    """The array of one member; its type and shape must account for every byte."""
    if not member.filename.endswith(_SUFFIX) or len(content) != member.file_size:
        raise ValueError(f"member {member.filename} is not an array")
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in _HEADER_READERS:
        raise ValueError(f"member {member.filename} has version {version} of the array format")
    shape, in_columns, dtype = _HEADER_READERS[version](stream)
    if dtype.kind not in "biuf":
        raise ValueError(f"member {member.filename} holds {dtype}, not numbers")
    data = content[stream.tell() :]
    if any(length < 0 for length in shape) or len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError(
            f"member {member.filename} has {len(data)} bytes, which do not fit {dtype}{shape}"
        )
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if in_columns else "C")
    return array.copy()  # a buffer of bytes cannot be written to
