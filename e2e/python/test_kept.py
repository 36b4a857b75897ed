"""Kept replies of the Responses API: the gateway keeps what its provider need not."""

from __future__ import annotations

import json
from typing import Any, Iterator

import openai
import pytest

from harness import Provider, Server, client
from test_responses import FLAT, RESULT, turn_of

DIALECTS = ("xml", "native")


def config(provider: Provider, dialect: str, store: str) -> str:
    return f"""
listen = "127.0.0.1:0"
store = "{store}"
[[provider]]
name = "p"
base_url = "{provider.url}/v1"
[[model]]
name = "*"
provider = "p"
dialect = "{dialect}"
"""


@pytest.fixture(params=DIALECTS)
def keeper(request, provider, tmp_path) -> Iterator[Any]:
    """`keeper()` starts a gateway on the same store; the last one is stopped at the end."""
    path = tmp_path / "callgate.toml"
    path.write_text(config(provider, request.param, str(tmp_path / "kept.db")))
    running: list[Server] = []

    def start() -> tuple[str, openai.OpenAI]:
        for server in running:
            server.stop()
        running[:] = [Server("serve", "--config", str(path), "--listen", "127.0.0.1:0")]
        return request.param, client(running[0].url)

    yield start
    for server in running:
        server.stop()


def test_a_conversation_goes_on_by_id(keeper, provider, mark, stream):
    dialect, api = keeper()
    request = {"model": f"{dialect}/weather", "tools": FLAT}
    first = turn_of(api, stream, input=f"How is the weather? ({mark})", **request)
    assert first.error is None
    [call] = first.items("function_call")
    # The gateway that is asked next is another process.
    _, api = keeper()
    second = turn_of(
        api, stream, previous_response_id=first.response.id,
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": RESULT}],
        **request,
    )
    assert second.error is None and second.text == "It is 21 degrees in Z\u00fcrich."
    assert second.response.previous_response_id == first.response.id
    sent = json.dumps(provider.requests(mark)[-1], ensure_ascii=False)
    assert mark in sent and call.call_id in sent and "clear < cloudy & \U0001f324" in sent
    third = turn_of(api, stream, previous_response_id=second.response.id, input="Thanks.", **request)
    assert third.error is None
    sent = json.dumps(provider.requests(mark)[-1], ensure_ascii=False)
    assert sent.index(mark) < sent.index("It is 21 degrees") < sent.index("Thanks.")


def test_kept_replies_are_listed_and_forgotten(keeper, mark, stream):
    dialect, api = keeper()
    turn = turn_of(
        api, stream, model=f"{dialect}/hello",
        input=[{"role": "user", "content": "One."}, {"role": "user", "content": mark}],
    )
    kept = api.responses.retrieve(turn.response.id)
    assert kept.output_text == turn.response.output_text and kept.status == "completed"
    items = list(api.responses.input_items.list(turn.response.id, limit=1, order="asc"))
    assert [item.content if isinstance(item.content, str) else item.content[0].text
            for item in items] == ["One.", mark]
    api.responses.delete(turn.response.id)
    for missing in (
        lambda: api.responses.retrieve(turn.response.id),
        lambda: api.responses.delete(turn.response.id),
        lambda: api.responses.input_items.list(turn.response.id),
        lambda: api.responses.cancel(turn.response.id),
    ):
        with pytest.raises(openai.NotFoundError):
            missing()
    with pytest.raises(openai.BadRequestError) as caught:
        api.responses.create(
            model=f"{dialect}/hello", input="?", previous_response_id=turn.response.id
        )
    assert caught.value.param == "previous_response_id"


def test_what_is_not_to_be_kept_is_not(keeper, mark):
    dialect, api = keeper()
    turn = turn_of(api, False, model=f"{dialect}/hello", input=mark, store=False)
    with pytest.raises(openai.NotFoundError):
        api.responses.retrieve(turn.response.id)


def test_a_store_that_is_down_fails_what_needs_it_only(provider, tmp_path, mark):
    path = tmp_path / "callgate.toml"
    path.write_text(config(provider, "native", str(tmp_path / "missing" / "kept.db")))
    server = Server("serve", "--config", str(path), "--listen", "127.0.0.1:0")
    try:
        api = client(server.url)
        turn = turn_of(api, True, model="native/hello", input=mark)
        assert turn.error is None and turn.text
        with pytest.raises(openai.InternalServerError) as caught:
            api.responses.create(
                model="native/hello", input=mark, previous_response_id=turn.response.id
            )
        assert caught.value.status_code == 503 and caught.value.code == "STORE_UNAVAILABLE"
        with pytest.raises(openai.InternalServerError):
            api.responses.retrieve(turn.response.id)
    finally:
        server.stop()
