from __future__ import annotations

from dataclasses import replace

from bfcl.canonical import canonical_text
from bfcl.evaluate.run.estimate import BYTES_PER_TOKEN, Estimate, estimate
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.outcome import estimate_line
from bfcl.evaluate.run.preflight import prepare
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.arena import Arena, Edit, put, repeats, served


def told(arena: Arena, *edits: Edit) -> tuple[int, int, int]:
    path = arena.configure("mine", "http://127.0.0.1:9/v1", *edits)
    envelope = Envelope(path=path, eval_config_path=path, dry_run=True)
    found = estimate(prepare(envelope, load_settings(path), How()))
    return found.turns, found.prompt_tokens, found.request_ceiling


def test_every_turn_counts_and_every_further_attempt(arena: Arena) -> None:
    turns, tokens, ceiling = told(arena)
    assert (turns, ceiling) == (8, 8)
    again, same, higher = told(arena, put("limits", "max_retries", value=2))
    assert (again, same, higher) == (turns, tokens, 24)


def test_turns_beyond_the_limit_are_never_asked(arena: Arena) -> None:
    turns, tokens, ceiling = told(arena, put("limits", "max_turns", value=1))
    assert (turns, ceiling) == (4, 4)
    assert tokens < told(arena)[1]


def test_trials_multiply_and_each_may_be_driven_once_more(arena: Arena) -> None:
    turns, tokens, ceiling = told(arena, repeats(3))
    assert (turns, ceiling) == (24, 48)
    assert tokens // 3 == told(arena)[1]


def test_second_line_tells_what_is_left(arena: Arena) -> None:
    left = Estimate(turns=1, prompt_tokens=2, request_ceiling=3)
    whole = Estimate(turns=4, prompt_tokens=5, request_ceiling=6)
    first = "estimate: 4 turns, about 5 prompt tokens, never more than 6 requests"
    assert estimate_line(whole) == first
    assert estimate_line(replace(whole, remaining=left)) == (
        f"{first}\nstill to be asked, the rest is on record: 1 turns, about 2 prompt tokens, never more than 3 requests"
    )


def test_prompt_tokens_are_near_what_is_really_sent(arena: Arena) -> None:
    path = arena.config("mine")
    _, tokens, _ = told(arena)
    with served(arena.rows()) as candidate:
        arena.configure("mine", candidate.base_url)
        envelope = Envelope(path=path, eval_config_path=path)
        assert envelope.path.is_file()
        ended = arena.run("bfcl", "eval", "--config", str(path))
    assert ended.status == 0, ended.err
    sent = sum(len(canonical_text([body["messages"], body["tools"]]).encode()) for body in candidate.bodies)
    assert 0.8 < tokens * BYTES_PER_TOKEN / sent < 1.25
