"""Check 6: gated tools without their confirmation."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.validate import validate_pack
from tests.checks.judged import judge
from tests.checks.plain_oracle import PlainOracle
from tests.packs import Edit, add_case, append, drop, put, replace

GATE = "    if not confirm:\n"
ASKS = '        return {"status": "awaiting_confirmation"'
NO_DEFAULT = drop("tools.json", (2, "function", "parameters", "properties", "confirm", "default"))
MEANS_YES = replace("backend.py", GATE, "    if confirm is False:\n")

REFUSED: dict[str, tuple[list[Edit], list[str]]] = {
    "false is not waited for": (
        [replace("backend.py", GATE, "    if confirm is None:\n"), drop("validation_cases.yaml", (5,))],
        [
            (
                "6 pack/validation_cases.yaml:63: confirmation_not_pending: start_done: `start_firing` "
                'with `confirm: false` answered {"firing_id":"F-14","status":"started"}; expected '
                "`status: awaiting_confirmation`\n"
                "  fix: let the tool ask for confirmation before it does anything"
            ),
            (
                "6 pack/validation_cases.yaml:63: unconfirmed_mutation: start_done: `start_firing` with "
                '`confirm: false` changed the state: `firings["F-14"]` was nothing and became '
                '{"cone":6,"firing_id":"F-14","kiln_id":"K-1","outcome":null}; expected no change before '
                "the confirmation"
                "\n  fix: change nothing before the confirmation is true"
            ),
        ],
    ),
    "left out is not waited for although it means false": (
        [MEANS_YES],
        [
            (
                "6 pack/validation_cases.yaml:72: confirmation_not_pending: start_done: `start_firing` "
                'without `confirm` answered {"firing_id":"F-14","status":"started"}; expected `status: '
                "awaiting_confirmation`\n"
                "  fix: let the tool ask for confirmation before it does anything"
            ),
            (
                "6 pack/validation_cases.yaml:72: unconfirmed_mutation: start_done: `start_firing` "
                'without `confirm` changed the state: `firings["F-14"]` was nothing and became '
                '{"cone":6,"firing_id":"F-14","kiln_id":"K-1","outcome":null}; expected no change before '
                "the confirmation"
                "\n  fix: change nothing before the confirmation is true"
            ),
        ],
    ),
    "waiting touches the state": (
        [
            replace("backend.py", ASKS, '        _STATE["next_firing"] += 1\n' + ASKS),
            drop("validation_cases.yaml", (5, "expect", "state_unchanged")),
        ],
        [
            (
                "6 pack/validation_cases.yaml:71: unconfirmed_mutation: start_done: `start_firing` with "
                "`confirm: false` changed the state: `next_firing` was 14 and became 15; expected no "
                "change before the confirmation"
                "\n  fix: change nothing before the confirmation is true"
            ),
        ],
    ),
    "asking breaks": (
        [
            replace("backend.py", GATE, "    if not confirm and cone == 7:\n        raise KeyError(cone)\n" + GATE),
            put("validation_cases.yaml", (8, "arguments", "cone"), 7),
        ],
        [
            (
                "6 pack/validation_cases.yaml:70: tool_raised: start_done: `start_firing` with `confirm: "
                "false` broke instead of answering: KeyError: 7 (backend.py:72)"
                '\n  fix: mend that line; answer a refusal as `{"error": {"code": "<word>"}}`'
            ),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "expected"), REFUSED.values(), ids=REFUSED)
def test_check_6_reports_exactly_the_fault_of_one_edit(tmp_path: Path, edits: list[Edit], expected: list[str]) -> None:
    assert judge(tmp_path, *edits).failures() == expected


def test_check_6_asks_for_a_success_of_every_gated_tool(tmp_path: Path) -> None:
    failures = judge(tmp_path, put("validation_cases.yaml", (8, "coverage"), "negative")).failures()
    assert [one for one in failures if one.startswith("6 ")] == [
        "6 pack/tools.json:45: confirmation_unprobed: `start_firing` requires confirmation, but no probe of it "
        "succeeds; expected at least one\n"
        "  fix: add a case that `start_firing` answers with a success"
    ]


def test_check_6_leaves_a_parameter_alone_that_has_no_default(tmp_path: Path) -> None:
    assert judge(tmp_path, MEANS_YES, NO_DEFAULT).failures() == []


def test_check_6_finds_the_default_behind_a_reference(tmp_path: Path) -> None:
    parameters = ("tools.json", (2, "function", "parameters"))
    moved = [
        put(*parameters[:1], (*parameters[1], "$defs"), {"yes_or_no": {"type": "boolean", "default": False}}),
        put(*parameters[:1], (*parameters[1], "properties", "confirm"), {"allOf": [{"$ref": "#/$defs/yes_or_no"}]}),
    ]
    failures = judge(tmp_path, MEANS_YES, *moved).failures()
    assert [one.split(": ")[1] for one in failures] == ["confirmation_not_pending", "unconfirmed_mutation"]


def test_check_6_asks_again_behind_the_probes_before_it(tmp_path: Path) -> None:
    second = {"kiln_id": "K-2", "cone": 5, "confirm": True}
    follows = add_case(id="start_second", tool="start_firing", arguments=second, reset_before=False)
    only_once = replace("backend.py", GATE, '    if not confirm and len(_STATE["firings"]) < 5:\n')
    failures = judge(tmp_path, follows, only_once).failures()
    assert [one.split(": ")[1:3] for one in failures] == [
        ["confirmation_not_pending", "start_second"],
        ["unconfirmed_mutation", "start_second"],
    ]


def test_check_6_speaks_the_packs_own_words(tmp_path: Path) -> None:
    words = put("manifest.yaml", ("confirmation",), {"pending_status": "waiting"})
    expects = put("validation_cases.yaml", (5, "expect"), {"result_class": "success"})
    failures = judge(tmp_path, words, expects).failures()
    assert [one for one in failures if one.startswith("6 ")][-1] == (
        "6 pack/validation_cases.yaml:71: confirmation_not_pending: start_done: `start_firing` with `confirm: false` "
        'answered {"cone":6,"kiln_id":"K-1","status":"awaiting_confirmation"}; expected `status: waiting`\n'
        "  fix: let the tool ask for confirmation before it does anything"
    )


def test_check_6_asks_nothing_of_a_pack_without_gated_tools(tmp_path: Path) -> None:
    judged = judge(tmp_path, drop("tools.json", (2, "x-requires-confirmation")), append("README.md", ""))
    oracle = PlainOracle(judged.pack, judged.config.oracle_runtime.clock)
    validate_pack(judged.pack, judged.config, oracle)
    assert (judged.statuses()["6"], oracle.requests) == ("pass", 2)
