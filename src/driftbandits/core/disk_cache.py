"""Compiled code on disk: a cache that may be missing, full or damaged, and never stops a call.

One file holds one compiled function for one signature, or one suite of functions:

    SHA-256 of the rest | a line (version of numba, stamp of the sources, key) | the code, pickled

numba finds the folder: ``NUMBA_CACHE_DIR`` if it is set, then the package's own, then the user's. A
read-only folder will do if it already holds compiled code, as in an image with a read-only file
system.

numba's own cache files are not used. They have no checksum, so a flipped bit would run. And a
second file lists them: two processes that write at once can leave the list of one with the code of
the other.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.serialize import dumps

from .storage import atomic_write
from .suites import Compiled, rebuilt, reduced

# numba has no types.
_NumbaCache: Any = FunctionCache
_NumbaNoCache: Any = NullCache
_NumbaFiles: Any = CompileResultCacheImpl


class CacheWarning(RuntimeWarning):
    """Compiled code could not be written to disk or read from it, and is compiled again."""


class DamagedError(Exception):
    """A file whose content is not what was written."""


def disk_cache(function: FunctionType, stamp: str, *, suite: bool = False) -> Any:
    """The cache for a compiled function, valid while ``stamp`` stays the same.

    For a ``suite``, one file holds all its functions, under the name of the first.
    """
    try:
        return _SuiteCache(function, stamp) if suite else _DiskCache(function, stamp)
    except (RuntimeError, OSError):  # numba has found no folder that it can write to
        return _NoCache()


_said: set[str] = set()


def _say_once(problem: str) -> None:
    """Warn about a problem once: every further function would have it too."""
    if problem in _said:
        return
    _said.add(problem)
    warnings.warn(
        f"{problem}. Everything works, but each start compiles again, which takes seconds. Set "
        "NUMBA_CACHE_DIR to a folder that can be written to and has some MB free.",
        CacheWarning,
        stacklevel=2,
    )


class _NoCache(_NumbaNoCache):  # type: ignore[misc]
    """Used if nothing can be cached; warns at the first call, not on import."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _say_once(
            "compiled code cannot be cached: neither the folder of driftbandits nor the user's "
            "cache folder can be written to"
        )


def _or_readable(locator: Any) -> Any:
    """numba's ``locator`` of a folder, which also accepts a read-only one with compiled code."""

    class Locator(locator):  # type: ignore[misc]
        def ensure_cache_path(self) -> None:
            try:
                super().ensure_cache_path()
            except OSError:
                if not any(Path(self.get_cache_path()).glob("*.nbc")):
                    raise

    return Locator


class _Files(_NumbaFiles):  # type: ignore[misc]
    _locator_classes = tuple(_or_readable(locator) for locator in _NumbaFiles._locator_classes)


class _SuiteFiles(_Files):
    """Like `_Files`, for a whole suite."""

    def reduce(self, compiled: Compiled) -> Any:
        return reduced(compiled)

    def rebuild(self, target_context: Any, payload: Any) -> Compiled:
        return rebuilt(target_context, payload)

    def check_cachable(self, compiled: Compiled) -> bool:
        return all(super(_SuiteFiles, self).check_cachable(one) for one in compiled.results)


class _DiskCache(_NumbaCache):  # type: ignore[misc]
    """numba's cache with the files of `CacheFiles`; no error of theirs reaches a caller."""

    _impl_class = _Files

    def __init__(self, function: FunctionType, stamp: str) -> None:
        super().__init__(function)
        self._cache_file = CacheFiles(Path(self._cache_path), self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # a damaged file can fail in any way
            warnings.warn(
                f"compiled code in {self._cache_path} cannot be used and is made again: {error}",
                CacheWarning,
                stacklevel=2,
            )
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # the code is compiled; the call can go on without a cache
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            _say_once(f"compiled code cannot be written to {self._cache_path}: {reason}")


class _SuiteCache(_DiskCache):
    _impl_class = _SuiteFiles


class CacheFiles:
    """The files of one function, one per signature and processor."""

    def __init__(self, folder: Path, name: str, stamp: str) -> None:
        self._folder, self._name = folder, name
        self.stamp = stamp

    def load(self, key: Any) -> Any:
        """What `save` wrote under ``key``; None if there is no file, or it has other sources."""
        try:
            content = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        checksum, body = content[:32], content[32:]
        if hashlib.sha256(body).digest() != checksum:
            raise DamagedError(f"{self._path(key).name} is damaged")
        header, _, data = body.partition(b"\n")
        if header != self._header(key):
            return None
        return pickle.loads(data)  # noqa: S301 - as numba does, from the folder that it chose

    def save(self, key: Any, data: Any) -> None:
        """Write ``data``, whole or not at all."""
        body = self._header(key) + b"\n" + dumps(data)
        with atomic_write(self._path(key), sync=False) as file:
            file.write(hashlib.sha256(body).digest() + body)

    def current(self) -> bool:
        """Whether there is a file from the present sources, for any key."""
        begin = repr((numba.__version__, self.stamp))[:-1].encode()
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            with suppress(OSError), path.open("rb") as file:
                if file.read(32 + len(begin))[32:] == begin:
                    return True
        return False

    def flush(self) -> None:
        """Remove all files of the function."""
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)

    def _header(self, key: Any) -> bytes:
        return repr((numba.__version__, self.stamp, key)).encode()

    def _path(self, key: Any) -> Path:
        signature, processor, _ = key
        which = hashlib.sha256(repr((signature, processor)).encode()).hexdigest()[:16]
        return self._folder / f"{self._name}.{which}.nbc"
