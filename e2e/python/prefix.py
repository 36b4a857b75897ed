"""What official clients read of a reply: their accumulating helpers, their raw events, whole replies.

Every reading of every API comes to one form, `Seen`. It decides nothing about what is right, except
that a client raises no other error than its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Callable

import anthropic
import openai

from harness import E2E, REQUEST_SECONDS
from tools import TOOLS

PROMPT = "How is the weather?"
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


@dataclass
class Call:
    """A tool call; its arguments are text, or the object that the client made of it."""

    name: str
    arguments: Any = ""

    def is_like(self, name: str, arguments: str) -> bool:
        if isinstance(self.arguments, str):
            return (self.name, self.arguments) == (name, arguments)
        return (self.name, self.arguments) == (name, json.loads(arguments))


@dataclass
class Seen:
    """What a client has got of a reply."""

    text: str = ""
    reasoning: str = ""
    #: The calls that the client was told of, finished or not.
    opened: list[Call] = field(default_factory=list)
    #: The calls whose end the client was told of.
    finished: list[Call] = field(default_factory=list)
    #: The reason of a reply that ended as a success.
    end: str | None = None
    #: The code of the error that it ended with.
    error: str | None = None
    #: The HTTP status of the error, if it is one.
    status: int | None = None
    #: The reply as the client holds it in the end, without what differs from reply to reply.
    final: Any = None


def read(reading: Callable[[Seen], None]) -> Seen:
    """Runs a reading; an error of the API is part of what is seen, any other one is a failed test."""
    seen = Seen()
    try:
        reading(seen)
    except (openai.APIError, anthropic.APIError) as error:
        assert seen.end is None, f"an error behind the end: {error}"
        body = error.body if isinstance(error.body, dict) else {}
        body = body.get("error") or body
        seen.error = body.get("callgate_code") or body.get("code") or f"{type(error).__name__}: {error}"
        seen.status = getattr(error, "status_code", None)
    return seen


#: Members that differ from reply to reply, the names of models that ask for pieces, and what the
#: helpers of the clients add.
OWN = {"id", "call_id", "created", "created_at", "completed_at", "model", "parsed", "parsed_arguments"}


def plain(value: Any) -> Any:
    """An object of a client as plain values, without ids, times, and what only helpers add."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items() if name not in OWN}
    return [plain(member) for member in value] if isinstance(value, list) else value


class Chat:
    """Readings of Chat Completions."""

    end = {False: "stop", True: "tool_calls"}

    def __init__(self, url: str) -> None:
        self._api = openai.OpenAI(
            base_url=f"{url}/v1", api_key="e2e", max_retries=0, timeout=REQUEST_SECONDS
        ).chat.completions
        self._request = {"messages": [{"role": "user", "content": PROMPT}], "tools": TOOLS}

    def helper(self, model: str, seen: Seen) -> None:
        with self._api.stream(model=model, **self._request) as events:
            for event in events:
                if event.type == "content.delta":
                    seen.text += event.delta
                elif event.type == "chunk":
                    for choice in event.chunk.choices:
                        seen.reasoning += (choice.delta.model_extra or {}).get("reasoning_content") or ""
                        seen.end = choice.finish_reason or seen.end
                elif event.type == "tool_calls.function.arguments.delta":
                    if event.index == len(seen.opened):
                        seen.opened.append(Call(event.name))
                    seen.opened[event.index].arguments += event.arguments_delta
                elif event.type == "tool_calls.function.arguments.done":
                    assert event.index == len(seen.finished)
                    seen.finished.append(Call(event.name, event.arguments))
            if seen.end is None:
                # The helper does not look for the end of a stream; a reader of `finish_reason` does.
                raise AssertionError("the stream ended without a finish reason and without an error")
            final = events.get_final_completion()
        self._whole(final, again := Seen())
        assert (again.text, again.finished) == (seen.text, seen.finished)
        seen.final = again.final

    def raw(self, model: str, seen: Seen) -> None:
        for chunk in self._api.create(stream=True, model=model, **self._request):
            for choice in chunk.choices:
                assert seen.end is None, "a choice after its finish reason"
                seen.text += choice.delta.content or ""
                seen.reasoning += (choice.delta.model_extra or {}).get("reasoning_content") or ""
                for delta in choice.delta.tool_calls or []:
                    if delta.index == len(seen.opened):
                        seen.opened.append(Call(delta.function.name))
                    seen.opened[delta.index].arguments += delta.function.arguments or ""
                seen.end = choice.finish_reason
        assert seen.end is not None, "the stream ended without a finish reason and without an error"
        seen.finished = seen.opened

    def whole(self, model: str, seen: Seen) -> None:
        self._whole(self._api.create(model=model, **self._request), seen)

    def _whole(self, reply: Any, seen: Seen) -> None:
        [choice] = reply.choices
        seen.text = choice.message.content or ""
        seen.reasoning = (choice.message.model_extra or {}).get("reasoning_content") or ""
        for call in choice.message.tool_calls or []:
            seen.finished.append(Call(call.function.name, call.function.arguments))
        seen.opened = seen.finished
        seen.end = choice.finish_reason
        seen.final = plain(reply)


