"""A client that leaves takes its request to the provider with it."""

from __future__ import annotations

import openai
import pytest

from harness import DIALECTS, until
from tools import TOOLS


@pytest.mark.parametrize("dialect", DIALECTS)
def test_closing_the_stream_cancels_the_provider(api, provider, mark, dialect):
    before = provider.settled()
    chunks = api(dialect).chat.completions.create(
        model=f"{dialect}/hang", stream=True, tools=TOOLS,
        messages=[{"role": "user", "content": mark}],
    )
    for chunk in chunks:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    assert provider.cancelled() == before
    chunks.close()
    until("the provider sees the client leave", 2, lambda: provider.cancelled() == before + 1)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_leaving_before_a_whole_reply_cancels_the_provider(api, provider, mark, dialect):
    before = provider.settled()
    with pytest.raises(openai.APITimeoutError):
        api(dialect).with_options(timeout=1.0).chat.completions.create(
            model=f"{dialect}/hang", messages=[{"role": "user", "content": mark}]
        )
    until("the provider sees the client leave", 2, lambda: provider.cancelled() == before + 1)
