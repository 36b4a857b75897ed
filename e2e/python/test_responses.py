"""The official client on the Responses API, over providers of every API."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import openai
import pytest

from harness import DIALECTS, RELAYED, TEXT_DIALECTS, WIRES, ask, client
from tools import TOOLS

#: The same tools as this API declares them.
FLAT = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
PATCH = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Edits files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
}
DIFF = '*** Begin Patch\n*** Update File: a.py\n@@\n-print("a")\n+print("b" if 1 < 2 else "\\n")\n*** End Patch\n'
RESULT = '{"degrees": 21, "sky": "clear < cloudy & \U0001f324"}'


@dataclass
class Turn:
    """What a client got of one reply, whole or streamed."""

    response: Any = None
    error: Any = None
    text: str = ""
    kinds: list[str] = field(default_factory=list)

    def items(self, kind: str) -> list[Any]:
        return [item for item in self.response.output if item.type == kind]


def turn_of(api: openai.OpenAI, stream: bool, **request: Any) -> Turn:
    turn = Turn()
    try:
        if stream:
            fold(api.responses.create(stream=True, **request), turn)
        else:
            turn.response = api.responses.create(**request)
            turn.text = turn.response.output_text
    except openai.APIError as error:
        turn.error = error
    if turn.response is not None:
        check(turn.response)
    return turn


def fold(events: Any, turn: Turn) -> None:
    """Reads a stream, checking what holds for every event of every stream."""
    items: dict[int, Any] = {}
    parts: dict[int, str] = {}
    ended = False
    for number, event in enumerate(events):
        turn.kinds.append(event.type)
        assert event.sequence_number == number
        assert not ended, f"{event.type} behind the end"
        if event.type == "response.created":
            assert number == 0 and event.response.status == "in_progress"
        elif event.type == "response.output_item.added":
            assert event.output_index == len(items), "items are not numbered in order"
            items[event.output_index] = event.item
        elif event.type == "response.output_text.delta":
            assert event.item_id == items[event.output_index].id
            turn.text += event.delta
        elif event.type in (
            "response.function_call_arguments.delta", "response.custom_tool_call_input.delta"
        ):
            parts[event.output_index] = parts.get(event.output_index, "") + event.delta
        elif event.type == "response.function_call_arguments.done":
            assert event.arguments == parts[event.output_index]
        elif event.type == "response.custom_tool_call_input.done":
            assert event.input == parts[event.output_index]
        elif event.type == "response.output_item.done":
            assert event.item.id == items[event.output_index].id
            items[event.output_index] = event.item
        elif event.type in ("response.completed", "response.incomplete"):
            ended = True
            turn.response = event.response
            assert [item.id for item in event.response.output] == [
                items[index].id for index in sorted(items)
            ]
        elif event.type == "response.failed":
            ended = True
            turn.error = event.response.error
            assert all(item.type != "function_call" for item in event.response.output)
    assert ended, "the stream ended without a terminal event"


def check(response: Any) -> None:
    assert response.object == "response" and response.id.startswith("resp_")
    assert response.usage is not None
    ids = [item.id for item in response.output]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_call_result_answer(at, provider, mark, stream, dialect, wire):
    api = client(at(wire, dialect).url)
    history: list[Any] = [{"role": "user", "content": f"How is the weather in Z\u00fcrich? ({mark})"}]
    request = {"model": f"{dialect}/weather", "tools": FLAT, "instructions": "Answer briefly.",
               "store": False}
    first = turn_of(api, stream, input=history, **request)
    assert first.error is None
    assert (first.text.strip(), first.response.status) == ("Let me look.", "completed")
    [call] = first.items("function_call")
    assert (call.name, json.loads(call.arguments), call.status) == (
        "get_weather", {"city": "Z\u00fcrich", "days": 2}, "completed"
    )
    history += [item.model_dump(exclude_none=True) for item in first.response.output]
    history.append({"type": "function_call_output", "call_id": call.call_id, "output": RESULT})
    second = turn_of(api, stream, input=history, **request)
    assert second.error is None
    assert second.text == "It is 21 degrees in Z\u00fcrich."
    assert second.items("function_call") == []
    sent = provider.requests(mark)
    assert len(sent) == 2
    everything = json.dumps(sent[1], ensure_ascii=False)
    assert "Answer briefly." in everything and "get_weather" in everything
    assert call.call_id in everything
    assert "clear < cloudy & \U0001f324" in everything
    if dialect != "native":
        assert "tools" not in sent[1]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_calls_in_one_turn(at, mark, stream, dialect, wire):
    turn = turn_of(
        client(at(wire, dialect).url), stream, model=f"{dialect}/two", tools=FLAT, input=mark
    )
    assert turn.error is None
    calls = turn.items("function_call")
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("get_weather", {"city": "Bern"}),
        ("get_weather", {"city": "Basel", "days": 3}),
    ]
    assert len({call.call_id for call in calls}) == 2


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", ["xml", "native"])
def test_a_custom_tool_is_called_as_one(at, provider, mark, stream, dialect, wire):
    """Free text goes through providers that know functions only, and comes back byte for byte."""
    api = client(at(wire, dialect).url)
    history: list[Any] = [{"role": "user", "content": mark}]
    request = {"model": f"{dialect}/patch", "tools": [PATCH, *FLAT]}
    first = turn_of(api, stream, input=history, **request)
    assert first.error is None
    [call] = first.items("custom_tool_call")
    assert (call.name, call.input) == ("apply_patch", DIFF)
    assert first.items("function_call") == []
    if stream:
        assert "response.custom_tool_call_input.done" in first.kinds
    history += [item.model_dump(exclude_none=True) for item in first.response.output]
    history.append({"type": "custom_tool_call_output", "call_id": call.call_id, "output": "Done."})
    second = turn_of(api, stream, input=history, **request)
    assert second.error is None and second.text == "The line is changed."
    assert "*** Update File: a.py" in json.dumps(provider.requests(mark)[-1])


FAULTS = [
    ("truncated", "TOOL_CALL_TRUNCATED"),
    ("unknown", "CLIENT_TOOL_NAME_MISMATCH"),
    ("bad-args", "CLIENT_TOOL_ARGS_INVALID"),
    ("early", "UPSTREAM_ENDED_EARLY"),
    ("empty", "EMPTY_ASSISTANT_RESPONSE"),
]


@pytest.mark.parametrize(("case", "code"), FAULTS, ids=[case for case, _ in FAULTS])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fault_is_an_error_and_delivers_no_call(at, mark, stream, dialect, case, code):
    turn = turn_of(
        client(at("chat", dialect).url), stream, model=f"{dialect}/{case}", tools=FLAT, input=mark
    )
    assert turn.error is not None and turn.response is None
    assert "function_call" not in " ".join(turn.kinds)
    if isinstance(turn.error, openai.APIStatusError):
        assert (turn.error.code, turn.error.status_code) == (code, 502)
        assert turn.error.response.headers["x-callgate-error"] == code
    else:
        # In a stream the code is one that this API has; ours stands beside it.
        assert stream and turn.kinds[-1] == "response.failed"
        assert turn.error.model_extra["callgate_code"] == code


@pytest.mark.parametrize("wire", RELAYED)
@pytest.mark.parametrize("case", ["truncated", "early", "unknown"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fault_of_the_provider_of_a_provider(at, mark, stream, dialect, case, wire):
    turn = turn_of(
        client(at(wire, dialect).url), stream, model=f"{dialect}/{case}", tools=FLAT,
        input=mark,
    )
    assert turn.error is not None and turn.response is None
    assert "function_call" not in " ".join(turn.kinds)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_a_limit_inside_a_call_is_incomplete(at, mark, stream, dialect, wire):
    turn = turn_of(
        client(at(wire, dialect).url), stream, model=f"{dialect}/length", tools=FLAT, input=mark
    )
    assert turn.error is None
    assert turn.response.status == "incomplete"
    assert turn.response.incomplete_details.reason == "max_output_tokens"
    assert turn.items("function_call") == []


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_streaming_helper_of_the_client(at, mark, dialect, wire):
    api = client(at(wire, dialect).url)
    with api.responses.stream(model=f"{dialect}/weather", tools=FLAT, input=mark) as events:
        kinds = [event.type for event in events]
        final = events.get_final_response()
    assert kinds.count("response.function_call_arguments.done") == 1
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    [call] = [item for item in final.output if item.type == "function_call"]
    assert json.loads(call.arguments) == {"city": "Z\u00fcrich", "days": 2}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_nobody_can_do_is_refused_by_name(at, mark, dialect):
    api = client(at("chat", dialect).url)
    for name, value in [("previous_response_id", "resp_1"), ("background", True)]:
        with pytest.raises(openai.BadRequestError) as caught:
            api.responses.create(model=f"{dialect}/weather", input=mark, **{name: value})
        assert caught.value.code == "UNSUPPORTED_FEATURE"
        assert caught.value.param == name
    with pytest.raises(openai.BadRequestError) as caught:
        api.responses.create(
            model=f"{dialect}/weather",
            input=[{"type": "function_call_output", "call_id": "call_x", "output": "?"}],
        )
    assert "call_x" in caught.value.message


def test_websockets_and_kept_replies(at):
    import urllib.error
    import urllib.request

    url = at("chat", "native").url
    upgrade = {"connection": "upgrade", "upgrade": "websocket"}
    for request, status in [
        (urllib.request.Request(f"{url}/v1/responses", headers=upgrade), 426),
        (urllib.request.Request(f"{url}/v1/responses/resp_1"), 404),
    ]:
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=10)
        assert caught.value.code == status
        assert "error" in json.loads(caught.value.read())


@pytest.mark.parametrize("wire", RELAYED)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_chat_client_over_other_apis(at, provider, mark, stream, dialect, wire):
    """The other direction: what a client of Chat gets from a provider of another API."""
    api = client(at(wire, dialect).url)
    messages = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": mark}]
    request = {"model": f"{dialect}/weather", "tools": TOOLS}
    first = ask(api, stream, messages=messages, **request)
    assert first.error is None and first.text.strip() == "Let me look."
    [call] = first.calls
    assert (call.name, call.parsed()) == ("get_weather", {"city": "Z\u00fcrich", "days": 2})
    messages += [first.message(), {"role": "tool", "tool_call_id": call.id, "content": RESULT}]
    second = ask(api, stream, messages=messages, **request)
    assert (second.error, second.text) == (None, "It is 21 degrees in Z\u00fcrich.")
    assert "Answer briefly." in json.dumps(provider.requests(mark)[-1])
    for case in ["truncated", "early", "unknown"]:
        broken = ask(api, stream, model=f"{dialect}/{case}", tools=TOOLS, messages=messages[:2])
        assert broken.error is not None and broken.calls == []
