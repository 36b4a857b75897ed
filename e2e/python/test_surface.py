"""What a client finds before it asks anything: health, models, and the demo without configuration."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from harness import DIALECTS, Server, ask, client


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """`callgate serve` without any configuration, neither the project's nor the user's."""
    empty = str(tmp_path_factory.mktemp("empty"))
    server = Server(
        "serve", "--listen", "127.0.0.1:0",
        env={"HOME": empty, "XDG_CONFIG_HOME": empty, "CALLGATE_CONFIG": ""}, cwd=empty,
    )
    yield server
    server.stop()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_health(gateways, dialect):
    with urllib.request.urlopen(gateways[dialect].url + "/healthz", timeout=10) as reply:
        assert reply.status == 200


def test_models_of_an_upstream(api):
    for model in api("xml").models.list():
        assert model.object == "model" and model.id


def test_the_demo_answers_without_configuration(bare, mark, stream):
    api = client(bare.url)
    ids = [model.id for model in api.models.list()]
    assert "demo/plain" in ids
    assert all(id.startswith("demo/") for id in ids)
    turn = ask(
        api, stream, model="demo/plain", messages=[{"role": "user", "content": mark}]
    )
    assert turn.error is None and turn.text and turn.finish == "stop"


def test_paths_work_without_v1(bare, mark):
    api = client(bare.url).with_options(base_url=bare.url)
    turn = ask(api, True, model="demo/plain", messages=[{"role": "user", "content": mark}])
    assert turn.error is None and turn.text


def test_an_unknown_path_is_an_error_object(bare):
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(bare.url + "/v1/nothing/here", timeout=10)
    assert raised.value.code == 404
    body = raised.value.read().decode()
    assert '"error"' in body and "/v1/nothing/here" in body
