"""Starts the scripted provider and the gateways, and asks them through the official client.

It decides nothing about what is right: that is the tests' part. Every wait here has a limit.
"""

from __future__ import annotations

import json
import os
import pathlib
import queue
import subprocess
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from typing import Any, Iterator

import anthropic
import openai

E2E = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(
    os.environ.get("CALLGATE_BIN", E2E.parent / "target" / "debug" / "callgate")
)
START_SECONDS = 20.0
REQUEST_SECONDS = 30.0

#: What a gateway is told of its provider, by the name the tests use.
DIALECTS = ("xml", "ctl-heredoc", "native")
TEXT_DIALECTS = ("xml", "ctl-heredoc")

#: The APIs that a gateway in front of another gateway has for its provider's.
RELAYED = ("responses", "messages")
#: All APIs of providers.
WIRES = ("chat", *RELAYED)


class Server:
    """One running `callgate`, from its `listening on` line to its end."""

    def __init__(
        self, *arguments: str, env: dict[str, str] | None = None, cwd: str | None = None
    ) -> None:
        if not BINARY.is_file():
            raise FileNotFoundError(
                f"{BINARY} does not exist: run `cargo xtask e2e`, or set CALLGATE_BIN"
            )
        self._process = subprocess.Popen(
            [str(BINARY), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
        self.lines: list[str] = []
        found: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, args=(found,), daemon=True).start()
        try:
            url = found.get(timeout=START_SECONDS)
        except queue.Empty:
            url = None
        if url is None:
            self.stop()
            said = "\n".join(self.lines) or "(nothing)"
            raise RuntimeError(f"`callgate {' '.join(arguments)}` did not start; it said:\n{said}")
        self.url = url

    def _read(self, found: queue.Queue[str | None]) -> None:
        """Reads all output to its end, so that a full pipe never stops the server."""
        assert self._process.stdout is not None
        marker = "listening on "
        for line in self._process.stdout:
            line = line.rstrip("\n")
            if len(self.lines) < 2000:
                self.lines.append(line)
            if marker in line:
                found.put(line.split(marker, 1)[1].split()[0].rstrip("/"))
        found.put(None)

    def get(self, path: str) -> Any:
        """The JSON (or else the text) that a GET gives."""
        with urllib.request.urlopen(self.url + path, timeout=REQUEST_SECONDS) as reply:
            body = reply.read().decode()
        try:
            return json.loads(body)
        except json.JSONDecodeError:
            return body

    def stop(self) -> None:
        """Ends it, by force if it does not end in time."""
        self._process.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=5)


class Provider(Server):
    """The scripted provider, and what it saw."""

    def requests(self, mark: str) -> list[dict[str, Any]]:
        """The bodies of the chat requests that hold the mark, oldest first."""
        return [json.loads(r["body"]) for r in self.get("/requests") if mark in r["body"]]

    def cancelled(self) -> int:
        """How many replies were left before their end."""
        return int(self.get("/cancelled")["cancelled"])

    def settled(self) -> int:
        """The same, once nothing of an earlier test is still being counted."""
        seen = self.cancelled()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            time.sleep(0.2)
            if (now := self.cancelled()) == seen:
                return seen
            seen = now
        raise AssertionError("replies are being left all the time")


@dataclass
class Call:
    """One tool call, as a client sees it."""

    id: str
    name: str
    arguments: str

    def parsed(self) -> Any:
        return json.loads(self.arguments)


@dataclass
class Turn:
    """What a client got of one reply, whole or streamed."""

    text: str = ""
    calls: list[Call] = field(default_factory=list)
    finish: str | None = None
    error: openai.APIError | None = None
    usage: Any = None

    def message(self) -> dict[str, Any]:
        """The assistant message that a client sends back."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in self.calls
            ]
        return message


def client(url: str) -> openai.OpenAI:
    """The official client; it never repeats a request, so that a test sees each failure."""
    return openai.OpenAI(
        base_url=f"{url}/v1", api_key="e2e", max_retries=0, timeout=REQUEST_SECONDS
    )


def messages_client(url: str) -> anthropic.Anthropic:
    """The official client of the Messages API; it never repeats a request either."""
    return anthropic.Anthropic(
        base_url=url, api_key="e2e", max_retries=0, timeout=REQUEST_SECONDS
    )


def ask(api: openai.OpenAI, stream: bool, **request: Any) -> Turn:
    """One turn; an error of the API is part of it, with what came before."""
    turn = Turn()
    try:
        if stream:
            fold(api.chat.completions.create(stream=True, **request), turn)
        else:
            whole(api.chat.completions.create(**request), turn)
    except openai.APIError as error:
        turn.error = error
    return turn


def whole(reply: Any, turn: Turn) -> None:
    """Reads a whole reply, checking what holds for every one."""
    assert reply.object == "chat.completion"
    assert reply.id
    assert len(reply.choices) == 1
    choice = reply.choices[0]
    assert choice.index == 0
    assert choice.message.role == "assistant"
    turn.text = choice.message.content or ""
    turn.finish = choice.finish_reason
    turn.usage = reply.usage
    for call in choice.message.tool_calls or []:
        assert call.type == "function"
        turn.calls.append(Call(call.id, call.function.name, call.function.arguments))
    check_calls(turn)


def fold(chunks: Iterator[Any], turn: Turn) -> None:
    """Reads a stream into the turn, checking what holds for every chunk of every stream."""
    ids = set()
    first = True
    for chunk in chunks:
        assert chunk.object == "chat.completion.chunk"
        ids.add(chunk.id)
        assert len(ids) == 1, f"the response id changes: {ids}"
        if chunk.usage is not None:
            turn.usage = chunk.usage
        for choice in chunk.choices:
            assert choice.index == 0
            assert turn.finish is None, "a choice after its finish reason"
            if first:
                assert choice.delta.role == "assistant", "the first delta names no role"
                first = False
            turn.text += choice.delta.content or ""
            for delta in choice.delta.tool_calls or []:
                add(turn.calls, delta)
            turn.finish = choice.finish_reason
    assert turn.finish is not None, "the stream ended without a finish reason and without an error"
    check_calls(turn)


def add(calls: list[Call], delta: Any) -> None:
    """Adds a delta of a call, which must open the next index or go on with one that is open."""
    if delta.index == len(calls):
        assert delta.type == "function"
        assert delta.id and delta.function.name, "a call opens without id or name"
        calls.append(Call(delta.id, delta.function.name, delta.function.arguments or ""))
        return
    assert 0 <= delta.index < len(calls), f"index {delta.index} with {len(calls)} calls open"
    call = calls[delta.index]
    assert delta.id in (None, call.id), "a call changes its id"
    assert delta.function.name in (None, call.name), "a call changes its name"
    call.arguments += delta.function.arguments or ""


def check_calls(turn: Turn) -> None:
    ids = [call.id for call in turn.calls]
    assert len(set(ids)) == len(ids), f"call ids repeat: {ids}"
    assert all(0 < len(id) <= 64 for id in ids)
    if turn.calls:
        assert turn.finish == "tool_calls"
    for call in turn.calls:
        assert isinstance(call.parsed(), dict)


def until(what: str, seconds: float, condition: Any) -> None:
    """Waits for the condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
