from __future__ import annotations

import pytest

from bfcl.located import parse_yaml
from bfcl.pack.manifest import read_manifest
from bfcl.pack.model import Confirmation
from tests.pack.conftest import Load, Refused
from tests.packs import CLOCK, Edit, drop, put, text

M = "manifest.yaml"


@pytest.mark.parametrize(
    ("edit", "line", "message"),
    [
        (text(M, "- a\n"), 1, 'the value is ["a"]; expected a mapping with `pack_id` and `version`'),
        (drop(M, ("pack_id",)), 1, "`pack_id` is required\n  fix: add `pack_id`"),
        (
            put(M, ("pack_id",), None),
            1,
            "`pack_id` is empty\n"
            "  fix: write its value; one on the lines below has to be indented further than `pack_id`",
        ),
        (put(M, ("pack_id",), "  "), 1, '`pack_id` is "  "; expected non-empty text'),
        (
            put(M, ("pack_id",), "é" * 51),
            1,
            "`pack_id` has 102 bytes, but directories are named by it; expected at most 100\n  fix: shorten it",
        ),
        (put(M, ("pack_id",), True), 1, "`pack_id` is true; expected non-empty text"),
        (put(M, ("pack_id",), ["a"]), 1, '`pack_id` is ["a"]; expected non-empty text'),
        (
            put(M, ("pack_id",), "a/b"),
            1,
            (
                '`pack_id` is "a/b", but it holds the separator `/`; task ids carry it as a path component\n'
                "  fix: use letters, digits, `_` and `-`"
            ),
        ),
        (
            put(M, ("pack_id",), "a b"),
            1,
            (
                '`pack_id` is "a b", but it holds white space; task ids carry it as a path component\n'
                "  fix: use letters, digits, `_` and `-`"
            ),
        ),
        (
            put(M, ("pack_id",), ".."),
            1,
            (
                '`pack_id` is "..", but `..` is a directory reference; task ids carry it as a path component\n'
                "  fix: use letters, digits, `_` and `-`"
            ),
        ),
        (drop(M, ("version",)), 1, "`version` is required\n  fix: add `version`"),
        (put(M, ("version",), True), 2, "`version` is true; expected non-empty text"),
        (put(M, ("paths",), []), 23, "`paths` is []; expected a mapping"),
        (
            put(M, ("paths",), {"tool": "x.json"}),
            24,
            "unknown key `tool` in `paths`\n  fix: did you mean `tools`?",
        ),
        (
            put(M, ("paths",), {"held_out": "x.yaml"}),
            24,
            "`paths.held_out` is no key of `paths`\n  fix: use the top-level key `held_out`",
        ),
        (put(M, ("paths",), {"tools": 3}), 24, "`paths.tools` is 3; expected text\n  fix: quote it to make it text"),
        (put(M, ("description",), 3), 3, "`description` is 3; expected text\n  fix: quote it to make it text"),
        (put(M, ("languages",), "en"), 4, '`languages` is "en"; expected a list'),
        (put(M, ("languages",), ["en", "en"]), 6, '`languages` lists "en" twice\n  fix: keep one of the two'),
        (put(M, ("languages",), ["en", 3]), 6, "`languages.1` is 3; expected text\n  fix: quote it to make it text"),
        (
            put(M, ("default_language",), "vi"),
            6,
            "`default_language` is `vi`; expected one of `languages`: en\n  fix: add `vi` there",
        ),
        (put(M, ("clock",), 3), 23, "`clock` is 3; expected text\n  fix: quote it to make it text"),
        (
            put(M, ("primary_keys", "firings"), 1),
            8,
            "`primary_keys.firings` is 1; expected a field name\n  fix: quote it to make it text",
        ),
        (put(M, ("primary_keys", "firings"), None), 8, "`primary_keys.firings` is null; expected a field name"),
        (put(M, ("absent_ids", "kilns"), {}), 10, "`absent_ids.kilns` is {}; expected a list"),
        (put(M, ("absent_ids", "kilns"), [None]), 11, "`absent_ids.kilns.0` is null; expected text or a number"),
        (put(M, ("system_prompt",), 1), 13, "`system_prompt` is 1; expected text\n  fix: quote it to make it text"),
        (put(M, ("system_prompt_path",), " "), 23, '`system_prompt_path` is " "; expected non-empty text'),
        (
            put(M, ("assistant_turn_templates", "ask_confirmation"), {"en": "x"}),
            23,
            "unknown key `ask_confirmation` in `assistant_turn_templates`\n  fix: did you mean `ask_confirm`?",
        ),
        (
            put(M, ("assistant_turn_templates", "decline"), "no"),
            19,
            '`assistant_turn_templates.decline` is "no"; expected a mapping',
        ),
        (
            put(M, ("assistant_turn_templates", "decline", "en"), 1),
            20,
            "`assistant_turn_templates.decline.en` is 1; expected text\n  fix: quote it to make it text",
        ),
        (
            put(M, ("confirmation",), {"paramter": "ok"}),
            24,
            "unknown key `paramter` in `confirmation`\n  fix: did you mean `parameter`?",
        ),
        (
            put(M, ("confirmation",), {"pending_status": ""}),
            24,
            '`confirmation.pending_status` is ""; expected non-empty text',
        ),
        (
            put(M, ("surface_guards",), {"tool_names_exemt": []}),
            24,
            "unknown key `tool_names_exemt` in `surface_guards`\n  fix: did you mean `tool_names_exempt`?",
        ),
        (
            put(M, ("surface_guards",), {"tool_names_exempt": ["a", 1]}),
            26,
            "`surface_guards.tool_names_exempt.1` is 1; expected text\n  fix: quote it to make it text",
        ),
    ],
)
def test_manifest_field_of_the_wrong_shape_is_refused(refused: Refused, edit: Edit, line: int, message: str) -> None:
    (problem,) = refused(edit)
    assert problem.code == "manifest_invalid"
    assert str(problem) == f"pack/manifest.yaml:{line}: manifest_invalid: {message}"


