"""Every path of the service over real HTTP, on the real house."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from service_running import OFFERED, PLAIN, connected

DECIDE = "/v1/policies/plain/decisions"


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with connected() as client:
        yield client


def decide(http: httpx.Client, **more: object) -> httpx.Response:
    return http.post(DECIDE, json={"actions": OFFERED, **more})


def test_a_decision_has_everything_that_the_contract_names(http: httpx.Client) -> None:
    answer = decide(http, event_id="whole", context={}).json()
    assert answer["event_id"] == "whole"
    assert answer["action"] == answer["ranking"][0]
    assert sorted(answer["ranking"]) == ["a", "b", "c"]
    assert answer["propensity"] == answer["probabilities"][0] == 1.0
    assert sum(answer["probabilities"]) == 1.0
    assert answer["mode"] == "live"
    assert answer["repeated"] is False
    assert answer["policy_version"] >= 1
    assert answer["round"] >= 1


def test_events_get_names_of_their_own(http: httpx.Client) -> None:
    first, second = decide(http).json()["event_id"], decide(http).json()["event_id"]
    assert first != second


def test_excluded_actions_are_not_shown(http: httpx.Client) -> None:
    answer = decide(http, exclude=["a", "b"]).json()
    assert answer["ranking"] == ["c"]


def test_a_reward_changes_the_very_next_decision() -> None:
    with connected(policies={"plain": PLAIN, "untaught": PLAIN}) as http:
        first = decide(http).json()
        same = http.post("/v1/policies/untaught/decisions", json={"actions": OFFERED}).json()
        assert first["action"] == same["action"]
        http.post(f"/v1/decisions/{first['event_id']}/reward", json={"reward": -50.0})
        taught = decide(http).json()["action"]
        untaught = http.post("/v1/policies/untaught/decisions", json={"actions": OFFERED}).json()
        assert untaught["action"] == first["action"]
        assert taught != first["action"]


# --- the table of cases


def test_the_same_event_again_gives_the_first_answer_marked(http: httpx.Client) -> None:
    first = decide(http, event_id="again")
    second = decide(http, event_id="again")
    assert second.status_code == 200
    assert second.json() == {**first.json(), "repeated": True}


def test_the_same_event_with_another_body_conflicts(http: httpx.Client) -> None:
    decide(http, event_id="other")
    answer = decide(http, event_id="other", exclude=["a"])
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_reward_is_learned_once(http: httpx.Client) -> None:
    decide(http, event_id="once")
    answers = [http.post("/v1/decisions/once/reward", json={"reward": 0.5}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.json()["status"] for answer in answers] == ["learned", "duplicate"]


def test_another_reward_conflicts(http: httpx.Client) -> None:
    decide(http, event_id="another")
    http.post("/v1/decisions/another/reward", json={"reward": 0.5})
    assert http.post("/v1/decisions/another/reward", json={"reward": 0.6}).status_code == 409


def test_another_reward_amends_where_the_policy_says_so() -> None:
    with connected(policies={"plain": {**PLAIN, "rewards": "last"}}) as http:
        decide(http, event_id="e")
        for value in (0.5, 0.6):
            answer = http.post("/v1/decisions/e/reward", json={"reward": value})
            assert answer.json()["status"] == "learned"


def test_a_reward_of_an_unknown_event_is_not_found(http: httpx.Client) -> None:
    assert http.post("/v1/decisions/nobody/reward", json={"reward": 1}).status_code == 404
    assert http.post("/v1/decisions/nobody/activate").status_code == 404


def test_a_deferred_event_counts_once_it_is_activated(http: httpx.Client) -> None:
    decide(http, event_id="deferred", defer=True)
    early = http.post("/v1/decisions/deferred/reward", json={"reward": 1.0})
    assert (early.status_code, early.json()["status"]) == (200, "not_activated")
    first = http.post("/v1/decisions/deferred/activate")
    second = http.post("/v1/decisions/deferred/activate")
    assert first.json() == {"event_id": "deferred", "status": "activated"}
    assert second.json()["status"] == "already_active"


def test_a_late_reward_is_told_so() -> None:
    with connected(policies={"plain": {**PLAIN, "wait": 0.001}}) as http:
        decide(http, event_id="late")
        decide(http, event_id="later")
        answer = http.post("/v1/decisions/late/reward", json={"reward": 1.0})
        assert (answer.status_code, answer.json()["status"]) == (200, "too_late")


# --- batches


def test_a_batch_of_decisions_is_answered_in_order(http: httpx.Client) -> None:
    entries = [{"event_id": f"batch-{n}", "actions": OFFERED} for n in range(40)]
    entries[3] = {"event_id": "batch-2", "actions": ["a"]}  # conflicts with the one before
    answer = http.post(f"{DECIDE}:batch", json={"decisions": entries})
    results = answer.json()["results"]
    assert [result["status"] for result in results] == [200] * 3 + [409] + [200] * 36
    assert results[3]["problem"]["status"] == 409
    names = [result["answer"]["event_id"] for result in results if "answer" in result]
    assert names == [f"batch-{n}" for n in range(40) if n != 3]


def test_a_batch_of_rewards_is_answered_in_order(http: httpx.Client) -> None:
    decide(http, event_id="first"), decide(http, event_id="second")
    rewards = [("first", 1.0), ("nobody", 1.0), ("second", 0.0), ("first", 1.0)]
    body = {"rewards": [{"event_id": name, "reward": value} for name, value in rewards]}
    results = http.post("/v1/rewards:batch", json=body).json()["results"]
    assert [result["status"] for result in results] == [200, 404, 200, 200]
    statuses = [result.get("answer", {}).get("status") for result in results]
    assert statuses == ["learned", None, "learned", "duplicate"]


def test_a_colon_may_be_escaped(http: httpx.Client) -> None:
    assert http.post("/v1/rewards%3Abatch", json={"rewards": []}).status_code == 422


# --- policies and actions


def test_a_policy_from_shadow_to_live_and_away(http: httpx.Client) -> None:
    path = "/v1/policies/from%20shadow%2Fto%20live"
    made = http.put(path, json={**PLAIN, "mode": "shadow"})
    assert made.status_code == 200, made.text
    assert (made.json()["name"], made.json()["mode"]) == ("from shadow/to live", "shadow")
    shown = http.post(f"{path}/decisions", json={"actions": OFFERED, "baseline": "b"}).json()
    assert (shown["action"], shown["mode"]) == ("b", "shadow")
    assert http.post(f"{path}/promote").json()["mode"] == "live"
    assert http.get(path).json()["mode"] == "live"
    assert made.json()["name"] in [p["name"] for p in http.get("/v1/policies").json()["policies"]]
    assert http.delete(path).status_code == 204
    assert http.get(path).status_code == 404


def test_an_action_is_described_once_and_offered_by_its_id(http: httpx.Client) -> None:
    path = "/v1/policies/plain/actions"
    for name in "ab":
        assert http.put(f"{path}/{name}", json={"features": {"kind": name}}).status_code == 200
    answer = http.post(DECIDE, json={"actions": ["a", "b"]})
    assert sorted(answer.json()["ranking"]) == ["a", "b"]
    assert http.delete(f"{path}/b").status_code == 204
    assert http.post(DECIDE, json={"actions": ["a", "b"]}).status_code in (404, 422)


def test_events_are_paged_through(http: httpx.Client) -> None:
    decide(http), decide(http), decide(http)
    http.put("/v1/policies/other", json=PLAIN)
    http.post("/v1/policies/other/decisions", json={"actions": OFFERED})
    path, found, after, more = "/v1/policies/plain/events", [], 0, True
    while more:
        page = http.get(path, params={"after": after, "limit": 7}).json()
        assert len(page["events"]) <= 7
        found += page["events"]
        more, after = page["next"] > after, page["next"]
    numbers = [event["number"] for event in found]
    assert len(numbers) >= 3
    assert numbers == sorted(set(numbers))
    assert {event["policy"] for event in found} == {"plain"}
    assert after > numbers[-1]  # the last events are of the other policy


def test_a_snapshot_is_written(http: httpx.Client) -> None:
    assert http.post("/v1/policies/plain/snapshot").json()["event"] >= 1


def test_diagnostics_and_metrics_count_decisions(http: httpx.Client) -> None:
    decide(http)
    assert http.get("/v1/policies/plain/diagnostics").status_code == 200
    lines = http.get("/metrics").text.splitlines()
    served = [
        line for line in lines if 'path="/v1/policies/{policy}/decisions",status="200"' in line
    ]
    assert float(served[0].rpartition(" ")[2]) >= 1
    assert any(line.startswith("driftbandits_commit_seconds_count ") for line in lines)
    assert any(
        line.startswith("driftbandits_policy_") and 'policy="plain"' in line for line in lines
    )


def test_metrics_have_actions_as_labels(http: httpx.Client) -> None:
    named = [{**OFFERED[0], "id": 'a "17"/é'}]
    assert decide(http, actions=named).status_code == 200
    lines = http.get("/metrics").text.splitlines()
    shares = [line for line in lines if line.startswith("driftbandits_policy_share")]
    labelled = r'driftbandits_policy_share{policy="plain",action="a \"17\"/é"} '
    assert any(line.startswith(labelled) for line in shares)
    assert all(line.startswith("driftbandits_policy_share{") for line in shares)


# --- health, metrics, dashboard


def test_health_and_readiness(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "ok"}
    assert http.get("/readyz").json() == {"status": "ready"}
    assert http.head("/healthz").content == b""


def test_the_dashboard_is_kept_to_itself(http: httpx.Client) -> None:
    page = http.get("/dashboard")
    assert page.headers["content-type"] == "text/html"
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert http.get("/dashboard/page.js").status_code == 200
    assert http.get("/dashboard/..%2f__init__.py").status_code == 404


def test_the_dashboard_is_told_of_all_policies_every_second(http: httpx.Client) -> None:
    with http.stream("GET", "/dashboard/events") as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        lines = (line for line in stream.iter_lines() if line)
        for _ in range(2):
            line = next(lines)
            assert line.startswith('data: {"time":')
            assert '"plain":' in line