class Responses:
    """Readings of Responses."""

    end = {False: "completed", True: "completed"}

    def __init__(self, url: str) -> None:
        self._api = openai.OpenAI(
            base_url=f"{url}/v1", api_key="e2e", max_retries=0, timeout=REQUEST_SECONDS
        ).responses
        tools = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
        self._request = {"input": PROMPT, "tools": tools}

    def helper(self, model: str, seen: Seen) -> None:
        with self._api.stream(model=model, **self._request) as events:
            self._fold(events, seen)
            try:
                final = events.get_final_response()
            except RuntimeError:
                assert seen.error is not None, "no final response and no error"
                return
        assert seen.error is None, "a final response behind an error"
        self._whole(final, again := Seen())
        assert (again.text, again.finished) == (seen.text, seen.finished)
        seen.final = again.final

    def raw(self, model: str, seen: Seen) -> None:
        self._fold(self._api.create(stream=True, model=model, **self._request), seen)
        assert seen.end or seen.error, "the stream ended without its last event"

    def _fold(self, events: Any, seen: Seen) -> None:
        calls: dict[int, Call] = {}
        for event in events:
            assert not (seen.end or seen.error), f"{event.type} behind the end"
            if event.type == "response.output_text.delta":
                seen.text += event.delta
            elif event.type in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
                seen.reasoning += event.delta
            elif event.type == "response.output_item.added" and event.item.type == "function_call":
                calls[event.output_index] = Call(event.item.name, event.item.arguments)
                seen.opened.append(calls[event.output_index])
            elif event.type == "response.function_call_arguments.delta":
                calls[event.output_index].arguments += event.delta
            elif event.type == "response.function_call_arguments.done":
                assert calls[event.output_index].arguments == event.arguments
            elif event.type == "response.output_item.done" and event.item.type == "function_call":
                assert calls[event.output_index].arguments == event.item.arguments
                seen.finished.append(Call(event.item.name, event.item.arguments))
            elif event.type == "response.completed":
                self._whole(event.response, again := Seen())
                assert (again.text, again.finished) == (seen.text, seen.finished)
                seen.end, seen.final = again.end, again.final
            elif event.type in ("response.failed", "response.incomplete"):
                error = event.response.error
                assert error is not None, f"{event.type} without an error"
                seen.error = (error.model_extra or {}).get("callgate_code") or error.code

    def whole(self, model: str, seen: Seen) -> None:
        self._whole(self._api.create(model=model, **self._request), seen)

    def _whole(self, reply: Any, seen: Seen) -> None:
        seen.text = reply.output_text
        for item in reply.output:
            if item.type == "function_call":
                seen.finished.append(Call(item.name, item.arguments))
            elif item.type == "reasoning":
                parts = [*item.summary, *(item.content or [])]
                seen.reasoning += "".join(part.text for part in parts)
        seen.opened = seen.finished
        seen.end = reply.status
        seen.final = plain(reply)


