"""Calls: text becomes structured calls, and the loop of call, result and answer closes."""

from __future__ import annotations

import json

import pytest

from harness import DIALECTS, TEXT_DIALECTS, ask
from tools import TOOLS, WEATHER

QUESTION = "How is the weather in Z\u00fcrich?"
ANSWER = "It is 21 degrees in Z\u00fcrich."
RESULT = '{"degrees": 21, "sky": "clear < cloudy & \U0001f324"}'
#: What a request to the provider holds when the dialect is taught, and when a call stands in history.
SYNTAX = {"xml": "<invoke name=", "ctl-heredoc": "\ncall "}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_becomes_a_tool_call(api, mark, stream, dialect):
    turn = ask(
        api(dialect), stream, model=f"{dialect}/weather", tools=TOOLS,
        messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is None
    assert (turn.text, turn.finish) == ("Let me look.\n", "tool_calls")
    assert [(call.name, call.parsed()) for call in turn.calls] == [
        ("get_weather", {"city": "Z\u00fcrich", "days": 2})
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_calls_in_one_turn(api, mark, stream, dialect):
    turn = ask(
        api(dialect), stream, model=f"{dialect}/two", tools=TOOLS,
        messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is None
    assert [(call.name, call.parsed()) for call in turn.calls] == [
        ("get_weather", {"city": "Bern"}),
        ("get_weather", {"city": "Basel", "days": 3}),
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_call_result_answer(api, provider, mark, stream, dialect):
    """The client runs the tool and sends its result; the model's answer comes back as text."""
    messages = [
        {"role": "system", "content": "Answer briefly."},
        {"role": "user", "content": f"{QUESTION} ({mark})"},
    ]
    request = {"model": f"{dialect}/weather", "tools": TOOLS}
    first = ask(api(dialect), stream, messages=messages, **request)
    assert first.error is None
    [call] = first.calls
    messages += [first.message(), {"role": "tool", "tool_call_id": call.id, "content": RESULT}]
    second = ask(api(dialect), stream, messages=messages, **request)
    assert second.error is None
    assert (second.text, second.calls, second.finish) == (ANSWER, [], "stop")

    sent = provider.requests(mark)
    assert len(sent) == 2
    if dialect == "native":
        assert sent[1]["tools"] == TOOLS
        assert sent[1]["messages"][-1] == messages[-1]
        return
    for body in sent:
        assert not {"tools", "tool_choice", "parallel_tool_calls"} & body.keys()
        assert all(message["role"] != "tool" for message in body["messages"])
        assert all("tool_calls" not in message for message in body["messages"])
    opening = text_of(sent[0]["messages"])
    assert "Answer briefly." in opening
    assert SYNTAX[dialect] in opening and "get_weather" in opening and "write_file" in opening

    assert len(sent[1]["messages"]) > len(sent[0]["messages"])
    assistant = [m for m in sent[1]["messages"] if m["role"] == "assistant"]
    assert len(assistant) == 1
    history = text_of(assistant)
    assert history.startswith("Let me look.\n")
    assert SYNTAX[dialect] in f"\n{history}" and "get_weather" in history
    assert "Z\u00fcrich" in history
    result = text_of(sent[1]["messages"][-1:])
    assert sent[1]["messages"][-1]["role"] == "user"
    assert call.id in result
    if dialect == "xml":
        assert "get_weather" in result
    assert '"sky": "clear < cloudy & \U0001f324"' in result


@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_results_come_back_for_two_calls(api, provider, mark, dialect):
    messages = [{"role": "user", "content": mark}]
    first = ask(api(dialect), True, messages=messages, model=f"{dialect}/two", tools=TOOLS)
    messages.append(first.message())
    for number, call in enumerate(first.calls):
        messages.append({"role": "tool", "tool_call_id": call.id, "content": f"result-{number}"})
    second = ask(api(dialect), True, messages=messages, model=f"{dialect}/two", tools=TOOLS)
    assert second.error is None and second.text
    last = json.dumps(provider.requests(mark)[-1]["messages"])
    for call in first.calls:
        assert call.id in last
    assert last.index("result-0") < last.index("result-1")


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_ids_stay_unique_over_a_conversation(api, mark, stream, dialect):
    """The model makes the same call in every turn, in `ctl-heredoc` under the same id."""
    messages = [{"role": "user", "content": mark}]
    ids = []
    for _ in range(3):
        turn = ask(api(dialect), stream, messages=messages, model=f"{dialect}/again", tools=TOOLS)
        assert turn.error is None
        [call] = turn.calls
        ids.append(call.id)
        messages += [
            turn.message(), {"role": "tool", "tool_call_id": call.id, "content": "21 degrees"}
        ]
    assert len(set(ids)) == 3, ids


#: Arguments that agents send back in their history when a call was broken.
DAMAGED = ["", "INVALID_JSON", '{"city":"Par', "null", "[1]", '{"city":"Bern","city":"Basel"}']


@pytest.mark.parametrize("arguments", DAMAGED)
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_damaged_calls_in_history_never_fail(api, provider, mark, dialect, arguments):
    call = {"id": "call_old", "type": "function"}
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": mark}, {"type": "text", "text": "?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**call, "function": {"name": "get_weather", "arguments": arguments}}],
        },
        {
            "role": "tool",
            "tool_call_id": "call_old",
            "content": [{"type": "text", "text": "The call was not valid."}],
        },
    ]
    turn = ask(api(dialect), True, messages=messages, model=f"{dialect}/hello", tools=TOOLS)
    assert turn.error is None and turn.text
    sent = text_of(provider.requests(mark)[0]["messages"])
    assert "Be brief." in sent and "The call was not valid." in sent and "get_weather" in sent


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_streaming_helper_of_the_client(api, mark, dialect):
    kinds = []
    with api(dialect).chat.completions.stream(
        model=f"{dialect}/weather", tools=[WEATHER], messages=[{"role": "user", "content": mark}]
    ) as events:
        for event in events:
            kinds.append(event.type)
            if event.type == "tool_calls.function.arguments.done":
                assert (event.name, event.index) == ("get_weather", 0)
                assert json.loads(event.arguments) == {"city": "Z\u00fcrich", "days": 2}
        final = events.get_final_completion()
    assert kinds.count("tool_calls.function.arguments.done") == 1
    assert kinds.count("content.done") == 1
    choice = final.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Let me look.\n")
    assert choice.message.tool_calls[0].function.name == "get_weather"


def text_of(messages) -> str:
    """All text of the messages, whichever form their content has."""
    texts = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            texts.append(content)
        else:
            texts += [part["text"] for part in content]
    return "\n".join(texts)
