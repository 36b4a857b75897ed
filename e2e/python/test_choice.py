"""`tool_choice` and `parallel_tool_calls`: kept for text dialects as for the provider's own calls."""

from __future__ import annotations

import json

import pytest

from harness import TEXT_DIALECTS, ask
from tools import TOOLS

WEATHER_ONLY = {"type": "function", "function": {"name": "get_weather"}}
WRITE_ONLY = {"type": "function", "function": {"name": "write_file"}}


def turn_of(api, mark, stream, dialect, case, **extra):
    return ask(
        api(dialect), stream, model=f"{dialect}/{case}", tools=TOOLS,
        messages=[{"role": "user", "content": mark}], **extra,
    )


@pytest.mark.parametrize("choice", ["auto", "required", WEATHER_ONLY], ids=["auto", "required", "named"])
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_a_choice_that_is_met(api, provider, mark, stream, dialect, choice):
    turn = turn_of(api, mark, stream, dialect, "weather", tool_choice=choice)
    assert turn.error is None
    assert [call.name for call in turn.calls] == ["get_weather"]
    [sent] = provider.requests(mark)
    assert "tool_choice" not in sent


@pytest.mark.parametrize(
    ("case", "choice"),
    [("hello", "required"), ("hello", WEATHER_ONLY), ("weather", WRITE_ONLY)],
    ids=["required-text", "named-text", "named-other"],
)
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_a_choice_that_is_not_met_is_an_error(api, mark, stream, dialect, case, choice):
    turn = turn_of(api, mark, stream, dialect, case, tool_choice=choice)
    assert turn.error is not None and turn.error.code == "TOOL_CHOICE_VIOLATED"
    assert turn.calls == []


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_the_choice_is_taught(api, provider, mark, dialect):
    """The model can only keep what it is told: another choice, another request."""
    for choice in ("auto", "required", WRITE_ONLY):
        turn_of(api, mark, False, dialect, "weather", tool_choice=choice)
    taught = {json.dumps(sent["messages"]) for sent in provider.requests(mark)}
    assert len(taught) == 3


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_none_teaches_nothing_and_takes_nothing(api, provider, mark, stream, dialect):
    turn = turn_of(api, mark, stream, dialect, "weather", tool_choice="none")
    assert turn.error is None
    assert (turn.calls, turn.finish) == ([], "stop")
    assert turn.text.startswith("Let me look.\n") and "get_weather" in turn.text
    [sent] = provider.requests(mark)
    assert not {"tools", "tool_choice"} & sent.keys()
    assert "write_file" not in json.dumps(sent["messages"])


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_without_parallel_calls_a_second_one_is_an_error(api, mark, stream, dialect):
    single = turn_of(api, mark, stream, dialect, "weather", parallel_tool_calls=False)
    assert single.error is None and len(single.calls) == 1
    double = turn_of(api, mark, stream, dialect, "two", parallel_tool_calls=False)
    assert double.error is not None and double.error.code == "TOOL_CHOICE_VIOLATED"
    assert double.error.param == "parallel_tool_calls"
    assert double.calls == []
