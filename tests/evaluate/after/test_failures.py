"""What is told of a failed task."""

from __future__ import annotations

from bfcl.evaluate.after.failures import STATES_SHOWN, Episode, Failure, failure_json, failure_of
from bfcl.evaluate.after.failures_page import code, failures_page
from bfcl.evaluate.score.episode import score_episode
from tests.evaluate.driven import SCORING, Answer, answering, calls, one_group, play, script, wire_call, words
from tests.evaluate.score.episodes import ANSWERS, READ_1, Told


def failure(answer: Answer, *, passed: tuple[str, str] | None = None, executed: Told | None = None) -> Failure | None:
    """Of the script of one group, whose first turn is answered so."""
    of = one_group()
    client = answering(of, {0: answer})
    if executed is None:
        evidence = play(of, client)
    else:
        evidence = play(of, client, results=executed, mode="executable")
    episode = Episode(
        script=of,
        evidence=evidence,
        score=score_episode(of, evidence, SCORING),
        prompt_of=lambda _: of.seed_messages,
    )
    return failure_of(episode, SCORING, passed=passed)


def test_failure_of_is_none_when_the_task_succeeded() -> None:
    of = one_group()
    evidence = play(of, answering(of))
    episode = Episode(
        script=of, evidence=evidence, score=score_episode(of, evidence, SCORING), prompt_of=lambda _: None
    )
    assert failure_of(episode, SCORING) is None


def test_failure_json_tells_gate_turn_calls_and_who_is_answerable() -> None:
    found = failure(ANSWERS["wrong_value"])
    assert found is not None
    told = failure_json(found)
    assert {
        key: told[key] for key in ("first_failing_gate", "reason_code", "answerable", "near_miss", "turn_index")
    } == {
        "first_failing_gate": "arguments",
        "reason_code": "arguments.mismatch",
        "answerable": "candidate",
        "near_miss": None,
        "turn_index": 0,
    }
    assert told["failed_gates"] == ["arguments", "trace_completion"]
    assert told["went_wrong"] == {
        "turn_index": 0,
        "what": "a call has other arguments than expected",
        "remark": None,
    }
    assert told["last_attempt"] is None
    assert told["conversation"] == list(one_group().seed_messages)
    assert told["calls"] == [one.to_json() for one in found.calls]
    assert told["state_difference"] is None


def test_failure_tells_a_near_miss() -> None:
    found = failure(ANSWERS["permuted"])
    assert found is not None
    assert (found.gate and found.gate.name, found.near_miss) == ("call_ordering", "order_only")


def test_failure_of_an_unreachable_endpoint_is_the_runs() -> None:
    found = failure("retry_exhausted")
    assert found is not None
    assert found.answerable == "infrastructure"
    assert failure_json(found)["call_status"] == "retry_exhausted"


def test_failure_shows_state_by_path_and_assertions_that_failed() -> None:
    closing = {"final_state": '{"valves":{"V-1":{"open":false}}}'}
    found = failure(
        ANSWERS["wrong_value"], passed=("other", '{"valves":{"V-1":{"open":true}}}'), executed=Told(closing=closing)
    )
    assert found is not None
    assert failure_json(found)["state_difference"] == {
        "reference": "other",
        "count": 1,
        "differences": [{"path": 'valves["V-1"].open', "expected": "true", "actual": "false"}],
    }
    page = failures_page("small", [found], tasks=1, trials=1)
    assert "Final state, held against `other`: 1 differences.\n" in page


def test_failure_shows_only_so_many_differences_of_a_state() -> None:
    closing = {"final_state": "[" + ",".join("1" for _ in range(60)) + "]"}
    found = failure(ANSWERS["wrong_value"], passed=("other", "[]"), executed=Told(closing=closing))
    assert found is not None
    assert found.state is not None
    assert (found.state.count, len(found.state.differences)) == (60, STATES_SHOWN)


def test_failures_page_shows_calls_argument_by_argument() -> None:
    found = failure(ANSWERS["wrong_value"])
    assert found is not None
    page = failures_page("small", [found], tasks=3, trials=1)
    assert page.startswith("# Failed tasks of `small`\n\n1 of 3 tasks failed.\n")
    assert "| arguments | candidate |  | 1 |\n" in page
    assert '| `valve` | `"V-0"` | `"V-9"` | differs |\n' in page
    assert "Call `read_valve` fits.\n" in page


def test_failures_page_tells_where_to_begin_before_the_gate_that_failed_first() -> None:
    of = script()
    evidence = play(of, answering(of, {1: words(" ")}))
    score = score_episode(of, evidence, SCORING)
    found = failure_of(Episode(script=of, evidence=evidence, score=score, prompt_of=lambda _: None), SCORING)
    assert found is not None
    page = failures_page("small", [found], tasks=3, trials=1)
    assert "| what went wrong first | tasks |\n|---|---:|\n| it said nothing where words were due | 1 |\n" in page
    assert (
        "- went wrong first: assistant turn 2 of 4: it said nothing where words were due\n"
        "- first failing gate: tool_selection (tool_selection.mismatch)\n"
        "- the gate tool_selection counts what assistant turn 3 expects, too; that turn was never asked, because the "
        "conversation had ended\n"
    ) in page
    assert "- shown below: assistant turn 2; the call ended as completed\n" in page


def test_failures_page_keeps_what_models_write_from_becoming_markup() -> None:
    evil = "```\n# Passed | all `of` it\x1b[2J"
    found = failure(calls(READ_1, wire_call("read_valve", {"valve": evil}, call_id="b"), content=evil))
    assert found is not None
    page = failures_page("small", [found], tasks=1, trials=1)
    assert not [line for line in page.splitlines() if line.startswith("# ") and "small" not in line]
    assert "\x1b" not in page


def test_code_closes_on_no_tick_of_the_text() -> None:
    assert code("a") == "`a`"
    assert code("a`b") == "``a`b``"
    assert code("`") == "`` ` ``"
    assert code("a|b\nc") == "`a\\|b\\nc`"
    assert code("x" * 3000).endswith("… (3000 characters)`")
