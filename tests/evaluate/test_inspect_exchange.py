"""What Inspect gives is read as the protocol would have it on the wire. With Inspect itself: in tests/system."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bfcl.digest import sha256_of
from bfcl.errors import EvalError
from bfcl.evaluate.inspect_exchange import inspect_part, read_output
from bfcl.modelio.exchange import ChatRequest
from tests.evaluate.driven import answering, play, script

ABSENT = pytest.mark.skipif(find_spec("inspect_ai") is not None, reason="Inspect is installed here")


def choice(stop: str = "stop", *calls: Any, text: str = "Yes.") -> Any:
    return SimpleNamespace(message=SimpleNamespace(text=text, tool_calls=list(calls) or None), stop_reason=stop)


def call(arguments: Any, *, call_id: str = "c0", parse_error: str | None = None) -> Any:
    return SimpleNamespace(
        id=call_id, type="function", function="read_valve", arguments=arguments, parse_error=parse_error
    )


def output(*choices: Any, error: str | None = None, usage: Any = None) -> Any:
    """As `ModelOutput`: its stop reason is that of its first choice."""
    stop = choices[0].stop_reason if choices else None
    return SimpleNamespace(
        choices=list(choices), stop_reason=stop, error=error, usage=usage, response_id="r", empty=not choices
    )


@pytest.fixture
def request_() -> ChatRequest:
    asked = answering(script())
    play(script(), asked)
    return asked.requests[0]


def test_reply_of_calls_is_read_as_it_would_be_on_the_wire(request_: ChatRequest) -> None:
    usage = SimpleNamespace(input_tokens=7, output_tokens=2, total_tokens=9)
    told = output(choice("tool_calls", call({"valve": "V-1"}), call({}, call_id="c1", parse_error="no"), text=""))
    told.usage = usage
    found = read_output(request_, told, 0.25)
    assert (found.status, found.request_hash, found.attempts[0].latency_s) == ("completed", request_.request_hash, 0.25)
    response = found.response
    assert response is not None
    assert (response.assistant_content, response.finish_reason, response.tokens) == (None, "tool_calls", (7, 2))
    assert [(one.id, one.function_name, one.raw_arguments, one.arguments_status) for one in response.tool_calls] == [
        ("c0", "read_valve", '{"valve": "V-1"}', "valid_object"),
        ("c1", "read_valve", "", "invalid_json"),
    ]
    raw = found.attempts[0].raw_response
    assert raw is not None
    assert found.attempts[0].raw_response_hash == response.raw_response_hash == sha256_of(raw.encode())


@pytest.mark.parametrize(
    ("stop", "finish"),
    [("stop", "stop"), ("max_tokens", "length"), ("unknown", None), ("content_filter", "content_filter")],
)
def test_stop_reasons_are_told_in_the_words_of_the_protocol(
    request_: ChatRequest, stop: str, finish: str | None
) -> None:
    response = read_output(request_, output(choice(stop)), 0.0).response
    assert response is not None
    assert response.finish_reason == finish
    assert (response.usage, response.tokens) == (None, (None, None))


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (output(choice("model_length")), "provider_rejected"),
        (output(choice(), error="the provider refuses"), "provider_rejected"),
        (output(), "malformed_response"),
        (output(choice(), choice()), "malformed_response"),
        (output(choice("tool_calls", call({"level": float("nan")}))), "completed"),
    ],
    ids=["too_long", "refused", "no_choice", "two_choices", "no_number"],
)
def test_what_is_no_reply_ends_as_the_same_would_on_the_wire(request_: ChatRequest, given: Any, status: str) -> None:
    found = read_output(request_, given, 0.0)
    assert found.status == status
    assert (found.response is None) == (status != "completed")
    if found.response is not None:
        assert [one.arguments_status for one in found.response.tool_calls] == ["invalid_json"]


@ABSENT
def test_absent_inspect_is_refused_with_how_to_install_it() -> None:
    with pytest.raises(EvalError) as refusal:
        inspect_part("model")
    assert [str(problem) for problem in refusal.value.problems] == [
        "inspect_ai_not_installed: inspect_ai: a benchmark is to run as an Inspect task, and the package inspect-ai is "
        "not installed\n  fix: pip install inspect-ai"
    ]


@ABSENT
def test_inspect_that_lacks_a_package_of_its_own_is_not_told_as_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inspect_ai").mkdir()
    (tmp_path / "inspect_ai" / "__init__.py").write_text("import package_that_nobody_has\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    with pytest.raises(ModuleNotFoundError, match="package_that_nobody_has"):
        inspect_part("")
    assert "inspect_ai" not in sys.modules
