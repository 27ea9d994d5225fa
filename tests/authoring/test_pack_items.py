"""What differs between two packs, item by item."""

from __future__ import annotations

import dataclasses
import json

import pytest

from bfcl.authoring.pack_items import Item, Sources, functions, items
from bfcl.pack.own_config import load_own
from tests.packs import (
    ALL_POLICIES,
    TEMPLATES,
    add_case,
    add_template,
    drop,
    drop_template,
    put,
    put_template,
    replace,
    text,
    write_pack,
)


@pytest.fixture
def changed(tmp_path):
    """Items of the good pack against itself with edits, one section."""

    def compare(section, *edits):
        found = items(read(write_pack(tmp_path / "a")), read(write_pack(tmp_path / "b", *edits)))
        assert set(found) <= {section}
        return found.get(section, [])

    return compare


def read(root):
    pack = load_own(root).pack
    return Sources(
        pack=pack,
        assertions=pack.files["assertions"].path.read_bytes(),
        backend=pack.files["backend"].path.read_bytes(),
    )


def test_equal_packs_have_no_items(changed):
    assert changed("nothing") == []


def test_layout_comments_and_written_out_defaults_are_no_items(changed):
    assert (
        changed(
            "nothing",
            put_template("kiln_status", ("call_order",), "strict"),
            replace("assertions.py", "def assert_no_tool_called", "# Nothing.\ndef assert_no_tool_called"),
            replace("backend.py", '"""The studio\'s kilns: an in-memory oracle."""', '"""Kilns."""'),
            text("README.md", "# Another\n"),
        )
        == []
    )


def test_tools_tell_parameters_fields_and_order(changed):
    parameters = ("function", "parameters", "properties")
    found = changed(
        "tools",
        put("tools.json", (0, *parameters, "zone"), {"type": "string"}),
        put("tools.json", (1, "function", "description"), "Find a firing."),
        put("tools.json", (2, *parameters, "cone", "maximum"), 12),
        drop("tools.json", (2, *parameters, "atmosphere")),
        put("tools.json", (2, "function", "parameters", "required"), ["kiln_id"]),
    )
    assert found == [
        Item(change="changed", name="get_kiln", details=("parameter `zone` added",)),
        Item(change="changed", name="get_firing", details=("description",)),
        Item(
            change="changed",
            name="start_firing",
            details=(
                "parameter `atmosphere` removed",
                "parameter `cone` changed: maximum 10 -> 12",
                'parameters.required[1]: "cone" -> nothing',
            ),
        ),
    ]


def test_templates_tell_what_came_went_and_which_fields_changed(changed):
    found = changed(
        "templates",
        put_template("kiln_status", ("user_turn_templates", "en"), "Is kiln {kiln_id} hot?"),
        put_template("kiln_status", ("mutates",), True),
        drop_template("out_of_scope"),
        add_template("kiln_unknown", like="kiln_unknown"),
    )
    assert found == [
        Item(change="removed", name="out_of_scope"),
        Item(change="added", name="kiln_unknown"),
        Item(change="changed", name="kiln_status", details=("mutates", "user_turn_templates")),
    ]


def test_cases_are_known_by_their_id_and_their_order_counts(changed):
    found = changed(
        "validation_cases",
        drop("validation_cases.yaml", (1,)),
        put("validation_cases.yaml", (0, "arguments", "kiln_id"), "K-2"),
        add_case(id="kiln_missing", tool="get_kiln", arguments={"kiln_id": "K-90"}),
    )
    assert found == [
        Item(change="changed", name="(order)"),
        Item(change="changed", name="kiln_found", details=("arguments",)),
        Item(change="changed", name="kiln_missing", details=("expect",)),
    ]


def test_manifest_keys_tell_both_values(changed):
    found = changed(
        "manifest",
        put("manifest.yaml", ("version",), "1.1"),
        put("manifest.yaml", ("absent_ids", "kilns"), ["K-90"]),
    )
    assert found == [
        Item(change="changed", name="absent_ids", details=('kilns[1]: "K-91" -> nothing',)),
        Item(change="changed", name="version", details=('"1.0" -> "1.1"',)),
    ]


def test_fixture_rows_are_known_by_their_primary_key(changed):
    row = {"kiln_id": "K-4", "zone": "west", "status": "idle", "recent_firings": []}
    found = changed(
        "fixtures",
        put("fixtures.json", ("kilns", "-"), row),
        put("fixtures.json", ("kilns", 0, "zone"), "east"),
        drop("fixtures.json", ("firings", 0)),
        put("fixtures.json", ("opening_hours",), "8-17"),
        put("fixtures.json", ("rates",), {"cone": 1}),
    )
    assert found == [
        Item(change="removed", name="F-10", group="firings"),
        Item(change="added", name="K-4", group="kilns"),
        Item(change="changed", name="K-1", group="kilns", details=('zone: "north" -> "east"',)),
        Item(change="changed", name="opening_hours", details=('"9-17" -> "8-17"',)),
        Item(change="added", name="rates"),
    ]


def test_rows_in_another_order_are_told(tmp_path):
    a = read(write_pack(tmp_path / "a"))
    b = read(write_pack(tmp_path / "b"))
    rows = json.loads((tmp_path / "b/fixtures.json").read_text(encoding="utf-8"))
    rows["firings"].reverse()
    (tmp_path / "b/fixtures.json").write_text(json.dumps(rows), encoding="utf-8")
    b = read(tmp_path / "b")
    assert items(a, b) == {"fixtures": [Item(change="changed", name="(order)", group="firings")]}


