"""The loader of Criteo's log: its definition, its errors, and the stand-in file."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftbandits.environments import criteo, criteo_standin
from driftbandits.environments.criteo import (
    CATEGORICAL,
    COLUMNS,
    CriteoContexts,
    CriteoFileError,
    load_criteo,
)
from driftbandits.environments.criteo_standin import LEVELS, SECONDS, write_standin

ROWS = 60_000


@pytest.fixture(scope="module")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("criteo") / "standin.tsv.gz"
    write_standin(path, rows=ROWS, seed=3)
    return path


@pytest.fixture(scope="module")
def table(standin: Path) -> pd.DataFrame:
    return pd.read_csv(standin, sep="\t")


@pytest.fixture(scope="module")
def contexts(standin: Path) -> CriteoContexts:
    return load_criteo(standin, sample_size=10_000, seed=1)


def write(path: Path, rows: pd.DataFrame) -> Path:
    rows.to_csv(path, sep="\t", index=False, compression="gzip")
    return path


def small_log(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    """A log of few levels whose ids do not carry the stand-in's mark."""
    rng = np.random.default_rng(seed)
    log = pd.DataFrame({name: np.zeros(rows, dtype=np.int64) for name in COLUMNS})
    for name in CATEGORICAL:
        log[name] = rng.geometric(0.3, rows).clip(max=6) * 7_919
    log["click"] = (rng.random(rows) < 0.2 + 0.6 * (log["cat1"] == 7_919)).astype(np.int64)
    return log


def payoffs(contexts: CriteoContexts) -> np.ndarray:
    return np.concatenate([contexts.clicked, contexts.not_clicked]) @ contexts.theta


# The loader


def test_payoffs_are_the_regression_on_the_leading_singular_vectors(tmp_path: Path) -> None:
    log = small_log()
    result = load_criteo(write(tmp_path / "log.gz", log), dim=8)
    one_hot = pd.get_dummies(log[list(CATEGORICAL)].astype(str)).to_numpy(dtype=float)
    features = one_hot @ np.linalg.svd(one_hot, full_matrices=False)[2][:8].T
    design = np.column_stack([np.ones(len(log)), features])
    fitted = design @ np.linalg.pinv(design) @ log["click"].to_numpy(dtype=float)
    expected = (fitted - log["click"].mean()) * result.payoff_scale
    for pool, click in ((result.clicked, 1), (result.not_clicked, 0)):
        np.testing.assert_allclose(
            np.sort(pool @ result.theta), np.sort(expected[log["click"] == click]), atol=1e-10
        )
    assert result.residual_variance == pytest.approx(np.var(log["click"] - fitted))


def test_classes_weigh_what_they_weigh_in_the_file(tmp_path: Path) -> None:
    log = small_log(rows=6_000)
    path = write(tmp_path / "log.gz", log)
    whole = load_criteo(path, dim=8, pool_size=500)
    halved = load_criteo(path, dim=8, pool_size=500, sample_size=1_500)
    assert halved.sampled_clicked == halved.sampled_not_clicked == 1_500
    assert whole.sampled_clicked + whole.sampled_not_clicked == 6_000
    assert halved.residual_variance == pytest.approx(whole.residual_variance, rel=0.1)


def test_facts_of_the_file(contexts: CriteoContexts, table: pd.DataFrame) -> None:
    assert contexts.rows_read == ROWS
    assert contexts.click_rate == table["click"].mean()
    assert contexts.clicked.shape == contexts.not_clicked.shape == (10_000, 50)
    assert contexts.theta.shape == (50,)
    assert contexts.dim == 50
    assert contexts.sampled_clicked == contexts.sampled_not_clicked == 10_000
    assert contexts.levels <= table[list(CATEGORICAL)].nunique().sum()


def test_scaling_is_what_the_model_asks(contexts: CriteoContexts) -> None:
    pools = np.concatenate([contexts.clicked, contexts.not_clicked])
    norms = np.linalg.norm(pools, axis=1)
    assert norms.max() <= 1
    assert norms.max() == pytest.approx(1)
    assert np.median(norms) > 0.5
    assert (np.abs(pools) @ np.abs(contexts.theta)).max() <= 1
    assert contexts.theta_norm == np.linalg.norm(contexts.theta)
    assert contexts.theta_norm < 3


