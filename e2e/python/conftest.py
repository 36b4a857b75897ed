"""One scripted provider and one gateway per dialect for the whole run, and a time limit per test."""

from __future__ import annotations

import os
import signal
import uuid
from typing import Any, Iterator

import pytest

import generated
from harness import DIALECTS, E2E, RELAYED, Provider, Server, client

TEST_SECONDS = 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("CALLGATE_E2E_FULL"):
        return
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(pytest.mark.skip(reason="slow: `cargo xtask e2e --full`"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Ends a test that hangs, in a way that lets the fixtures end the servers."""
    limit = item.get_closest_marker("limit")
    seconds = limit.args[0] if limit else TEST_SECONDS

    def expire(*_: Any) -> None:
        raise TimeoutError(f"the test took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    """The scripted provider with the scripts of `e2e/scripts` and the generated ones."""
    folder = tmp_path_factory.mktemp("scripts")
    scripts = [*sorted((E2E / "scripts").rglob("*.toml")), *generated.write(folder)]
    server = Provider("script", *map(str, scripts), "--listen", "127.0.0.1:0")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def gateways(provider: Provider) -> Iterator[dict[str, Server]]:
    """A gateway for each dialect, all on the scripted provider."""
    started: dict[str, Server] = {}
    try:
        for dialect in DIALECTS:
            started[dialect] = Server(
                "serve", "--upstream", f"{provider.url}/v1", "--wire", "chat",
                "--dialect", dialect, "--listen", "127.0.0.1:0",
            )
        yield started
    finally:
        for server in started.values():
            server.stop()


@pytest.fixture(scope="session")
def relays(gateways: dict[str, Server]) -> Iterator[dict[str, dict[str, Server]]]:
    """For each API, a gateway in front of each of the others, which is its provider of that API."""
    started: dict[str, dict[str, Server]] = {}
    try:
        for wire in RELAYED:
            for dialect, gateway in gateways.items():
                started.setdefault(wire, {})[dialect] = Server(
                    "serve", "--upstream", f"{gateway.url}/v1", "--wire", wire,
                    "--listen", "127.0.0.1:0",
                )
        yield started
    finally:
        for servers in started.values():
            for server in servers.values():
                server.stop()


@pytest.fixture
def at(gateways: dict[str, Server], relays: dict[str, dict[str, Server]]) -> Any:
    """`at(wire, dialect)`: a gateway whose provider speaks that API, with models of that dialect."""
    return lambda wire, dialect: {"chat": gateways, **relays}[wire][dialect]


@pytest.fixture
def api(gateways: dict[str, Server]) -> Any:
    """`api(dialect)`: the official client on that dialect's gateway."""
    return lambda dialect: client(gateways[dialect].url)


@pytest.fixture
def mark() -> str:
    """A word that finds this test's requests among all that the provider saw."""
    return f"mark-{uuid.uuid4().hex[:12]}"


@pytest.fixture(params=[True, False], ids=["stream", "whole"])
def stream(request: pytest.FixtureRequest) -> bool:
    return request.param
