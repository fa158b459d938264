"""Personalizer's published clients, with only the address changed, and its API."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from azure.cognitiveservices.personalizer import PersonalizerClient
from azure.cognitiveservices.personalizer.models import (
    ErrorResponseException,
    RankableAction,
    RankRequest,
)
from msrest.authentication import CognitiveServicesCredentials
from msrest.exceptions import HttpOperationError

from driftbandits.service.http.keys import Key, hashed, new_key
from service_running import connected, serving

SECRET, OTHER = new_key(), new_key()
KEYS = [
    Key(name="web", role="writer", hash=hashed(SECRET), policy="articles"),
    Key(name="shadow", role="writer", hash=hashed(OTHER), policy="apprentice"),
]
# No declaration of features, because Personalizer has none.
POLICIES: dict[str, dict[str, Any]] = {
    "articles": {"floor": 0.2},
    "apprentice": {"floor": 0.2, "mode": "shadow"},
}
IDS = ["NewsArticle", "SportsArticle", "EntertainmentArticle"]
EVENT = "75269AD0-BFEE-4598-8196-C57383D38E10"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(policies=POLICIES, keys=KEYS) as server:
        yield server.url


def request(**more: Any) -> RankRequest:
    actions = [
        RankableAction(id=id, features=[{"kind": id[:4]}, {"length": {"minutes": len(id)}}])
        for id in IDS
    ]
    context = [{"timeOfDay": "Morning"}, {"device": {"mobile": True}}]
    return RankRequest(actions=actions, context_features=context, **more)


def client_of(url: str, key: str = SECRET) -> Any:  # the client has no types
    return PersonalizerClient(url, CognitiveServicesCredentials(key))  # type: ignore[no-untyped-call]


def test_the_python_client_holds_a_session(url: str) -> None:
    client = client_of(url)
    asked = request(excluded_actions=["SportsArticle"], event_id="python-1")
    first = client.rank(asked)
    assert first.event_id == "python-1"
    check_ranking([(one.id, one.probability) for one in first.ranking], first.reward_action_id)
    assert client.rank(asked).reward_action_id == first.reward_action_id
    assert client.events.reward("python-1", 1.0, raw=True).response.status_code == 204
    assert client.events.reward("python-1", 1.0, raw=True).response.status_code == 204

    later = client.rank(request(defer_activation=True), raw=True)
    assert later.response.status_code == 201
    name = later.output.event_id
    assert client.events.activate(name, raw=True).response.status_code == 204
    assert client.events.reward(name, 0.5, raw=True).response.status_code == 204

    odd = client.rank(request(event_id="a/b c?d%e"))
    client.events.reward(odd.event_id, 0.25)


def check_ranking(ranking: list[tuple[str, float]], shown: str) -> None:
    """Sports was excluded: it keeps its place with probability 0; the others have their true one.

    With a floor of 0.2 and two actions, that is 0.9 for the preferred action, and 0.1.
    """
    names, chances = zip(*ranking, strict=True)
    assert sorted(names) == sorted(IDS)
    assert (names[1], chances[1]) == ("SportsArticle", 0.0)
    assert sorted(chances) == pytest.approx([0.0, 0.1, 0.9])
    assert shown == names[0]


def test_the_python_client_understands_refusals(url: str) -> None:
    with pytest.raises(ErrorResponseException) as refused:
        client_of(url).rank(RankRequest(actions=[]))
    response: Any = refused.value.error
    error = response.error
    assert error.code == "BadRequest"
    assert "actions" in error.message
    with pytest.raises(HttpOperationError) as unknown:
        client_of(url).events.reward("nobody", 1.0)
    assert unknown.value.response.status_code == 404
    with pytest.raises(ErrorResponseException) as stranger:
        client_of(url, "wrong").rank(request())
    assert stranger.value.response.status_code == 401


def test_the_key_tells_the_policy_and_apprentices_show_the_baseline(url: str) -> None:
    client = client_of(url, OTHER)
    for excluded, baseline in (([], "NewsArticle"), (["NewsArticle"], "SportsArticle")):
        answer = client.rank(request(excluded_actions=excluded))
        assert answer.reward_action_id == baseline
        chances = {one.id: one.probability for one in answer.ranking}
        assert chances[baseline] == 1.0


@pytest.fixture(scope="module")
def javascript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client from npm and the session script."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("the JavaScript client needs node and npm")
    folder = tmp_path_factory.mktemp("javascript")
    packages = ["@azure/cognitiveservices-personalizer@2.0.1", "@azure/ms-rest-azure-js@2.1.0"]
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", *packages]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    shutil.copy(Path(__file__).parent / "personalizer" / "session.js", folder)
    return folder


def test_the_javascript_client_holds_a_session(url: str, javascript: Path) -> None:
    command = ["node", "session.js", url, SECRET]
    done = subprocess.run(command, cwd=javascript, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["first"]["status"] == 201
    assert said["first"]["eventId"] == EVENT
    ranking = [(one["id"], one["probability"]) for one in said["first"]["ranking"]]
    check_ranking(ranking, said["first"]["rewardActionId"])
    assert said["again"] == said["first"]["rewardActionId"]
    assert (said["reward"], said["deferred"], said["activated"]) == (204, 201, 204)
    assert said["odd"] == {"eventId": "js/a b?c%d", "reward": 204}
    assert said["empty"]["status"] == 400
    assert said["empty"]["body"]["error"]["code"] == "BadRequest"
    assert said["unknown"]["status"] == 404
    assert said["stranger"]["status"] == 401


def test_the_only_policy_needs_no_key_to_be_meant() -> None:
    with connected(policies={"articles": {}}) as http:
        body = {"actions": [{"id": "a"}, {"id": "b"}], "eventId": None, "excludedActions": None}
        answer = http.post("/personalizer/v1.0/rank", json=body)
        assert answer.status_code == 201
        assert answer.json()["rewardActionId"] in ("a", "b")
        made = http.put("/v1/policies/second", json={})
        assert made.status_code == 200
        refused = http.post("/personalizer/v1.0/rank", json=body)
        assert refused.status_code == 400
        assert "policy" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"actions": [{"id": "a"}], "eventId": "x" * 257},
        {"actions": [{"id": ""}]},
        {"actions": [{"id": "a", "features": {"not": "a list"}}]},
        {"actions": [{"id": "a"}], "contextFeatures": "no"},
        {"contextFeatures": []},
    ],
)
def test_errors_have_personalizers_shape(url: str, body: dict[str, Any]) -> None:
    headers = {"Ocp-Apim-Subscription-Key": SECRET}
    answer = httpx.post(f"{url}/personalizer/v1.0/rank", json=body, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "BadRequest"
    assert answer.json()["error"]["message"]
