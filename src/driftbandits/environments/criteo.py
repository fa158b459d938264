"""Contexts and a payoff parameter learned from Criteo's attribution log.

The log is one gzipped, tab-separated file with a header and the 22 columns of `COLUMNS`. Its
licence forbids shipping it. So `load_criteo` takes the path of the user's own copy, or of a
stand-in written by `criteo_standin.write_standin`. The result says which of the two it was.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[int, float], None]

CATEGORICAL: Final = ("campaign", *(f"cat{i}" for i in range(1, 10)))
COLUMNS: Final = (
    *("timestamp", "uid", "campaign", "conversion", "conversion_timestamp", "conversion_id"),
    *("attribution", "click", "click_pos", "click_nb", "cost", "cpo", "time_since_last_click"),
    *(f"cat{i}" for i in range(1, 10)),
)

# A stand-in is marked in its data, so the mark survives recompression, shuffling and `head`:
# all ten categorical ids of a row are REMAINDER modulo MODULUS. A genuine row has this mark by
# accident with probability 101^-10.
STANDIN_MODULUS: Final = 101
STANDIN_REMAINDER: Final = 37

_BLOCK_BYTES: Final = 1 << 20  # text parsed at a time; the reader reads up to 32 blocks ahead
_HEADER_BYTES: Final = 4096  # the true header has 215


class CriteoFileError(ValueError):
    """The file is not a usable copy of Criteo's attribution log; the message says why."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CriteoContexts:
    """Two pools of contexts and the payoff parameter θ, scaled for the linear model.

    Every context has ‖a‖ ≤ L = 1 and Σⱼ |aⱼ θⱼ| ≤ 1. Hence |⟨a, θ′⟩| ≤ 1 for θ and for every θ′
    that differs from θ only in the signs of coordinates. All of them have S = `theta_norm`.

    Attributes:
        clicked: Contexts of clicked banners, shape (n, d) with n ≤ pool_size; read-only.
        not_clicked: Contexts of banners not clicked, shape (m, d) with m ≤ pool_size; read-only.
        theta: The parameter, shape (d,); read-only.
        rows_read: Rows of the file.
        click_rate: Share of clicked rows in the file.
        sampled_clicked: Number of clicked rows that the features and theta were fitted on.
        sampled_not_clicked: Number of rows without a click that they were fitted on.
        levels: Number of distinct categorical values in the sample: one-hot columns before the SVD.
        residual_variance: Variance of a click around its regression, before payoffs were shrunk.
        payoff_scale: ⟨a, θ⟩ / (fitted click rate − its mean), at most 1.
        standin: Whether the file was the stand-in. Any output that shows these numbers must say so.
    """

    clicked: Floats
    not_clicked: Floats
    theta: Floats
    rows_read: int
    click_rate: float
    sampled_clicked: int
    sampled_not_clicked: int
    levels: int
    residual_variance: float
    payoff_scale: float
    standin: bool

    @property
    def dim(self) -> int:
        """Number of features d."""
        return int(self.theta.size)

    @property
    def theta_norm(self) -> float:
        """S = ‖θ‖, for policies. Changes of sign do not change it."""
        return float(np.linalg.norm(self.theta))