def test_held_out_policy_that_came_is_told_with_its_manifest_key(tmp_path):
    a = read(write_pack(tmp_path / "a"))
    policy = text("held_out.yaml", 'version: "1"\nfixtures: {kilns: [K-2]}\n')
    b = read(write_pack(tmp_path / "b", put("manifest.yaml", ("held_out",), "held_out.yaml"), policy))
    assert items(a, b)["held_out"] == [Item(change="added", name="policy")]
    more = text("held_out.yaml", 'version: "1"\nfixtures: {kilns: [K-2, K-3]}\n')
    c = read(write_pack(tmp_path / "c", put("manifest.yaml", ("held_out",), "held_out.yaml"), more))
    assert items(b, c) == {
        "held_out": [Item(change="changed", name="fixtures", details=('kilns[1]: nothing -> "K-3"',))]
    }


def test_functions_that_use_a_changed_one_are_told_as_such(changed):
    found = changed(
        "assertions",
        replace("assertions.py", 'if call["tool"] == tool]', 'if call["tool"] in tool]'),
        replace("assertions.py", "assert not trace,", "assert trace == [],"),
    )
    assert found == [
        Item(change="changed", name="_results"),
        Item(change="changed", name="assert_no_tool_called"),
        *(
            Item(change="changed", name=name, details=("through _results",))
            for name in ("assert_kiln_read", "assert_firing_read", "assert_firing_from_kiln", "assert_started_as_asked")
        ),
    ]


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        (b"X = 1\ndef f(): return X\n", b"X = 2\ndef f(): return X\n", [("X", ()), ("f", ("through X",))]),
        (b"X: int = 1\n", b"X: int = 1  # one\n", []),
        (b"def f(): pass\n", b"def g(): pass\n", [("f", ()), ("g", ())]),
        (b"import a\n", b"import b\n", [("(module)", ())]),
        (b"def f(: pass\n", b"def f(): pass\n", [("(module)", ("does not parse",))]),
        (b"def f():\n    'Says.'\n    return 1\n", b"def f():\n    return 1\n", []),
        (b"def f(): return g()\ndef g(): return f()\n", b"def f(): return g()\ndef g(): return f()\n", []),
    ],
)
def test_functions_compare_code_not_text(a, b, found):
    assert [(one.name, one.details) for one in functions(a, b)] == found


@pytest.mark.parametrize(
    ("section", "file", "pointer", "before", "after", "details"),
    [
        ("templates", None, ("assistant_milestones", 1, "args", "confirm"), True, 1, ("assistant_milestones",)),
        (
            "tools",
            "tools.json",
            (2, "function", "parameters", "properties", "cone", "minimum"),
            1,
            1.0,
            ("parameter `cone` changed: minimum 1 -> 1.0",),
        ),
        (
            "validation_cases",
            "validation_cases.yaml",
            (2, "arguments"),
            {"kiln_id": 7},
            {"kiln_id": 7.0},
            ("arguments",),
        ),
        ("validation_cases", "validation_cases.yaml", (0, "expect", "kiln"), 1, True, ("expect",)),
        ("validation_cases", "validation_cases.yaml", (0, "notes"), True, 1, ("notes",)),
    ],
)
def test_value_of_another_json_type_is_a_change(tmp_path, section, file, pointer, before, after, details):
    def edit(value):
        return put_template("start_confirmed", pointer, value) if file is None else put(file, pointer, value)

    a, b = (
        read(write_pack(tmp_path / name, edit(value), templates=ALL_POLICIES))
        for name, value in (("a", before), ("b", after))
    )
    found = items(a, b)
    assert list(found) == [section]
    assert [(one.change, one.details) for one in found[section]] == [("changed", details)]


def test_slots_in_another_order_are_a_change(tmp_path):
    a = write_pack(tmp_path / "a", templates=ALL_POLICIES)
    turned = dict(reversed(TEMPLATES["start_confirmed"]["slots"].items()))
    b = write_pack(tmp_path / "b", put_template("start_confirmed", ("slots",), turned), templates=ALL_POLICIES)
    assert items(read(a), read(b)) == {
        "templates": [Item(change="changed", name="start_confirmed", details=("slots",))]
    }


def test_notes_of_a_case_are_told(changed):
    assert changed("validation_cases", put("validation_cases.yaml", (0, "notes"), "seen twice")) == [
        Item(change="changed", name="kiln_found", details=("notes",))
    ]


def test_module_statements_in_another_order_are_told():
    assert list(functions(b"Z = 1\nZ = 2\nY = Z\n", b"Z = 1\nY = Z\nZ = 2\n")) == [
        Item(change="changed", name="(order)")
    ]


def test_everything_of_a_backend_that_came_is_added():
    assert list(functions(b"", b"import copy\nX = 1\n")) == [
        Item(change="added", name="(module)"),
        Item(change="added", name="X"),
    ]


def test_further_modules_are_told_with_what_changed_inside(tmp_path):
    pack = read(write_pack(tmp_path / "a"))
    a, b = (
        dataclasses.replace(pack, modules=modules)
        for modules in (
            {"kept.py": b"# one\n", "lost.py": b"", "rows.py": b"X = 1\ndef f(): return X\n"},
            {"kept.py": b"# two\n", "new.py": b"", "rows.py": b"X = 2\ndef f(): return X\n"},
        )
    )
    assert items(a, b) == {
        "modules": [
            Item(change="removed", name="lost.py"),
            Item(change="added", name="new.py"),
            Item(change="changed", name="rows.py", details=("X changed", "f changed through X")),
        ]
    }
