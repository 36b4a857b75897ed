"""Faults: each is an error with its code, in streams and in whole replies; no broken call goes out."""

from __future__ import annotations

import openai
import pytest

from harness import DIALECTS, TEXT_DIALECTS, ask
from tools import TOOLS

#: Case of the script, code of the error, and words that its message must hold.
FAULTS = [
    ("truncated", "TOOL_CALL_TRUNCATED", []),
    ("malformed", "TOOL_CALL_MALFORMED", []),
    ("unknown", "CLIENT_TOOL_NAME_MISMATCH", ["delete_everything", "get_weather", "write_file"]),
    ("bad-args", "CLIENT_TOOL_ARGS_INVALID", ["get_weather", "days"]),
    ("missing-arg", "CLIENT_TOOL_ARGS_INVALID", ["get_weather", "city"]),
    ("early", "UPSTREAM_ENDED_EARLY", []),
    ("empty", "EMPTY_ASSISTANT_RESPONSE", []),
]
#: What the provider writes in protocol form cannot be malformed text.
NATIVE = [fault for fault in FAULTS if fault[0] != "malformed"] + [
    ("not-json", "CLIENT_TOOL_ARGS_INVALID", ["get_weather"]),
]
CASES = [(d, *fault) for d in TEXT_DIALECTS for fault in FAULTS] + [("native", *f) for f in NATIVE]


@pytest.mark.parametrize(
    ("dialect", "case", "code", "words"), CASES, ids=[f"{dialect}-{case}" for dialect, case, *_ in CASES]
)
def test_a_fault_is_an_error_and_delivers_no_call(api, mark, stream, dialect, case, code, words):
    turn = ask(
        api(dialect), stream, model=f"{dialect}/{case}", tools=TOOLS,
        messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is not None, f"no error; finish {turn.finish}, text {turn.text!r}"
    assert turn.error.code == code, turn.error
    assert (turn.calls, turn.finish) == ([], None)
    for word in words:
        assert word in turn.error.message
    if isinstance(turn.error, openai.APIStatusError):
        assert turn.error.status_code == 502
        assert turn.error.response.headers["x-callgate-error"] == code
    else:
        assert stream
    if stream and case not in ("empty",):
        assert turn.text.startswith("Let me look.\n"), "the text before the fault is kept"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_broken_connection_is_an_error_in_both_forms(api, mark, stream, dialect):
    turn = ask(
        api(dialect), stream, model=f"{dialect}/cut", tools=TOOLS,
        messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is not None and turn.calls == []
    # The head of a whole reply came, its body did not: nobody knows that it held a call.
    assert turn.error.code in (["TOOL_CALL_TRUNCATED"] if stream else ["UPSTREAM_ENDED_EARLY", "UPSTREAM_PROTOCOL"])


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
@pytest.mark.parametrize("case", ["malformed", "truncated"])
def test_the_text_of_a_broken_call_is_not_lost(api, mark, stream, dialect, case):
    """A stream shows it as text; a whole reply that is an error holds it in the error."""
    turn = ask(
        api(dialect), stream, model=f"{dialect}/{case}", tools=TOOLS,
        messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is not None
    text = turn.text if stream else turn.error.body["text"]
    assert text.startswith("Let me look.\n") and "Par" in text


#: Case of the script, and how often a client that tries three times sends the request: a model's
#: mistake costs one request, and only a reply that broke on its way is worth another try.
TRIES = [("unknown", 1), ("bad-args", 1), ("truncated", 3)]


@pytest.mark.parametrize(("case", "tries"), TRIES, ids=[case for case, _ in TRIES])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_client_repeats_only_what_another_try_can_mend(
    api, provider, mark, dialect, case, tries
):
    patient = api(dialect).with_options(max_retries=2)
    with pytest.raises(openai.InternalServerError) as raised:
        patient.chat.completions.create(
            model=f"{dialect}/{case}", tools=TOOLS, messages=[{"role": "user", "content": mark}]
        )
    refused = raised.value.response.headers.get("x-should-retry") == "false"
    assert refused == (tries == 1)
    assert len(provider.requests(mark)) == tries


@pytest.mark.parametrize("dialect", DIALECTS)
def test_length_inside_a_call_is_a_finish_and_no_error(api, mark, stream, dialect):
    turn = ask(
        api(dialect), stream, model=f"{dialect}/length", tools=TOOLS,
        messages=[{"role": "user", "content": mark}],
    )
    assert turn.error is None
    assert (turn.calls, turn.finish) == ([], "length")
    assert turn.text.startswith("Let me look.\n")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_rate_limit_passes_with_its_wait(api, mark, stream, dialect):
    with pytest.raises(openai.RateLimitError) as raised:
        api(dialect).chat.completions.create(
            model="fault/429", stream=stream, tools=TOOLS,
            messages=[{"role": "user", "content": mark}],
        )
    assert raised.value.status_code == 429
    assert raised.value.response.headers["retry-after"] == "7"
    assert raised.value.code


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_provider_error_before_the_stream_is_a_status(api, mark, stream, dialect):
    with pytest.raises(openai.InternalServerError) as raised:
        api(dialect).chat.completions.create(
            model="fault/500", stream=stream, messages=[{"role": "user", "content": mark}]
        )
    assert raised.value.status_code in (500, 502)
    assert raised.value.code == "UPSTREAM_STATUS"


BAD = [
    ("messages", {"messages": "hello"}),
    ("messages", {"messages": []}),
    ("tools", {"tools": [{"type": "function"}]}),
    ("tool_choice", {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "nope"}}}),
    ("stream", {"stream": "yes"}),
]


@pytest.mark.parametrize(("member", "body"), BAD, ids=[f"{m}-{i}" for i, (m, _) in enumerate(BAD)])
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_a_bad_request_names_the_member(api, mark, dialect, member, body):
    with pytest.raises(openai.BadRequestError) as raised:
        api(dialect).chat.completions.create(
            model=f"{dialect}/hello",
            messages=[{"role": "user", "content": mark}],
            extra_body=body,
        )
    assert raised.value.code == "REQUEST_INVALID"
    assert member in f"{raised.value.param} {raised.value.message}"


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_a_result_without_its_call_is_named(api, mark, dialect):
    with pytest.raises(openai.BadRequestError) as raised:
        api(dialect).chat.completions.create(
            model=f"{dialect}/hello", tools=TOOLS,
            messages=[
                {"role": "user", "content": mark},
                {"role": "tool", "tool_call_id": "call_nobody_made", "content": "42"},
            ],
        )
    assert raised.value.code == "REQUEST_INVALID"
    assert "call_nobody_made" in raised.value.message


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_unknown_model_is_not_found(api, mark, stream, dialect):
    with pytest.raises(openai.NotFoundError) as raised:
        api(dialect).chat.completions.create(
            model="nobody/knows-it", stream=stream, messages=[{"role": "user", "content": mark}]
        )
    assert "nobody/knows-it" in raised.value.message
