"""Settings in one TOML file, checked before anything starts, and their commands."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from driftbandits.cli import cli
from driftbandits.features import Features, OneHot
from driftbandits.service.house import House
from driftbandits.service.http.keys import hashed, is_hash, new_key
from driftbandits.service.http.limits import Limits
from driftbandits.service.http.listening import Address
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.policy_settings import PolicySettings
from driftbandits.service.running import declare
from driftbandits.service.settings import EXAMPLE, Settings, SettingsError, demo, read_settings
from driftbandits.service.settings.reading import parse_settings

HASH = hashed("a-key-for-the-tests-only")


def parsed(text: str) -> Settings:
    return parse_settings(tomllib.loads(text), folder=Path("/folder"))


def test_the_example_is_right_and_shows_every_key(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    settings = read_settings(path)
    assert settings.storage.folder == tmp_path / "driftbandits-data"
    assert settings.policies["news"].features is not None
    shown = EXAMPLE.replace("# ", "")
    for key in (*Limits._fields, *PolicySettings.__struct_fields__, "snapshot_every", "hash"):
        assert key in shown


def test_what_the_example_comments_out_is_the_default() -> None:
    uncommented = [
        line.removeprefix("# ")
        for line in EXAMPLE.splitlines()
        if line.startswith("# ") and " = " in line and "features" not in line
    ]
    limits = "\n".join(line for line in uncommented if line.split(" = ")[0] in Limits._fields)
    assert parsed(f"[server.limits]\n{limits}").limits == Limits()


def test_an_empty_file_is_a_server_without_policies() -> None:
    assert parsed("") == Settings()


def test_everything_can_be_set() -> None:
    settings = parsed(
        f"""
        [server]
        listen = "[::1]:9000"
        limits = {{ actions = 7, drain_seconds = 0.5 }}
        [storage]
        folder = "data"
        snapshot_every = 5
        keep_days = 90
        [[keys]]
        name = "web"
        role = "writer"
        hash = "{HASH}"
        policy = "p"
        [policies.p]
        default = "none"
        rule = "wait"
        mode = "shadow"
        """
    )
    assert settings.listen == Address("::1", 9000)
    assert settings.limits == Limits(actions=7, drain_seconds=0.5)
    assert settings.storage == (Path("/folder/data"), 5, 90)
    assert settings.keys[0].policy == "p"
    assert settings.policies["p"].default is None
    assert settings.policies["p"].mode == "shadow"


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_features_may_be_a_file_of_their_own(tmp_path: Path, suffix: str) -> None:
    features = Features(action={"kind": OneHot(["a"])})
    text = json.dumps(features.to_dict()) if suffix == ".json" else features.to_toml()
    (tmp_path / f"features{suffix}").write_text(text, encoding="utf-8")
    path = tmp_path / "service.toml"
    path.write_text(f'[policies.p]\nfeatures = "features{suffix}"', encoding="utf-8")
    assert read_settings(path).policies["p"].declaration() == features


KEY = f'name = "n"\nrole = "reader"\nhash = "{HASH}"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sever]", "the file: unknown key 'sever'; it takes server, storage, keys, policies"),
        ("server = 3", "server must be a table, got 3"),
        ("[server]\nport = 3", "server: unknown key 'port'; it takes listen, limits"),
        ("[server]\nlisten = 8080", "server.listen must be a text, got 8080"),
        ('[server]\nlisten = "8080"', "server: listen must be HOST:PORT, got '8080'"),
        ('[server]\nlisten = "a:99999"', "server: listen must be HOST:PORT, got 'a:99999'"),
        ('[server]\nlisten = "0.0.0.0:80"', "server.listen must be a loopback address as long as"),
        ("[server.limits]\nbody = 3", "server.limits: unknown key 'body'; it takes body_bytes"),
        ("[server.limits]\nbatch = 0", "server.limits.batch must be a whole number above 0, got 0"),
        ("[server.limits]\nbatch = 1.5", "server.limits.batch must be a whole number above 0"),
        ("[server.limits]\nidle_seconds = true", "server.limits.idle_seconds must be a number"),
        ("[storage]\nfile = 'x'", "storage: unknown key 'file'; it takes folder, snapshot_every"),
        ("[storage]\nsnapshot_every = -1", "storage.snapshot_every must be a whole number above 0"),
        ("keys = 'k'", "keys must be tables, each under [[keys]], got 'k'"),
        ("[[keys]]\nname = 'x'", "keys[0]: the key role is missing"),
        (f"[[keys]]\n{KEY}\nrle = 'x'", "keys[0]: unknown key 'rle'; it takes name, role, hash"),
        (f"[[keys]]\n{KEY}".replace("reader", "boss"), "keys[0].role must be one of reader"),
        (f"[[keys]]\n{KEY}[[keys]]\n{KEY}", "keys: name must differ from key to key"),
        (f"[[keys]]\n{KEY}policy = 'x'", "keys: policy of n must be one of the policies (none)"),
        ("[policies]\nnews = 3", "policies.news must be a table, got 3"),
        ("[policies.news]\nwaits = 3", "policies.news: unknown key 'waits'; it takes features"),
        ("[policies.news]\nwait = -3", "policies.news: wait must be"),
        ("[policies.news]\nlearner = 'X'", "policies.news: learner must be one of"),
        ("[policies.news]\nfeatures = 'no.json'", "policies.news.features: /folder/no.json"),
        ("[policies.news.features.context.x]\nkind = 'y'", "policies.news: features: context.x"),
        ("[policies.news.config]\ngamma = 3", "policies.news: config:"),
    ],
)  # fmt: skip
def test_an_error_names_table_and_key(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parsed(text)
    assert str(refused.value).startswith(message)


def test_a_key_in_the_place_of_its_hash_is_not_shown() -> None:
    secret = new_key()
    with pytest.raises(SettingsError, match="must be sha256") as refused:
        parsed(f'[[keys]]\nname = "n"\nrole = "reader"\nhash = "{secret}"')
    assert secret not in str(refused.value)


def test_the_demo_needs_no_file() -> None:
    assert demo().listen.local
    assert list(demo().policies) == ["demo"]


# --- from settings to a house


def test_a_declared_policy_is_made_once_and_changed_where_it_differs() -> None:
    house = House.open(MemoryStore())
    for settings, version in (
        (PolicySettings(), 1),
        (PolicySettings(), 1),
        (PolicySettings(wait=9.0), 2),
    ):
        declare(house, "p", settings)
        assert house.policy("p").version == version


def test_a_promoted_policy_stays_promoted() -> None:
    house, shadow = House.open(MemoryStore()), PolicySettings(mode="shadow")
    declare(house, "p", shadow)
    house.promote("p")
    declare(house, "p", shadow)
    assert house.policy("p").mode == "live"
    declare(house, "p", PolicySettings(mode="shadow", wait=9.0))
    assert house.policy("p").mode == "shadow"


# --- commands


def run(*arguments: str, answer: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(cli, arguments, input=answer)
    return done.exit_code, done.output


def test_init_writes_what_check_finds_right(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    assert run("init", str(path))[0] == 0
    assert run("init", str(path)) == (2, f"Error: {path} already exists; --force replaces it\n")
    assert run("init", str(path), "--force")[0] == 0
    code, said = run("check", str(path))
    assert code == 0
    assert "policy news: AdaptiveLinUCB, live, waits 1800 s" in said


def test_check_tells_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text("[policies.news]\nwait = 'long'", encoding="utf-8")
    code, said = run("check", str(path))
    assert code == 2
    assert "policies.news" in said
    assert "wait" in said
    path.write_text("[policies", encoding="utf-8")
    assert run("check", str(path))[0] == 2
    assert run("check", str(tmp_path / "missing.toml"))[0] == 2


def test_key_prints_lines_for_the_settings() -> None:
    code, said = run("key", "--name", "n", "--role", "reader")
    assert code == 0
    lines = said.splitlines()
    secret = lines[0].rpartition(" ")[2]
    settings = parsed("\n".join(lines[1:]))
    assert (settings.keys[0].name, settings.keys[0].role) == ("n", "reader")
    assert settings.keys[0].hash == hashed(secret)


def test_key_takes_one_that_exists_without_showing_it() -> None:
    secret = "0123456789abcdef0123456789abcdef"  # noqa: S105 - as Personalizer's keys look
    code, said = run("key", "--existing", "--policy", "p", answer=f"{secret}\n")
    assert code == 0
    assert secret not in said
    assert is_hash(said.split('hash = "')[1].partition('"')[0])
    assert run("key", "--existing", answer="short\n")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "0.0.0.0:0"], "loopback address as long as there are no keys"),
        (["--listen", "nonsense"], "--listen: listen must be HOST:PORT"),
        (["missing.toml"], "does not exist"),
    ],
)
def test_serve_refuses_before_it_starts(tmp_path: Path, arguments: list[str], message: str) -> None:
    code, said = run("serve", "--data", str(tmp_path / "data"), *arguments)
    assert code == 2
    assert message in " ".join(said.split())
    assert not (tmp_path / "data").exists()
