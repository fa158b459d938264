"""Keys and roles: who may call what, and secrets that nobody can see."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import httpx
import pytest

from driftbandits.service.http.keys import Key, Keyring, Role, hashed, new_key
from service_running import OFFERED, PLAIN, connected

SECRETS: dict[Role, str] = {"reader": new_key(), "writer": new_key(), "admin": new_key()}
KEYS = [Key(name=role, role=role, hash=hashed(secret)) for role, secret in SECRETS.items()]

# Every path with a key: method, path, body, lowest role.
CALLS: list[tuple[str, str, object, Role]] = [
    ("POST", "/v1/policies/plain/decisions", {"actions": OFFERED}, "writer"),
    ("POST", "/v1/policies/plain/decisions:batch", {"decisions": []}, "writer"),
    ("POST", "/v1/decisions/e/reward", {"reward": 1}, "writer"),
    ("POST", "/v1/decisions/e/activate", None, "writer"),
    ("POST", "/v1/rewards:batch", {"rewards": []}, "writer"),
    ("GET", "/v1/policies", None, "reader"),
    ("GET", "/v1/policies/plain", None, "reader"),
    ("PUT", "/v1/policies/new", {"learner": "none"}, "admin"),
    ("DELETE", "/v1/policies/none", None, "admin"),
    ("POST", "/v1/policies/none/promote", None, "admin"),
    ("PUT", "/v1/policies/none/actions/a", {}, "writer"),
    ("DELETE", "/v1/policies/none/actions/a", None, "writer"),
    ("POST", "/v1/policies/none/snapshot", None, "admin"),
    ("POST", "/v1/backups", None, "admin"),
    ("GET", "/v1/policies/plain/events", None, "reader"),
    ("GET", "/v1/policies/plain/diagnostics", None, "reader"),
    ("GET", "/metrics", None, "reader"),
    ("POST", "/personalizer/v1.0/rank", {"actions": []}, "writer"),
    ("POST", "/personalizer/v1.0/events/e/reward", {"value": 1}, "writer"),
    ("POST", "/personalizer/v1.0/events/e/activate", None, "writer"),
]


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with connected(keys=KEYS) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.mark.parametrize(("method", "path", "body", "least"), CALLS)
def test_each_call_needs_its_role(
    http: httpx.Client, method: str, path: str, body: object, least: Role
) -> None:
    roles = list(SECRETS)
    for role in roles:
        answer = http.request(method, path, json=body, headers=bearer(SECRETS[role]))
        if roles.index(role) < roles.index(least):
            assert answer.status_code == 403, (role, path)
        else:
            assert answer.status_code not in (401, 403), (role, path)
    assert http.request(method, path, json=body).status_code == 401
    assert http.request(method, path, json=body, headers=bearer(new_key())).status_code == 401


def test_every_path_with_a_role_is_in_the_table_above(http: httpx.Client) -> None:
    paths = http.get("/openapi.json").json()["paths"]
    guarded = [(p, m) for p, item in paths.items() for m in item if "security" in item[m]]
    assert len(guarded) == len(CALLS) + 1  # /dashboard/events is not in CALLS: it never ends


def test_the_dashboard_needs_a_key_for_its_data_alone(http: httpx.Client) -> None:
    assert http.get("/dashboard").status_code == 200
    assert http.get("/dashboard/events").status_code == 401
    with http.stream("GET", "/dashboard/events", headers=bearer(SECRETS["reader"])) as stream:
        assert stream.status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json"])
def test_health_needs_no_key(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code == 200


@pytest.mark.parametrize("header", ["x-api-key", "ocp-apim-subscription-key"])
def test_other_headers_carry_keys_too(http: httpx.Client, header: str) -> None:
    assert http.get("/v1/policies", headers={header: SECRETS["reader"]}).status_code == 200
    assert http.get("/v1/policies", headers={header: "wrong"}).status_code == 401


@pytest.mark.parametrize(
    "value",
    ["", "Bearer", "Basic abc", SECRETS["admin"], "Bearer " + KEYS[2].hash],
    ids=["nothing", "no key", "another scheme", "no scheme", "a hash"],
)
def test_no_other_authorization_is_one(http: httpx.Client, value: str) -> None:
    answer = http.get("/v1/policies", headers={"authorization": value})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_keys_and_bodies_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with connected(keys=KEYS, policies={"plain": PLAIN}) as http:
        for headers in (bearer(SECRETS["admin"]), bearer("a-wrong-key-of-someone")):
            http.get("/v1/policies", headers=headers)
            http.put("/v1/policies/x", json={"seed": "a-private-body"}, headers=headers)
    ours = [r for r in caplog.records if not r.name.startswith(("httpx", "httpcore"))]
    text = "\n".join(record.getMessage() for record in ours)
    for secret in (*SECRETS.values(), "a-wrong-key-of-someone", "a-private-body"):
        assert secret not in text


def test_only_hashes_are_kept() -> None:
    keyring = Keyring(KEYS)
    held = repr([vars(keyring), KEYS])
    assert not any(secret in held for secret in SECRETS.values())


def test_short_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 20 characters"):
        hashed("password")