def test_payoffs_stay_bounded_after_changes_of_sign(contexts: CriteoContexts) -> None:
    pools = np.concatenate([contexts.clicked, contexts.not_clicked])
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(50, 200))
    assert np.abs(pools @ (contexts.theta[:, None] * signs)).max() <= 1


def test_arrays_are_read_only(contexts: CriteoContexts) -> None:
    for array in (contexts.clicked, contexts.not_clicked, contexts.theta):
        assert not array.flags.writeable


def test_same_seed_same_bytes_whatever_the_blocks_and_the_compression(
    standin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_criteo(standin, dim=10, pool_size=500, sample_size=3_000, seed=1)
    text = gzip.decompress(standin.read_bytes())
    again = tmp_path / "again.gz"
    half = len(text) // 2
    again.write_bytes(gzip.compress(text[:half], 1) + gzip.compress(text[half:], 6))
    monkeypatch.setattr(criteo, "_BLOCK_BYTES", 300_000)
    second = load_criteo(again, dim=10, pool_size=500, sample_size=3_000, seed=1)
    assert first.clicked.tobytes() == second.clicked.tobytes()
    assert first.not_clicked.tobytes() == second.not_clicked.tobytes()
    assert first.theta.tobytes() == second.theta.tobytes()


def test_another_seed_draws_other_pools(tmp_path: Path) -> None:
    path = write(tmp_path / "log.gz", small_log())
    first, second = (load_criteo(path, dim=5, pool_size=50, seed=seed) for seed in (0, 1))
    assert not np.array_equal(first.clicked, second.clicked)


def test_a_pool_is_smaller_where_rows_are_few(tmp_path: Path) -> None:
    log = small_log()
    result = load_criteo(write(tmp_path / "log.gz", log), dim=5)
    assert len(result.clicked) == log["click"].sum()
    assert len(result.not_clicked) == len(log) - log["click"].sum()


def test_more_features_than_the_rank_are_harmless(tmp_path: Path) -> None:
    log = small_log()
    levels = log[list(CATEGORICAL)].nunique().sum()  # the rank is at least 9 smaller
    result = load_criteo(write(tmp_path / "log.gz", log), dim=levels - 2)
    pools = np.concatenate([result.clicked, result.not_clicked])
    assert (np.abs(pools) @ np.abs(result.theta)).max() <= 1
    assert result.theta_norm < 10


def test_reservoir_is_uniform_and_bounded() -> None:
    rng = np.random.default_rng(0)
    counts = np.zeros(100)
    ids = np.repeat(np.arange(100)[:, None], len(CATEGORICAL), axis=1)
    for _ in range(2_000):
        reservoir = criteo._Reservoir(size=10)
        for block in np.array_split(ids, 7):
            reservoir.show(rng.random(len(block)), block)
            assert sum(map(len, reservoir._keys)) < 20
        sample = reservoir.sample()[:, 0]
        assert len(np.unique(sample)) == 10
        counts[sample] += 1
    # Binomial(2000, 0.1) per row: standard deviation 13.4.
    assert np.abs(counts - 200).max() < 5 * 13.4


def test_progress_reports_rows_and_bytes(standin: Path) -> None:
    calls: list[tuple[int, float]] = []
    load_criteo(
        standin, dim=5, pool_size=100, sample_size=1_000, progress=lambda *call: calls.append(call)
    )
    rows, fractions = zip(*calls, strict=True)
    assert len(calls) > 2
    assert list(rows) == sorted(set(rows))
    assert rows[-1] == ROWS
    assert list(fractions) == sorted(fractions)
    # The reader reads ahead: it may have read all of this small file by the first call.
    assert 0 < fractions[0] <= 1
    assert fractions[-1] == 1


# Its errors


def edit(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], None]:
    return lambda path: (write(path, change(small_log())), None)[1]


def cut(path: Path) -> None:
    path.write_bytes(write(path, small_log()).read_bytes()[:-20])


