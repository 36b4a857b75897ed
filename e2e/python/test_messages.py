"""The official client of the Messages API, over providers of every API."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass, field
from typing import Any

import anthropic
import pytest

from harness import DIALECTS, RELAYED, TEXT_DIALECTS, WIRES, Server, messages_client
from tools import TOOLS

#: The same tools as this API declares them.
DECLARED = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "input_schema": tool["function"]["parameters"],
    }
    for tool in TOOLS
]
RESULT = '{"degrees": 21, "sky": "clear < cloudy & \U0001f324"}'
#: A picture of one pixel.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass
class Turn:
    """What a client got of one reply, whole or streamed."""

    message: Any = None
    error: Any = None
    kinds: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "".join(block.text for block in self.message.content if block.type == "text")

    def calls(self) -> list[Any]:
        return [block for block in self.message.content if block.type == "tool_use"]


def turn_of(api: anthropic.Anthropic, stream: bool, **request: Any) -> Turn:
    turn = Turn()
    request.setdefault("max_tokens", 1024)
    try:
        if stream:
            check(api.messages.create(stream=True, **request), turn)
            with api.messages.stream(**request) as events:
                turn.message = events.get_final_message()
        else:
            turn.message = api.messages.create(**request)
    except anthropic.APIError as error:
        turn.message = None
        turn.error = error
    if turn.message is not None:
        assert turn.message.type == "message" and turn.message.role == "assistant"
        ids = [call.id for call in turn.calls()]
        assert len(set(ids)) == len(ids)
    return turn


def check(events: Any, turn: Turn) -> None:
    """Reads a stream, checking what holds for every event of every stream."""
    open_block, blocks = None, 0
    for event in events:
        turn.kinds.append(event.type)
        assert turn.kinds.count("message_start") == 1 and turn.kinds[0] == "message_start"
        if event.type == "content_block_start":
            assert open_block is None, "a block begins in another one"
            assert event.index == blocks
            open_block, blocks = event.index, blocks + 1
        elif event.type in ("content_block_delta", "content_block_stop"):
            assert event.index == open_block
            open_block = None if event.type == "content_block_stop" else open_block
        elif event.type == "message_delta":
            assert open_block is None and event.delta.stop_reason
    assert turn.kinds[-2:] == ["message_delta", "message_stop"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_call_result_answer(at, provider, mark, stream, dialect, wire):
    api = messages_client(at(wire, dialect).url)
    history: list[Any] = [
        {"role": "user", "content": f"How is the weather in Z\u00fcrich? ({mark})"}
    ]
    request = {"model": f"{dialect}/weather", "tools": DECLARED, "system": "Answer briefly."}
    first = turn_of(api, stream, messages=history, **request)
    assert first.error is None
    assert (first.text().strip(), first.message.stop_reason) == ("Let me look.", "tool_use")
    [call] = first.calls()
    assert (call.name, call.input) == ("get_weather", {"city": "Z\u00fcrich", "days": 2})
    history += [
        {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in first.message.content]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": RESULT},
        ]},
    ]
    second = turn_of(api, stream, messages=history, **request)
    assert second.error is None
    assert (second.text(), second.message.stop_reason) == (
        "It is 21 degrees in Z\u00fcrich.", "end_turn"
    )
    everything = json.dumps(provider.requests(mark)[-1], ensure_ascii=False)
    assert "Answer briefly." in everything and "get_weather" in everything
    assert "clear < cloudy & \U0001f324" in everything


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_calls_and_two_results(at, provider, mark, stream, dialect, wire):
    api = messages_client(at(wire, dialect).url)
    history: list[Any] = [{"role": "user", "content": mark}]
    request = {"model": f"{dialect}/two", "tools": DECLARED}
    first = turn_of(api, stream, messages=history, **request)
    assert first.error is None
    assert [(call.name, call.input) for call in first.calls()] == [
        ("get_weather", {"city": "Bern"}),
        ("get_weather", {"city": "Basel", "days": 3}),
    ]
    history += [
        {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in first.message.content]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call.id, "is_error": number == 1,
             "content": [{"type": "text", "text": f"result-{number}"}]}
            for number, call in enumerate(first.calls())
        ] + [{"type": "text", "text": "Go on."}]},
    ]
    second = turn_of(api, stream, messages=history, **request)
    assert second.error is None and second.text()
    sent = json.dumps(provider.requests(mark)[-1]["messages"])
    assert sent.index("result-0") < sent.index("result-1") < sent.index("Go on.")


FAULTS = [
    ("truncated", "TOOL_CALL_TRUNCATED"),
    ("unknown", "CLIENT_TOOL_NAME_MISMATCH"),
    ("bad-args", "CLIENT_TOOL_ARGS_INVALID"),
    ("early", "UPSTREAM_ENDED_EARLY"),
    ("empty", "EMPTY_ASSISTANT_RESPONSE"),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("case", "code"), FAULTS, ids=[case for case, _ in FAULTS])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fault_is_an_error_and_delivers_no_call(at, mark, stream, dialect, case, code, wire):
    turn = turn_of(
        messages_client(at(wire, dialect).url), stream, model=f"{dialect}/{case}",
        tools=DECLARED, messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is not None and turn.message is None
    assert "message_stop" not in turn.kinds
    body = turn.error.body
    assert body["type"] == "error" and body["error"]["type"] == "api_error"
    if wire == "chat":
        assert body["error"]["code"] == code


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_a_limit_inside_a_call_is_max_tokens(at, mark, stream, dialect, wire):
    turn = turn_of(
        messages_client(at(wire, dialect).url), stream, model=f"{dialect}/length",
        tools=DECLARED, messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is None
    assert (turn.message.stop_reason, turn.calls()) == ("max_tokens", [])


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_choice_is_kept(at, mark, dialect, wire):
    """A call that was demanded and not made is an error, whoever was asked for it."""
    turn = turn_of(
        messages_client(at(wire, dialect).url), True, model=f"{dialect}/hello", tools=DECLARED,
        tool_choice={"type": "any"}, messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is not None and "tool" in str(turn.error).lower()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_images_reach_the_provider(at, provider, mark, dialect, wire):
    turn = turn_of(
        messages_client(at(wire, dialect).url), False, model=f"{dialect}/hello", tools=DECLARED,
        messages=[{"role": "user", "content": [
            {"type": "text", "text": mark},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        ]}],
    )
    assert turn.error is None
    [sent] = provider.requests(mark)
    images = [
        part["image_url"]["url"]
        for message in sent["messages"] if isinstance(message["content"], list)
        for part in message["content"] if part["type"] == "image_url"
    ]
    assert images == [f"data:image/png;base64,{PIXEL}"]


@pytest.mark.parametrize("wire", WIRES)
def test_tokens_are_counted(at, mark, wire):
    api = messages_client(at(wire, "native").url)
    request = {"model": "native/hello", "tools": DECLARED}
    short = api.messages.count_tokens(messages=[{"role": "user", "content": mark}], **request)
    long = api.messages.count_tokens(messages=[{"role": "user", "content": mark * 100}], **request)
    assert 0 < short.input_tokens < long.input_tokens


def test_what_agents_send_is_taken(at, mark):
    """Unknown betas, members and blocks are no reason for an error."""
    api = messages_client(at("messages", "native").url)
    turn = turn_of(
        api, True, model="native/hello",
        tools=[{**DECLARED[0], "defer_loading": True, "eager_input_streaming": True,
                "cache_control": {"type": "ephemeral"}}],
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": mark}, {"role": "system", "content": "Briefer."},
                  {"role": "user", "content": "Hello?"}],
        extra_headers={"anthropic-beta": "unknown-2030-01-01"},
        extra_body={"context_management": {"edits": []}, "novel": 1},
    )
    assert turn.error is None and turn.text()


def test_models_have_this_apis_shape(tmp_path):
    path = tmp_path / "callgate.toml"
    path.write_text(
        '[[provider]]\nname = "p"\nbase_url = "http://127.0.0.1:9/v1"\n'
        '[[model]]\nname = "mine"\nprovider = "p"\n'
    )
    server = Server("serve", "--config", str(path), "--listen", "127.0.0.1:0")
    try:
        api = messages_client(server.url)
        assert "mine" in [model.id for model in api.models.list()]
        assert api.models.retrieve("mine").display_name == "mine"
        with pytest.raises(anthropic.NotFoundError):
            api.models.retrieve("other")
    finally:
        server.stop()


def test_a_result_without_its_call_is_named(at):
    with pytest.raises(anthropic.BadRequestError) as caught:
        messages_client(at("chat", "native").url).messages.create(
            model="native/hello", max_tokens=10,
            messages=[{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_x", "content": "?"}]}],
        )
    assert "toolu_x" in str(caught.value)
    assert caught.value.body["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("path", ["/", "/api/hello"])
def test_what_clients_ask_first_is_answered(at, path):
    request = urllib.request.Request(at("chat", "native").url + path, method="HEAD")
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert reply.status == 200


def test_the_relays_are_all_tested():
    assert set(WIRES) == {"chat", *RELAYED}
