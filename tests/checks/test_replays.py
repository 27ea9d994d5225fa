"""What the episodes of undone work show beside their assertions."""

from __future__ import annotations

from pathlib import Path

from tests.checks.judged import judge
from tests.packs import put_template, replace


def test_work_left_undone_must_not_break_the_oracle(tmp_path: Path) -> None:
    raises = replace(
        "backend.py",
        "    if not confirm:\n",
        "    if not confirm and cone == 4:\n        raise KeyError(cone)\n    if not confirm:\n",
    )
    assert judge(tmp_path, raises).failures() == [
        (
            "7 pack/backend.py:72: tool_raised: start_confirmed: the episode of a candidate that calls everything but "
            "changes nothing broke: KeyError: 4"
            '\n  fix: mend that line; answer a refusal as `{"error": {"code": "<word>"}}`'
        )
    ]


def test_a_broken_replay_is_told_without_the_trials_it_never_came_to(tmp_path: Path) -> None:
    raises = replace("backend.py", '    firing_id = "F-%d"', '    firing_id = 4 // (cone - 4) or "F-%d"')
    failures = judge(tmp_path, raises, put_template("start_confirmed", ("mutates",), True)).failures()
    assert [one.split(":")[2].strip() for one in failures if one.startswith("7 ")] == ["tool_raised"]
