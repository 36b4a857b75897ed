"""Every client API over every provider API: the provider's body breaks, or comes in other pieces.

The official clients read what the gateway makes of it. The bodies are in `e2e/scripts/prefix`, what
they mean is in `e2e/prefix`; the scripted provider breaks them where the model's name says.
"""

from __future__ import annotations

import json
import os
import random
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterable, Iterator

import pytest

from harness import E2E, REQUEST_SECONDS, WIRES, Provider, Server
from prefix import CLIENTS, KINDS, PATHS, Body, Seen, read

FULL = bool(os.environ.get("CALLGATE_E2E_FULL"))
SEED = 20261201
#: Random places in each body, besides those that matter.
RANDOM = 3
#: How many replies are asked for at once.
AT_ONCE = 8
#: What a reply is that broke: in text, in a call, in a whole body.
CODES = {"UPSTREAM_ENDED_EARLY", "TOOL_CALL_TRUNCATED", "UPSTREAM_PROTOCOL"}


@pytest.fixture(scope="module")
def gateway(provider: Provider) -> Iterator[Server]:
    """One gateway for all providers, dialects and release policies."""
    server = Server(
        "serve", "--config", str(E2E / "prefix/gateway.toml"), "--listen", "127.0.0.1:0",
        env={"PREFIX_PROVIDER": provider.url},
    )
    yield server
    server.stop()


@pytest.fixture(scope="module")
def clients(gateway: Server) -> dict[str, Any]:
    return {api: client(gateway.url) for api, client in CLIENTS.items()}


def model(release: str, wire: str, kind: str, query: str = "") -> str:
    """The name of the model that sends such a body, through a gateway with that policy."""
    return f"{release}/{wire}/{KINDS[kind]['dialect']}/{kind}{query}"


def body_of(provider: Provider, wire: str, kind: str, stream: bool) -> bytes:
    """What the provider sends, without a gateway."""
    asked = {"model": f"prefix/{wire}/{kind}", "stream": stream, "messages": []}
    request = urllib.request.Request(provider.url + PATHS[wire], json.dumps(asked).encode())
    with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as reply:
        return reply.read()


def check_whole(seen: Seen, client: Any, expected: dict[str, Any]) -> None:
    """The reply is a success, and all of it is there."""
    assert (seen.error, seen.end) == (None, client.end[bool(expected["calls"])])
    assert seen.text == expected["text"]
    assert seen.reasoning == expected["reasoning"]
    assert len(seen.finished) == len(seen.opened) == len(expected["calls"])
    for call, (name, arguments) in zip(seen.finished, expected["calls"]):
        assert call.is_like(name, arguments), call


def check_beginning(seen: Seen, expected: dict[str, Any]) -> None:
    """What came is the beginning of the whole, and no call is half there."""
    assert expected["reasoning"].startswith(seen.reasoning)
    if len(seen.text) <= len(expected["text"]):
        assert expected["text"].startswith(seen.text)
    else:
        # A call in text that broke stays the model's own text; a complete one before it does not.
        assert seen.text.startswith(expected["text"])
        assert seen.text[len(expected["text"]) :] in expected.get("said", "")
    assert len(seen.finished) <= len(seen.opened) <= len(expected["calls"])
    for calls in (seen.opened, seen.finished):
        for call, (name, arguments) in zip(calls, expected["calls"]):
            assert call.is_like(name, arguments), call


def check_broken(seen: Seen, client: Any, release: str, expected: dict[str, Any]) -> None:
    """The reply is an error; only calls that went out before the break end it as their success."""
    check_beginning(seen, expected)
    if seen.error is None:
        assert release == "call", "a success that nobody said"
        assert seen.end == client.end[True]
        assert len(seen.finished) == len(seen.opened) > 0
        return
    assert seen.error in CODES
    assert seen.end is None and seen.final is None
    # An event of a stream has no status of its own.
    assert seen.status in (None, 200, 502)
    assert seen.opened == [], "calls before an error"


def at_once(check: Callable[[Any], None], tries: Iterable[Any]) -> None:
    """Runs the check for each, several at a time: a reply that breaks is mostly waited for."""
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        for _ in pool.map(check, tries):
            pass


CASES = [(api, wire, kind) for api in CLIENTS for wire in WIRES for kind in KINDS]
LIMIT = pytest.mark.limit(600 if FULL else 60)
each_case = pytest.mark.parametrize(("api", "wire", "kind"), CASES, ids=["-".join(c) for c in CASES])