def load_criteo(
    path: str | Path,
    *,
    dim: int = 50,
    pool_size: int = 10_000,
    sample_size: int = 50_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> CriteoContexts:
    """Learn `dim` features and θ from the log at `path`, and draw the two pools of contexts.

    The file is read once, in blocks. Two uniform samples are kept, one of the clicked rows and
    one of the other rows, with at most `sample_size` rows each. So memory does not grow with the
    file. Campaign and cat1..cat9 are one-hot encoded and reduced by a truncated SVD; θ is the
    least-squares regression of click on these features, with an intercept. Everything is fitted
    on the two samples together, each weighted to its share of the file.

    The intercept is dropped and the features are centred: ⟨a, θ⟩ is the fitted click rate minus
    the mean click rate. A payoff common to all actions changes no regret, but would use up a part
    of the range |⟨a, θ⟩| ≤ 1.

    A pool is the first `pool_size` rows of its sample, without repetition. If the file has fewer
    such rows, the pool is smaller.

    Scaling: all contexts are divided by the largest norm in the pools and θ is multiplied by it,
    which makes L = 1 and changes no payoff. If some Σⱼ |aⱼ θⱼ| still exceeds 1, θ is divided by
    the largest of these sums, so that payoffs stay in [-1, 1] after any change of signs. Common
    factors keep the geometry: the features are not whitened, and features of small variance stay
    small. S = ‖θ‖ is near 1.6 on the stand-in; forcing S = 1 would weaken payoffs against the
    noise.

    `progress(rows_read, fraction_of_bytes)` is called after every block. The result depends on
    the rows of the file and on `seed`, not on how the file is compressed or cut into blocks.
    """
    _check_sizes(dim=dim, pool_size=pool_size, sample_size=sample_size)
    path = Path(path)
    _check_header(path)
    sample = _sample(path, size=sample_size, seed=seed, progress=progress)
    one_hot = _one_hot(sample.ids)
    features = _features(path, one_hot, sample.weights, dim=dim)
    theta, residual_variance = _regress(features, sample.click, sample.weights)
    n = sample.clicked
    clicked, not_clicked, theta, payoff_scale = _scale(
        features[:n][:pool_size], features[n:][:pool_size], theta
    )
    return CriteoContexts(
        clicked=clicked,
        not_clicked=not_clicked,
        theta=theta,
        rows_read=sample.rows_read,
        click_rate=sample.rows_clicked / sample.rows_read,
        sampled_clicked=n,
        sampled_not_clicked=len(features) - n,
        levels=one_hot.shape[1],
        residual_variance=residual_variance,
        payoff_scale=payoff_scale,
        standin=_is_standin(sample.ids),
    )


def _check_sizes(*, dim: int, pool_size: int, sample_size: int) -> None:
    if dim < 1:
        raise ValueError(f"dim must be at least 1, got {dim}")
    if pool_size < 1:
        raise ValueError(f"pool_size must be at least 1, got {pool_size}")
    if sample_size < pool_size:
        raise ValueError(f"sample_size must be at least pool_size={pool_size}, got {sample_size}")


# Reading


def _check_header(path: Path) -> None:
    """Raise an error unless this is a gzip file whose first line is `COLUMNS`."""
    with path.open("rb") as raw:
        magic = raw.read(2)
    if not magic:
        raise CriteoFileError(f"{path} is empty")
    if magic != b"\x1f\x8b":
        raise CriteoFileError(f"{path} is not a gzip file: it begins with {magic!r}")
    try:
        with gzip.open(path) as text:
            line = text.readline(_HEADER_BYTES)
    except EOFError as error:
        raise CriteoFileError(f"{path} is truncated: its archive ends early") from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise CriteoFileError(f"{path} is a damaged archive: {error}") from error
    if not line:
        raise CriteoFileError(f"{path} is an empty archive: it has no header")
    _check_columns(path, line.decode("utf-8", errors="replace").rstrip("\r\n").split("\t"))


def _check_columns(path: Path, names: list[str]) -> None:
    missing = [name for name in COLUMNS if name not in names]
    unexpected = [name[:40] for name in names if name not in COLUMNS]
    if missing or unexpected:
        raise CriteoFileError(
            f"{path} has other columns than Criteo's attribution log: "
            f"missing {', '.join(missing) or 'none'}; unexpected {', '.join(unexpected) or 'none'}"
        )
    if tuple(names) != COLUMNS:
        raise CriteoFileError(f"{path} has its columns in another order or twice: {names}")


def _blocks(path: Path) -> Iterator[tuple[Ints, Ints, float]]:
    """Yield click (n,), categorical ids (n, 10) and the fraction of bytes read, block by block."""
    import pyarrow as pa  # imported here, so that importing the package does not load it
    from pyarrow import csv

    used = ("click", *CATEGORICAL)
    size = path.stat().st_size
    with pa.OSFile(str(path)) as raw, pa.CompressedInputStream(raw, "gzip") as text:
        try:
            reader = csv.open_csv(
                text,
                # Threads would read ahead without a limit.
                read_options=csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
                parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
                convert_options=csv.ConvertOptions(
                    include_columns=used,
                    column_types={name: pa.int64() for name in used},
                    null_values=[],  # an empty cell is an error, not a missing value
                ),
            )
            for batch in reader:
                click, *ids = (column.to_numpy() for column in batch.columns)
                _check_click(path, click)
                yield click, np.stack(ids, axis=1), raw.tell() / size
        except pa.ArrowInvalid as error:
            raise CriteoFileError(f"{path} cannot be parsed: {_named_column(error)}") from error
        except OSError as error:
            fault = "truncated" if "runcated" in str(error) else "a damaged archive"
            raise CriteoFileError(f"{path} is {fault}: {error}") from error


def _check_click(path: Path, click: Ints) -> None:
    wrong = click[(click != 0) & (click != 1)]
    if wrong.size:
        raise CriteoFileError(f"{path} cannot be parsed: click must be 0 or 1, got {wrong[0]}")


def _named_column(error: Exception) -> str:
    """The parser's message with column names in place of column numbers."""
    return re.sub(r"column #(\d+)", lambda match: f"column {COLUMNS[int(match[1])]}", str(error))


# Sampling


class _Reservoir:
    """A uniform sample, without replacement, of at most `size` of the rows passed to `show`.

    Each row comes with an independent uniform key, and the sample is the rows with the smallest
    keys. Candidates are buffered to twice the size and then pruned, so that most rows cost one
    comparison. In the order of the keys, every prefix of a sample is a sample too.
    """

    def __init__(self, *, size: int) -> None:
        self.rows = 0  # shown so far
        self._size = size
        self._bar = np.inf  # rows with a larger key cannot enter the sample
        self._keys: list[Floats] = []
        self._ids: list[Ints] = []

    def show(self, keys: Floats, ids: Ints) -> None:
        """Consider the rows `ids` (n, 10) with their `keys` (n,)."""
        self.rows += len(keys)
        entering = keys < self._bar
        self._keys.append(keys[entering])
        self._ids.append(ids[entering])
        if sum(map(len, self._keys)) >= 2 * self._size:
            self._prune()

    def sample(self) -> Ints:
        """The sampled rows in the order of their keys, (min(rows, size), 10)."""
        self._prune()
        return self._ids[0]

    def _prune(self) -> None:
        keys, ids = np.concatenate(self._keys), np.concatenate(self._ids)
        kept = np.argsort(keys)[: self._size]
        self._keys, self._ids = [keys[kept]], [ids[kept]]
        if len(kept) == self._size:
            self._bar = keys[kept[-1]]


class _Sample(NamedTuple):
    """Uniform samples of the clicked rows and of the other rows, the clicked rows first."""

    ids: Ints  # (n, 10)
    click: Floats  # (n,), 1 then 0
    weights: Floats  # (n,), the number of rows of the file per sampled row
    clicked: int  # number of clicked rows in the sample
    rows_clicked: int  # number of clicked rows in the file
    rows_read: int


def _sample(path: Path, *, size: int, seed: int, progress: Progress | None) -> _Sample:
    """Read the file once, keeping at most `size` clicked rows and `size` other rows."""
    rng = np.random.default_rng(seed)
    clicked, others = _Reservoir(size=size), _Reservoir(size=size)
    for click, ids, fraction in _blocks(path):
        keys = rng.random(len(click))  # one per row of either class, so blocks change nothing
        for value, reservoir in ((1, clicked), (0, others)):
            reservoir.show(keys[click == value], ids[click == value])
        if progress is not None:
            progress(clicked.rows + others.rows, fraction)
    rows = np.array([clicked.rows, others.rows])
    _check_classes(path, clicked.rows, others.rows)
    parts = [clicked.sample(), others.sample()]
    counts = np.array([len(part) for part in parts])
    return _Sample(
        ids=np.concatenate(parts),
        click=np.repeat([1.0, 0.0], counts),
        weights=np.repeat(rows / counts, counts),
        clicked=int(counts[0]),
        rows_clicked=clicked.rows,
        rows_read=clicked.rows + others.rows,
    )


def _check_classes(path: Path, clicked: int, others: int) -> None:
    if clicked + others == 0:
        raise CriteoFileError(f"{path} is empty: it has a header and no rows")
    if clicked == 0:
        raise CriteoFileError(f"{path} has no clicked rows among its {others}")
    if others == 0:
        raise CriteoFileError(f"{path} has no rows without a click among its {clicked}")


def _is_standin(ids: Ints) -> bool:
    return bool(np.any(np.all(ids % STANDIN_MODULUS == STANDIN_REMAINDER, axis=1)))


# Learning


def _one_hot(ids: Ints) -> sparse.csr_array:
    """Indicators of the levels that occur in each column of `ids` (n, 10), side by side."""
    from scipy import sparse  # slow to load, and only needed here

    n, columns = ids.shape
    indices = np.empty((n, columns), dtype=np.int64)
    levels = 0
    for j in range(columns):
        values, codes = np.unique(ids[:, j], return_inverse=True)
        indices[:, j] = levels + codes
        levels += len(values)
    starts = np.arange(0, n * columns + 1, columns)
    return sparse.csr_array((np.ones(n * columns), indices.ravel(), starts), shape=(n, levels))


def _features(path: Path, one_hot: sparse.csr_array, weights: Floats, *, dim: int) -> Floats:
    """Rows projected on the `dim` leading right singular vectors of W^½ X and centred, (n, dim).

    The start vector of the iteration is fixed, and each singular vector has the sign that makes
    its entry of largest magnitude positive. So the features depend only on the sample.
    """
    from scipy import sparse
    from scipy.sparse.linalg import svds

    smaller = min(one_hot.shape)
    if dim >= smaller:
        raise CriteoFileError(
            f"{path} is too small for dim={dim}: its sample has {one_hot.shape[0]} rows and "
            f"{one_hot.shape[1]} category levels, both must exceed dim"
        )
    weighted = sparse.diags_array(np.sqrt(weights)) @ one_hot
    start = np.random.default_rng(0).standard_normal(smaller)
    _, values, vectors = svds(weighted, k=dim, v0=start)
    vectors = vectors[np.argsort(values)[::-1]]  # (dim, levels), svds promises no order
    largest = np.abs(vectors).argmax(axis=1, keepdims=True)
    vectors = vectors * np.sign(np.take_along_axis(vectors, largest, axis=1))
    features: Floats = one_hot @ vectors.T
    return features - np.average(features, axis=0, weights=weights)


def _regress(features: Floats, click: Floats, weights: Floats) -> tuple[Floats, float]:
    """θ of the weighted least squares of click on the features, and the residual variance."""
    root = np.sqrt(weights)
    centred = click - np.average(click, weights=weights)
    solution = np.linalg.lstsq(features * root[:, None], centred * root, rcond=None)[0]
    theta = solution.astype(np.float64)
    residuals = centred - features @ theta
    return theta, float(np.average(residuals**2, weights=weights))


def _scale(
    clicked: Floats, not_clicked: Floats, theta: Floats
) -> tuple[Floats, Floats, Floats, float]:
    """Scale to max ‖a‖ = 1 and max Σⱼ |aⱼ θⱼ| ≤ 1; the last value is the factor on payoffs."""
    contexts = np.concatenate([clicked, not_clicked])
    # Slightly more than the largest, so that rounding cannot push any context past the bound.
    length = np.linalg.norm(contexts, axis=1).max() * (1 + 1e-12)
    payoff = (np.abs(contexts) @ np.abs(theta)).max() * (1 + 1e-12)
    payoff_scale = 1.0 / max(1.0, payoff)
    arrays = (clicked / length, not_clicked / length, theta * (length * payoff_scale))
    for array in arrays:
        array.setflags(write=False)
    return *arrays, float(payoff_scale)
