"""Check D1: probes in two worlds, and twice in one process. World B of the plain oracle sees another module name."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.determinism import suspects_of
from bfcl.errors import DriftError
from bfcl.pack.load import load_pack
from tests.checks.judged import judge
from tests.packs import ALL_POLICIES, Edit, add_case, append, put, replace, run_config, text, write_pack

WORLDS = "\n  fix: take time, randomness and ids from `ctx`, and sort what comes out of a set"
AGAIN = "\n  fix: let `reset` restore everything that calls change"
SUSPECT = "; suspect lines: backend.py:1: a suspect line"
STARTS = '    _STATE["next_firing"] = 10 + len(_STATE["firings"])'

REFUSED: dict[str, tuple[list[Edit], list[str]]] = {
    "answer of one world differs": (
        [replace("backend.py", '    return {"firing": copy', '    return {"seen": __name__, "firing": copy')],
        [
            "D1 pack/validation_cases.yaml:22: nondeterministic_result: firing_found: `get_firing` answers "
            'otherwise in two worlds: `result.seen` is "backend_a" in world A, "backend_b" in world B'
            + SUSPECT
            + WORLDS
        ],
    ),
    "refusal of one world differs": (
        [replace("backend.py", 'entity="firing", id=firing_id)', 'entity="firing", id=__name__)')],
        [
            "D1 pack/validation_cases.yaml:34: nondeterministic_result: firing_missing: `get_firing` answers "
            'otherwise in two worlds: `result.error.id` is "backend_a" in world A, "backend_b" in world B'
            + SUSPECT
            + WORLDS
        ],
    ),
    "state of one world differs, and what follows from it": (
        [
            replace("backend.py", '    kiln["status"] = "busy"\n', '    kiln.update(status="busy", by=__name__)\n'),
            put("validation_cases.yaml", (9, "expect"), {}),
        ],
        [
            "D1 pack/validation_cases.yaml:70: nondeterministic_state: start_done: `start_firing` leaves "
            'another state in two worlds: `state.kilns["K-1"].by` is "backend_a" in world A, "backend_b" in world B'
            + SUSPECT
            + WORLDS,
            "D1 pack/validation_cases.yaml:79: nondeterministic_result: kiln_after_start: `get_kiln` answers "
            'otherwise in two worlds: `result.kiln.by` is "backend_a" in world A, "backend_b" in world B'
            + SUSPECT
            + WORLDS,
        ],
    ),
    "reset of one world differs": (
        [replace("backend.py", STARTS, '    _STATE["by"] = __name__\n' + STARTS)],
        [
            "D1 pack/backend.py:12: nondeterministic_state: `reset` leaves another state in two worlds: "
            '`state.by` is "backend_a" in world A, "backend_b" in world B' + SUSPECT + WORLDS
        ],
    ),
    "reset does not restore what calls changed": (
        [
            replace("backend.py", STARTS, '    _STATE["next_firing"] = _STATE["next_firing"] or 14'),
            put("validation_cases.yaml", (9, "reset_before"), True),
            put("validation_cases.yaml", (9, "expect"), {}),
        ],
        [
            "D1 pack/backend.py:12: nondeterministic_state: `reset` leaves another state when the same process "
            "played it again: `state.next_firing` is 14 at first, 15 again" + SUSPECT + AGAIN,
            "D1 pack/validation_cases.yaml:70: nondeterministic_result: start_done: `start_firing` answers "
            'otherwise when the same process played it again: `result.firing_id` is "F-14" at first, "F-15" again'
            + SUSPECT
            + AGAIN,
        ],
    ),
    "tool breaks in one world": (
        [
            replace(
                "backend.py",
                '        return _refuse("not_found", entity="firing"',
                '        {"backend_a": 1}[__name__]\n        return _refuse("not_found", entity="firing"',
            ),
        ],
        [
            "D1 pack/validation_cases.yaml:34: nondeterministic_result: firing_missing: in world B only: "
            "`get_firing` broke instead of answering: KeyError: 'backend_b' (backend.py:53)" + SUSPECT + WORLDS
        ],
    ),
    "tool breaks the second time": (
        [
            replace(
                "backend.py",
                '        return _refuse("not_found", entity="firing"',
                '        _STATE["x"] = 1 / (1 - _STATE.get("x", 0))\n'
                '        return _refuse("not_found", entity="firing"',
            ),
            replace(
                "backend.py", "    return copy.deepcopy(_STATE)", '    return {"kilns": copy.deepcopy(_STATE["kilns"])}'
            ),
        ],
        [
            "D1 pack/validation_cases.yaml:34: nondeterministic_result: firing_missing: the second time only: "
            "`get_firing` broke instead of answering: ZeroDivisionError: float division by zero (backend.py:53)"
            + SUSPECT
            + AGAIN
        ],
    ),
}


@pytest.mark.parametrize(("edits", "expected"), REFUSED.values(), ids=REFUSED)
def test_check_d1_reports_exactly_the_fault_of_one_edit(tmp_path: Path, edits: list[Edit], expected: list[str]) -> None:
    failures = judge(tmp_path, *edits).failures()
    assert [one for one in failures if one.startswith("D1")] == expected
    # Replays of templates may see the same.
    assert {one.split(" ")[0] for one in failures} <= {"7", "D1"}


def test_check_d1_tells_a_state_that_cannot_be_read_in_one_world_once(tmp_path: Path) -> None:
    unread = replace("backend.py", "def get_state():\n", 'def get_state():\n    {"backend_a": 1}[__name__]\n')
    failures = judge(tmp_path, unread, templates=()).failures()
    assert failures == [
        "D1 pack/backend.py:20: nondeterministic_state: in world B only: `get_state` broke instead of answering: "
        "KeyError: 'backend_b' (backend.py:20)" + SUSPECT + WORLDS
    ]


def test_check_d1_asks_for_a_success_of_every_tool(tmp_path: Path) -> None:
    failures = judge(tmp_path, put("validation_cases.yaml", (3, "coverage"), "negative")).failures()
    assert failures[1:] == [
        "D1 pack/tools.json:25: no_success_observation: `get_firing` shows no success to compare; expected at least "
        "one probe that succeeds\n"
        "  fix: add a case that `get_firing` answers with a success"
    ]


def test_check_d1_compares_the_probes_of_tools_that_fail_check_5(tmp_path: Path) -> None:
    seen = replace("backend.py", '    return {"firing": copy', '    return {"seen": __name__, "firing": copy')
    gone = put("validation_cases.yaml", (3, "expect", "firing", "cone"), 9)
    again = add_case(id="again", tool="get_firing", arguments={"firing_id": "F-11"}, expect={"result_class": "success"})
    failures = judge(tmp_path, seen, gone, again, templates=()).failures()
    assert [one.split(": ")[1:3] for one in failures] == [
        ["result_field_mismatch", "firing_found"],
        ["nondeterministic_result", "firing_found"],
        ["nondeterministic_result", "again"],
    ]


@pytest.mark.parametrize(
    ("edits", "file", "line", "what"),
    [
        (
            [
                replace(
                    "backend.py",
                    '    return ["get_kiln"',
                    '    names = {"get_kiln"}\n    list(names)\n    return ["get_kiln"',
                )
            ],
            "backend.py",
            10,
            "turns a set into a sequence: its order follows the hash seed",
        ),
        (
            [append("assertions.py", "\n\nimport uuid\n_RUN = uuid.uuid4()\n")],
            "assertions.py",
            62,
            "draws entropy: `uuid.uuid4`",
        ),
        (
            [text("lib/hours.py", "import time\nOPEN = time.time()\n")],
            "lib/hours.py",
            2,
            "reads the wall clock: `time.time`",
        ),
    ],
)
def test_line_that_may_agree_by_luck_is_a_warning(
    tmp_path: Path, edits: list[Edit], file: str, line: int, what: str
) -> None:
    root = write_pack(tmp_path / "pack", *edits)
    found = list(suspects_of(load_pack(run_config(root), project=tmp_path)))
    assert [(one.code, one.file, one.line) for one in found] == [("ambient_suspect", file, line)]
    assert found[0].message == f"{what}; what comes of it may differ in another process"


def test_good_pack_has_no_suspect_line(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", templates=ALL_POLICIES)
    assert list(suspects_of(load_pack(run_config(root), project=tmp_path))) == []


def test_lines_are_those_of_the_pack_that_was_loaded(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack")
    pack = load_pack(run_config(root), project=tmp_path)
    (root / "backend.py").write_text("X = 1\n")
    with pytest.raises(DriftError) as caught:
        list(suspects_of(pack))
    assert str(caught.value) == (
        "pack_drift: tree/backend.py: changed while the pack was being read\n"
        "  fix: run the same command again when nobody edits the pack"
    )