class Messages:
    """Readings of Messages."""

    end = {False: "end_turn", True: "tool_use"}

    def __init__(self, url: str) -> None:
        self._api = anthropic.Anthropic(
            base_url=url, api_key="e2e", max_retries=0, timeout=REQUEST_SECONDS
        ).messages
        tools = [
            {"name": tool["function"]["name"], "input_schema": tool["function"]["parameters"]}
            for tool in TOOLS
        ]
        self._request = {
            "messages": [{"role": "user", "content": PROMPT}], "tools": tools, "max_tokens": 1000,
        }

    def helper(self, model: str, seen: Seen) -> None:
        with self._api.stream(model=model, **self._request) as events:
            stop = None
            for event in events:
                if event.type == "text":
                    seen.text += event.text
                elif event.type == "thinking":
                    seen.reasoning += event.thinking
                elif event.type == "content_block_stop" and event.content_block.type == "tool_use":
                    block = event.content_block
                    seen.finished.append(Call(block.name, block.input))
                elif event.type == "content_block_start" and event.content_block.type == "tool_use":
                    seen.opened.append(Call(event.content_block.name))
                elif event.type == "input_json":
                    seen.opened[-1].arguments += event.partial_json
                elif event.type == "message_delta":
                    stop = event.delta.stop_reason
                elif event.type == "message_stop":
                    seen.end = stop
            assert seen.end is not None, "the stream ended without its last event"
            final = events.get_final_message()
        self._whole(final, again := Seen())
        assert (again.text, again.finished, again.end) == (seen.text, seen.finished, seen.end)
        seen.final = again.final

    def raw(self, model: str, seen: Seen) -> None:
        stop, open_call = None, False
        for event in self._api.create(stream=True, model=model, **self._request):
            assert seen.end is None, f"{event.type} behind the end"
            if event.type == "content_block_start":
                open_call = event.content_block.type == "tool_use"
                if open_call:
                    seen.opened.append(Call(event.content_block.name))
            elif event.type == "content_block_delta":
                delta = event.delta
                if delta.type == "text_delta":
                    seen.text += delta.text
                elif delta.type == "thinking_delta":
                    seen.reasoning += delta.thinking
                elif delta.type == "input_json_delta":
                    assert open_call
                    seen.opened[-1].arguments += delta.partial_json
            elif event.type == "content_block_stop" and open_call:
                seen.finished.append(seen.opened[-1])
                open_call = False
            elif event.type == "message_delta":
                stop = event.delta.stop_reason
            elif event.type == "message_stop":
                seen.end = stop
        assert seen.end is not None, "the stream ended without its last event"

    def whole(self, model: str, seen: Seen) -> None:
        self._whole(self._api.create(model=model, **self._request), seen)

    def _whole(self, reply: Any, seen: Seen) -> None:
        for block in reply.content:
            if block.type == "text":
                seen.text += block.text
            elif block.type == "thinking":
                seen.reasoning += block.thinking
            elif block.type == "tool_use":
                seen.finished.append(Call(block.name, block.input))
        seen.opened = seen.finished
        seen.end = reply.stop_reason
        seen.final = plain(reply)


CLIENTS = {"chat": Chat, "responses": Responses, "messages": Messages}

#: What the bodies mean, and how their frames are told apart; the JavaScript tests read the same.
CASES = json.loads((E2E / "prefix/cases.json").read_text(encoding="utf-8"))
KINDS = CASES["kinds"]
#: `complete`: the frame that says that the turn is over. `closing`: frames that end a call, a part,
#: the turn, or the stream. `call`, `text`: frames with a part of a call, or of text.
FRAMES = {name: re.compile(pattern.encode()) for name, pattern in CASES["frames"].items()}


@dataclass
class Body:
    """A body of a provider, with the places that matter."""

    bytes: bytes
    #: From here on the reply may be a success: the last brace that says so has come.
    may: int
    #: From here on it must be one: the frame is over.
    must: int
    #: The ends of the frames, and the text that each adds.
    texts: list[tuple[int, str]]
    #: Places that are always tried.
    places: list[int]

    @staticmethod
    def of(body: bytes, inside: str) -> Body:
        """The body, with places inside frames of that sort."""
        frames, start = [], 0
        for frame in body.split(b"\n\n")[:-1]:
            end = start + len(frame) + 2
            frames.append((start, end, {n for n, frames in FRAMES.items() if frames.search(frame)}))
            start = end
        assert start == len(body), "the body ends inside a frame"
        [complete] = [end for _, end, sorts in frames if "complete" in sorts]
        closing = [place for *both, sorts in frames if "closing" in sorts for place in both]
        places = {start, complete - 1, complete, *closing[-8:]}
        parts = [both for *both, sorts in frames if inside in sorts]
        for first, last in (parts[len(parts) // 2], parts[-1]):
            # In the middle of the frame, inside its value, behind it.
            places |= {(first + last) // 2, last - 6, last}
        texts = [(end, text_of(body[first:end])) for first, end, sorts in frames if "text" in sorts]
        return Body(body, complete - 2, complete, texts, sorted(places))

    def said(self, at: int) -> set[str]:
        """The text of the frames before a place, with or without one that only lacks its blank line."""
        return {"".join(text for end, text in self.texts if end - gap <= at) for gap in (0, 2)}


def text_of(frame: bytes) -> str:
    """The text that a frame of a provider adds."""
    data = json.loads(frame.split(b"data: ", 1)[1])
    delta = data["choices"][0]["delta"] if "choices" in data else data["delta"]
    return delta if isinstance(delta, str) else delta.get("content") or delta.get("text") or ""
