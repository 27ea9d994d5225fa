"""Who is asked and with what request, trial by trial."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from bfcl.canonical import Json
from bfcl.evaluate.drive.asking import Asking
from tests.evaluate.driven import Answering, candidate, outcome_of, script, words

MESSAGES: list[dict[str, Json]] = [{"role": "user", "content": "Hello"}]


def asking(trial: int = 0, seed_policy: Literal["fixed", "increment"] = "fixed", **edits: Any) -> Asking:
    return Asking(
        candidate=candidate(**edits),
        client=Answering(lambda _: words("Done.")),
        mode="trace",
        trial=trial,
        seed_policy=seed_policy,
    )


def test_request_is_the_candidates_and_the_turns() -> None:
    of = script()
    request = asking().request(of, MESSAGES, 2)
    own = candidate()
    assert request.request_id == f"small:{of.task_id}:2"
    assert (request.task_id, request.turn_index) == (of.task_id, 2)
    assert (request.candidate_alias, request.canonical_model_identity) == ("small", own.canonical_id)
    assert request.body == {
        "model": "org/small",
        "messages": MESSAGES,
        "tools": list(of.tools),
        "tool_choice": "auto",
        "temperature": 0.0,
        "max_tokens": 512,
        "seed": 11,
    }


@pytest.mark.parametrize(
    ("trial", "policy", "seed", "sent"),
    [(0, "increment", 11, 11), (2, "increment", 11, 13), (2, "fixed", 11, 11), (2, "increment", None, None)],
)
def test_request_of_a_trial_has_a_name_and_a_seed_of_its_own(
    trial: int, policy: Literal["fixed", "increment"], seed: int | None, sent: int | None
) -> None:
    request = asking(trial, policy, seed=seed).request(script(), MESSAGES, 0)
    assert request.request_id.endswith(f":0:t{trial}" if trial else ":0")
    assert request.body.get("seed") == sent


@pytest.mark.parametrize(("field", "echoed"), [(None, None), ("reasoning", "I think."), ("reasoning_content", None)])
def test_echoed_is_the_field_that_the_configuration_names(field: str | None, echoed: Json) -> None:
    asked = asking(echo_reasoning=field)
    request = asked.request(script(), MESSAGES, 0)
    assert asked.echoed(outcome_of(request, {"content": "Hi", "reasoning": "I think."})) == echoed
    assert asked.echoed(outcome_of(request, "timeout")) is None