def damage(path: Path) -> None:
    data = bytearray(write(path, small_log()).read_bytes())
    data[-6] ^= 0xFF  # in the checksum
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(gzip.compress(b"")), "empty archive: it has no header"),
        (lambda path: path.write_text("timestamp\tuid\n"), "is not a gzip file"),
        (lambda path: path.write_bytes(b"\x1f\x8b\x08\x00"), "is truncated"),
        (lambda path: path.write_bytes(b"\x1f\x8b" + bytes(20)), "is a damaged archive"),
        (cut, "is truncated"),
        (damage, "is a damaged archive"),
        (edit(lambda log: log.drop(columns=["cat3", "uid"])), "missing uid, cat3; unexpected none"),
        (edit(lambda log: log.rename(columns={"cat9": "dog"})), "missing cat9; unexpected dog"),
        (edit(lambda log: log.assign(extra=1)), "missing none; unexpected extra"),
        (edit(lambda log: log[list(COLUMNS[::-1])]), "another order"),
        (edit(lambda log: log[:0]), "a header and no rows"),
        (edit(lambda log: log.assign(click=0)), "no clicked rows among its 600"),
        (edit(lambda log: log.assign(click=1)), "no rows without a click among its 600"),
        (edit(lambda log: log.assign(click=2)), "click must be 0 or 1, got 2"),
        (edit(lambda log: log.assign(cat4="x9")), "column cat4: .*invalid value 'x9'"),
        (edit(lambda log: log.assign(campaign=None)), "column campaign: .*invalid value ''"),
        (edit(lambda log: log[:40]), "too small for dim=50"),
    ],
)
def test_a_file_that_is_not_the_log_is_refused(
    tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "log.gz"
    make(path)
    with pytest.raises(CriteoFileError, match=message) as caught:
        load_criteo(path)
    assert str(path) in str(caught.value)


def test_a_short_row_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "log.gz", small_log())
    path.write_bytes(path.read_bytes() + gzip.compress(b"1\t2\t3\n"))
    with pytest.raises(CriteoFileError, match=r"cannot be parsed: .*Expected 22 columns, got 3"):
        load_criteo(path)


def test_a_missing_file_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_criteo(tmp_path / "none.gz")


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (partial(load_criteo, dim=0), "dim must be at least 1, got 0"),
        (partial(load_criteo, pool_size=0), "pool_size must be at least 1, got 0"),
        (partial(load_criteo, sample_size=99), "sample_size must be at least pool_size=10000, got"),
    ],
)
def test_sizes_are_checked(
    load: Callable[[Path], CriteoContexts], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "none.gz")


# The stand-in


def test_standin_is_the_same_bytes_for_a_seed(tmp_path: Path) -> None:
    for name, seed in (("a.gz", 0), ("b.gz", 0), ("c.gz", 1)):
        write_standin(tmp_path / name, rows=2_000, seed=seed)
    first, second, other = ((tmp_path / name).read_bytes() for name in ("a.gz", "b.gz", "c.gz"))
    assert first == second
    assert first != other


def test_standin_has_the_shape_of_the_log(table: pd.DataFrame) -> None:
    assert tuple(table.columns) == COLUMNS
    assert len(table) == ROWS
    assert table["click"].mean() == pytest.approx(criteo_standin.CLICK_RATE, abs=0.008)
    assert table["timestamp"].is_monotonic_increasing
    assert table["timestamp"].min() >= 0
    assert 0.999 * SECONDS < table["timestamp"].max() < SECONDS
    assert ROWS / table["uid"].nunique() == pytest.approx(2.7, rel=0.15)


@pytest.mark.parametrize("name", CATEGORICAL)
def test_standin_has_the_levels_and_the_skew(table: pd.DataFrame, name: str) -> None:
    shares = table[name].value_counts(normalize=True).to_numpy()
    levels = LEVELS[name]
    harmonic = (1 / np.arange(1, levels + 1)).sum()
    # At either end a level may differ from Zipf's law by half of the largest segment, 6%.
    assert shares[0] == pytest.approx(1 / harmonic, abs=0.065)
    assert len(shares) <= levels
    if levels <= 70:
        assert len(shares) == levels
    else:  # because of the 3,000 stray rows
        assert len(shares) > min(levels / 3, 1_000)