@each_case
@LIMIT
def test_a_broken_stream(provider, clients, api, wire, kind):
    """It is a success from the byte on that makes it complete, and an error before."""
    client, expected = clients[api], KINDS[kind]
    is_call = expected["calls"] and expected["dialect"] == "native"
    body = Body.of(body_of(provider, wire, kind, True), "call" if is_call else "text")
    chosen = random.Random(f"{SEED} {api} {wire} {kind}")
    some = {*body.places, *(chosen.randrange(len(body.bytes)) for _ in range(RANDOM))}
    tries = []
    for at in range(len(body.bytes) + 1) if FULL else sorted(some):
        readings = [client.helper, client.raw]
        chosen.shuffle(readings)
        both = [(at, *way, chosen.random() < 0.7) for way in zip(("turn", "call"), readings)]
        tries += [chosen.choice(both)] if FULL else both

    def check(one: tuple[int, str, Any, bool]) -> None:
        at, release, reading, is_cut = one
        asked = model(release, wire, kind, f"?{'cut' if is_cut else 'end'}={at}")
        seen = read(lambda seen: reading(asked, seen))
        try:
            is_whole = seen.end and len(seen.finished) == len(expected["calls"])
            if at >= body.must or at >= body.may and is_whole:
                check_whole(seen, client, expected)
            else:
                check_broken(seen, client, release, expected)
                said = body.said(at)
                if expected["dialect"] == "native":
                    assert seen.text in said, "text is lost"
                    assert not seen.text or seen.reasoning == expected["reasoning"], "reasoning is lost"
                elif all(text.startswith(expected["text"]) for text in said):
                    assert seen.text.startswith(expected["text"]), "text is lost"
                    if release == "turn" and kind == "xml" and expected["said"] not in said:
                        # The block is one: without its end it is text, to the last byte.
                        assert seen.text in said, "text of a broken block is lost"
        except AssertionError as error:
            place = f"{asked} through {reading.__qualname__}, behind {body.bytes[max(0, at - 60):at]!r}"
            raise AssertionError(f"{place}: {error}\n{seen}") from error

    at_once(check, tries)


@each_case
@LIMIT
def test_a_stream_in_pieces(clients, api, wire, kind):
    """However the provider's bytes are cut into pieces, the client ends up with the same."""
    client, finals = clients[api], []
    tries = [
        ("turn", client.helper, ""),
        ("turn", client.helper, "?pieces=1"),
        ("call", client.raw, f"?pieces=90&seed={SEED}"),
    ]
    if FULL:
        tries += [
            (release, reading, f"?pieces={most}&seed={seed}")
            for release, reading in (("turn", client.raw), ("call", client.helper))
            for most in (2, 9, 400)
            for seed in range(9)
        ]
    for release, reading, query in tries:
        seen = read(lambda seen: reading(model(release, wire, kind, query), seen))
        check_whole(seen, client, KINDS[kind])
        if seen.final is not None:
            finals.append(seen.final)
    assert len(finals) > 1 and all(final == finals[0] for final in finals)


@each_case
@LIMIT
def test_a_broken_whole_reply(provider, clients, api, wire, kind):
    """It is an error with a status as long as a byte is missing."""
    client, expected = clients[api], KINDS[kind]
    length = len(body_of(provider, wire, kind, False))
    chosen = random.Random(f"{SEED} {api} {wire} {kind}")
    some = {0, length - 2, length - 1, length, *(chosen.randrange(length) for _ in range(RANDOM))}

    def check(at: int) -> None:
        release = ("turn", "call")[at % 2]
        seen = read(lambda seen: client.whole(model(release, wire, kind, f"?cut={at}"), seen))
        if at == length:
            return check_whole(seen, client, expected)
        assert seen.status == 502, f"cut at {at} of {length}: {seen}"
        check_broken(seen, client, "turn", expected)
        assert (seen.text, seen.opened) == ("", []), f"cut at {at} of {length}: {seen}"

    at_once(check, range(length + 1) if FULL else sorted(some))
    pieces = model("turn", wire, kind, f"?pieces=7&seed={SEED}")
    seen = read(lambda seen: client.whole(pieces, seen))
    check_whole(seen, client, expected)