def test_manifest_defaults_are_filled_in() -> None:
    read = read_manifest(parse_yaml(b"pack_id: 7\nversion: 2\n", path="manifest.yaml", code="x"))
    manifest = read.manifest
    assert (read.problems, read.warnings) == ((), ())
    assert (manifest.pack_id, manifest.version) == ("7", "2")
    assert (manifest.languages, manifest.default_language, manifest.clock) == ((), None, None)
    assert manifest.confirmation == Confirmation(
        parameter="confirm", status_field="status", pending_status="awaiting_confirmation"
    )
    assert manifest.values["confirmation"] == {
        "parameter": "confirm",
        "status_field": "status",
        "pending_status": "awaiting_confirmation",
    }


def test_manifest_keeps_the_packs_own_metadata(load: Load) -> None:
    pack = load(put(M, ("x-fee",), {"cents": 3}))
    assert pack.manifest.values["x-fee"] == {"cents": 3}
    assert pack.warnings == ()


def test_pack_id_may_hold_letters_of_any_script(load: Load) -> None:
    assert load(put(M, ("pack_id",), " lò_nung ")).manifest.pack_id == "lò_nung"


def test_one_absent_id_may_stand_without_a_list(load: Load) -> None:
    assert load(put(M, ("absent_ids", "kilns"), "K-90")).manifest.absent_ids == {"kilns": ("K-90",)}


def test_unquoted_version_and_unknown_keys_are_warnings(load: Load) -> None:
    pack = load(
        text(M, "pack_id: p\nversion: 0.10\ndefault_langage: en\nfee: 3\n"),
    )
    assert pack.manifest.version == "0.1"
    assert [str(warning) for warning in pack.warnings] == [
        (
            "pack/manifest.yaml:3: unknown_manifest_key: unknown key `default_langage` is kept as the pack's own "
            "metadata and has no effect\n  fix: did you mean `default_language`?"
        ),
        (
            "pack/manifest.yaml:4: unknown_manifest_key: unknown key `fee` is kept as the pack's own "
            "metadata and has no effect\n  fix: name it `x-fee` to mark it as yours"
        ),
        (
            "pack/manifest.yaml:2: unquoted_version: `version` is an unquoted number and becomes '0.1', "
            'which may not be what was written\n  fix: write `version: "0.1"`'
        ),
    ]


def test_another_clock_and_languages_without_text_are_warnings(load: Load) -> None:
    pack = load(put(M, ("clock",), "2026-01-01T00:00:00+00:00"), put(M, ("languages",), ["en", "vi"]))
    assert [str(warning) for warning in pack.warnings] == [
        (
            "pack/manifest.yaml:24: manifest_clock_differs: `clock` is `2026-01-01T00:00:00+00:00`, "
            f"but the run uses `oracle_runtime.clock` `{CLOCK}`\n  fix: make the two agree"
        ),
        ("pack/manifest.yaml:6: language_without_text: `languages` offers `vi`, in which no template has a user turn"),
    ]


def test_clock_equal_to_the_runs_is_no_warning(load: Load) -> None:
    assert load(put(M, ("clock",), CLOCK)).warnings == ()


def test_inline_system_prompt_wins_over_the_file(load: Load) -> None:
    pack = load(put(M, ("system_prompt_path",), "prompt.txt"), text("prompt.txt", "From the file.\n"))
    assert pack.manifest.system_prompt == "You help the guests of a pottery studio."
    assert pack.files["system_prompt"].logical == "tree/prompt.txt"


def test_system_prompt_of_the_file_is_trimmed(load: Load) -> None:
    pack = load(
        put(M, ("system_prompt",), " "),
        put(M, ("system_prompt_path",), "prompt.txt"),
        text("prompt.txt", "\n From the file. \n"),
    )
    assert pack.manifest.system_prompt == "From the file."
    assert pack.manifest.values["system_prompt"] == "From the file."


def test_no_system_prompt_leaves_the_default_to_rendering(load: Load) -> None:
    assert load(drop(M, ("system_prompt",))).manifest.system_prompt is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            b" \n",
            (
                "pack/prompt.txt: manifest_invalid: the system prompt file is empty; expected text\n"
                "  fix: write the prompt, or remove `system_prompt_path` from the manifest"
            ),
        ),
        (b"ok\n\xff", "pack/prompt.txt:2: pack_parse_error: byte 0xff is not UTF-8"),
    ],
)
def test_unusable_system_prompt_file_is_refused(refused: Refused, content: bytes, problem: str) -> None:
    problems = refused(put(M, ("system_prompt_path",), "prompt.txt"), text("prompt.txt", content))
    assert [str(one) for one in problems] == [problem]
