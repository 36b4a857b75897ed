"""Plain replies: text arrives unaltered, and while the provider is still writing."""

from __future__ import annotations

import asyncio
import time

import openai
import pytest

from harness import DIALECTS, TEXT_DIALECTS, ask
from tools import TOOLS

HELLO = "Hello there. How can I help?"


@pytest.mark.parametrize("tools", [None, TOOLS], ids=["no-tools", "tools"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_text(api, mark, stream, dialect, tools):
    extra = {"tools": tools} if tools else {}
    turn = ask(
        api(dialect), stream, model=f"{dialect}/hello",
        messages=[{"role": "user", "content": mark}], **extra,
    )
    assert turn.error is None
    assert (turn.text, turn.calls, turn.finish) == (HELLO, [], "stop")


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_what_only_looks_like_a_call_stays_text(api, mark, stream, dialect):
    turn = ask(
        api(dialect), stream, model=f"{dialect}/quoted",
        messages=[{"role": "user", "content": mark}], tools=TOOLS,
    )
    assert turn.error is None
    assert turn.calls == []
    assert turn.text.startswith("You write a call like this:\n```\n")
    assert turn.text.endswith("```\nThat is all, and 1 < 2.")


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_without_tools_a_call_is_text(api, mark, stream, dialect):
    turn = ask(
        api(dialect), stream, model=f"{dialect}/weather",
        messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is None
    assert (turn.calls, turn.finish) == ([], "stop")
    assert "get_weather" in turn.text and turn.text.startswith("Let me look.\n")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_arrives_before_the_provider_has_finished(api, mark, dialect):
    """The provider writes a sentence and then nothing for a minute: the client has the sentence."""
    start = time.monotonic()
    text = ""
    with api(dialect).chat.completions.create(
        model=f"{dialect}/hang", stream=True, tools=TOOLS,
        messages=[{"role": "user", "content": mark}],
    ) as chunks:
        for chunk in chunks:
            text += chunk.choices[0].delta.content or "" if chunk.choices else ""
            if text == "Working on it.":
                break
    assert text == "Working on it."
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("dialect", DIALECTS)
def test_usage_is_there_when_asked_for(api, mark, stream, dialect):
    extra = {"stream_options": {"include_usage": True}} if stream else {}
    turn = ask(
        api(dialect), stream, model=f"{dialect}/hello",
        messages=[{"role": "user", "content": mark}], **extra,
    )
    assert turn.usage is not None
    assert turn.usage.total_tokens == turn.usage.prompt_tokens + turn.usage.completion_tokens


def test_the_async_client_runs_streams_side_by_side(gateways, mark):
    async def one(api: openai.AsyncOpenAI, dialect: str) -> str:
        text = ""
        chunks = await api.chat.completions.create(
            model=f"{dialect}/hello", stream=True, messages=[{"role": "user", "content": mark}]
        )
        async for chunk in chunks:
            text += chunk.choices[0].delta.content or "" if chunk.choices else ""
        return text

    async def all_of_them() -> list[str]:
        clients = [
            openai.AsyncOpenAI(
                base_url=f"{gateways[dialect].url}/v1", api_key="e2e", max_retries=0, timeout=30
            )
            for dialect in DIALECTS
        ]
        pairs = [(api, dialect) for api, dialect in zip(clients, DIALECTS) for _ in range(8)]
        texts = await asyncio.gather(*(one(api, dialect) for api, dialect in pairs))
        for api in clients:
            await api.close()
        return texts

    assert asyncio.run(all_of_them()) == [HELLO] * (8 * len(DIALECTS))