def test_standin_campaign_tells_most_of_the_categories(table: pd.DataFrame) -> None:
    for name in CATEGORICAL[1:]:
        most = table.groupby("campaign")[name].agg(lambda level: level.value_counts().iloc[0])
        assert most.sum() / len(table) > 0.8


def test_standin_columns_agree_with_each_other(table: pd.DataFrame) -> None:
    converted = table["conversion"] == 1
    led = converted & (table["click"] == 1)
    for name in ("conversion_timestamp", "conversion_id"):
        assert ((table[name] == -1) == ~converted).all()
    for name in ("click_pos", "click_nb"):
        assert ((table[name] == -1) == ~led).all()
    assert (table["conversion_timestamp"] > table["timestamp"])[converted].all()
    assert (table["click_pos"] >= 0)[led].all()
    assert (table["click_pos"] < table["click_nb"])[led].all()
    assert not (table["attribution"] == 1)[~led].any()
    assert (table["time_since_last_click"] >= -1).all()
    assert (table[["cost", "cpo"]] >= 0).all(axis=None)


def test_standin_carries_a_signal_in_many_features(contexts: CriteoContexts) -> None:
    pools = np.concatenate([contexts.clicked, contexts.not_clicked])
    assert payoffs(contexts).std() > 0.12
    assert (contexts.clicked @ contexts.theta).mean() > (
        contexts.not_clicked @ contexts.theta
    ).mean() + 0.1
    shares = (np.abs(contexts.theta) * pools.std(axis=0)) ** 2
    assert shares.sum() ** 2 / (shares**2).sum() > 4  # effective number of features
    assert contexts.residual_variance < 0.17  # of 0.23


def test_standin_has_a_spectrum_that_decays(contexts: CriteoContexts) -> None:
    pools = np.concatenate([contexts.clicked, contexts.not_clicked])
    variances = np.sort(pools.var(axis=0))[::-1]
    assert variances[:20].sum() > 0.95 * variances.sum()  # independent columns: 0.64
    assert variances[-1] > 0


def test_standin_is_recognised_and_a_log_is_not(
    contexts: CriteoContexts, table: pd.DataFrame, tmp_path: Path
) -> None:
    assert contexts.standin
    plain, mixed = small_log(), pd.concat([small_log(), table[:20]])
    assert not load_criteo(write(tmp_path / "plain.gz", plain), dim=5).standin
    assert load_criteo(write(tmp_path / "mixed.gz", mixed), dim=5).standin
    shuffled = table.sample(2_000, random_state=0)
    assert load_criteo(write(tmp_path / "shuffled.gz", shuffled), dim=5).standin


def test_standin_appears_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "standin.gz"
    path.write_bytes(b"before")
    monkeypatch.setattr(criteo_standin, "_costs", fail)
    with pytest.raises(KeyboardInterrupt):
        write_standin(path, rows=1_000)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_standin_needs_a_row(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rows must be at least 1, got 0"):
        write_standin(tmp_path / "standin.gz", rows=0)


# Memory that Arrow and NumPy requested. The resident memory of a process also counts memory that an
# allocator keeps for later, which differs by 60 MB between two readings of one file.
MEASURE = """
import sys, time, tracemalloc
import pyarrow
from driftbandits.environments.criteo import load_criteo
tracemalloc.start()
start = time.perf_counter()
rows = load_criteo(sys.argv[1], sample_size=20_000).rows_read
seconds = time.perf_counter() - start
text, arrays = pyarrow.default_memory_pool().max_memory(), tracemalloc.get_traced_memory()[1]
print(rows, seconds, text / 2**20, arrays / 2**20)
"""


@pytest.mark.thorough
def test_a_million_rows_more_load_in_bounded_time_and_memory(tmp_path: Path) -> None:
    peaks = []
    for rows in (500_000, 1_500_000):
        path = tmp_path / f"{rows}.gz"
        write_standin(path, rows=rows)
        output = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
        ).stdout.split()
        assert int(output[0]) == rows
        assert float(output[1]) < 60
        peaks.append([float(megabytes) for megabytes in output[2:]])
    # A million rows are 140 MB of text; only the sample and the blocks in flight are held.
    assert np.subtract(peaks[1], peaks[0]).max() < 5
    assert peaks[1][0] < 50
