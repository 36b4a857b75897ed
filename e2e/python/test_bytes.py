"""Arguments arrive byte for byte, whatever they hold and however the provider cuts them."""

from __future__ import annotations

import tomllib

import pytest

import generated
from harness import DIALECTS, E2E, ask
from tools import TOOLS, WRITE_FILE


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_kind_of_character(api, mark, stream, dialect):
    turn = ask(
        api(dialect), stream, model=f"{dialect}/characters", tools=TOOLS,
        messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is None
    [call] = turn.calls
    assert call.parsed() == {"path": "notes.txt", "content": generated.content(2 * generated.KIB)}


def test_arguments_of_the_provider_keep_their_layout(api, mark, stream):
    """Not only the value: the very text of the arguments, with its blanks, escapes and digits."""
    turn = ask(
        api("native"), stream, model="native/layout", tools=[WRITE_FILE],
        messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is None
    script = tomllib.loads((E2E / "scripts/native/layout.toml").read_text(encoding="utf-8"))
    [step] = script["replies"][0]["steps"]
    assert [call.arguments for call in turn.calls] == [step["call"]["arguments"]]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_large_argument_in_small_pieces(api, mark, stream, dialect):
    large(api, mark, stream, dialect, "large", 64 * generated.KIB)


@pytest.mark.limit(180)
def test_a_megabyte_in_pieces_of_four_bytes(api, mark):
    """A quarter of a million deltas; the JavaScript client reads the same in `xml`."""
    large(api, mark, True, "ctl-heredoc", "megabyte", 1024 * generated.KIB)


@pytest.mark.full
@pytest.mark.limit(180)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_megabyte_everywhere(api, mark, stream, dialect):
    large(api, mark, stream, dialect, "megabyte", 1024 * generated.KIB)


def large(api, mark, stream, dialect, case, size):
    turn = ask(
        api(dialect).with_options(timeout=180), stream,
        model=f"{dialect}/{case}", tools=TOOLS, messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is None
    [call] = turn.calls
    # Compared first as a fact: a difference in a megabyte is no message.
    got, wanted = call.parsed()["content"], generated.content(size)
    assert (got == wanted) is True, first_difference(got, wanted)


def first_difference(got: str, wanted: str) -> str:
    at = next((i for i, (g, w) in enumerate(zip(got, wanted)) if g != w), min(len(got), len(wanted)))
    return (
        f"{len(got)} of {len(wanted)} characters; they differ at {at}: "
        f"{got[at : at + 40]!r} where {wanted[at : at + 40]!r} was sent"
    )
