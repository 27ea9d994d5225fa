from __future__ import annotations

import pytest

from tests.pack.conftest import Load, Refused
from tests.packs import Edit, drop, put, text

FN = ("function",)


@pytest.mark.parametrize(
    ("edit", "line", "message"),
    [
        (text("tools.json", '{"a": 1}'), 1, 'the value is {"a": 1}; expected an array of tools'),
        (put("tools.json", (0,), 5), 2, "tool 0: the value is 5; expected an object with `function`"),
        (put("tools.json", (0, "type"), "tool"), 3, 'tool 0: `type` is "tool"; expected the word "function"'),
        (put("tools.json", (0, "type"), None), 3, 'tool 0: `type` is null; expected the word "function"'),
        (drop("tools.json", (0, "function")), 2, "tool 0: `function` is required\n  fix: add `function`"),
        (put("tools.json", (0, "function"), 1), 4, "tool 0: `function` is 1; expected an object with `name`"),
        (
            put("tools.json", (0, "mutates"), True),
            21,
            "tool 0: unknown key `mutates`\n  fix: did you mean `x-mutates`?",
        ),
        (
            put("tools.json", (0, "function", "descripton"), ""),
            20,
            "tool 0: unknown key `descripton` in `function`\n  fix: did you mean `description`?",
        ),
        (drop("tools.json", (0, "function", "name")), 4, "tool 0: `function.name` is required\n  fix: add `name`"),
        (put("tools.json", (0, "function", "name"), ""), 5, 'tool 0: `function.name` is ""; expected non-empty text'),
        (
            put("tools.json", (0, "function", "name"), "a "),
            5,
            'tool 0: `function.name` is "a "; expected a name without surrounding white space',
        ),
        (
            put("tools.json", (1, "function", "name"), "get_kiln"),
            25,
            "tool 1: the name `get_kiln` is taken by an earlier tool",
        ),
        (
            put("tools.json", (0, "function", "description"), 1),
            6,
            "tool 0: `function.description` is 1; expected text\n  fix: quote it to make it text",
        ),
        (
            put("tools.json", (0, "function", "strict"), "yes"),
            20,
            'tool 0: `function.strict` is "yes"; expected true or false',
        ),
        (
            put("tools.json", (0, "function", "parameters"), None),
            7,
            "tool 0: `function.parameters` is null; expected an object holding a JSON schema",
        ),
        (put("tools.json", (2, "x-mutates"), 1), 78, "tool 2: `x-mutates` is 1; expected true or false"),
        (
            put("tools.json", (2, "x-requires-confirmation"), "no"),
            79,
            'tool 2: `x-requires-confirmation` is "no"; expected true or false',
        ),
    ],
)
def test_tools_with_a_defective_entry_are_refused(refused: Refused, edit: Edit, line: int, message: str) -> None:
    (problem,) = refused(edit)
    assert problem.code == "tools_catalog_invalid"
    assert str(problem) == f"pack/tools.json:{line}: tools_catalog_invalid: {message}"


def test_tools_collect_the_problems_of_all_entries(refused: Refused) -> None:
    problems = refused(put("tools.json", (0, "type"), 1), put("tools.json", (2, "function", "name"), 7))
    assert [problem.field for problem in problems] == ["0.type", "2.function.name"]


def test_empty_catalog_loads(load: Load) -> None:
    assert load(put("tools.json", (), [])).tools == ()


def test_missing_parameters_load_and_a_root_type_is_filled_in(load: Load) -> None:
    pack = load(
        drop("tools.json", (0, "function", "parameters")), drop("tools.json", (1, "function", "parameters", "type"))
    )
    assert pack.tools[0].parameters is None
    assert pack.tools[1].parameters is not None
    assert next(iter(pack.tools[1].parameters)) == "type"
    assert pack.tools[1].parameters["type"] == "object"


def test_model_facing_form_holds_no_extension_and_always_a_type(load: Load) -> None:
    pack = load(
        drop("tools.json", (2, "type")),
        put("tools.json", (2, "x-team"), "clay"),
        put("tools.json", (2, "function", "x-mutates"), True),
        put("tools.json", (2, "function", "parameters", "properties", "x-note"), {"type": "string"}),
    )
    shown = pack.tools[2].model_facing()
    assert set(shown) == {"type", "function"}
    assert shown["type"] == "function"
    assert set(shown["function"]) == {"name", "description", "parameters"}  # type: ignore[arg-type]
    assert "x-note" in shown["function"]["parameters"]["properties"]  # type: ignore[call-overload, index]
    internal = pack.tools[2].internal()
    assert internal["x-team"] == "clay"
    assert internal["x-mutates"] is True
    assert internal["function"]["x-mutates"] is True  # type: ignore[call-overload, index]


def test_unknown_extensions_and_unportable_names_are_warnings(load: Load) -> None:
    pack = load(
        put("tools.json", (2, "x-team"), "clay"),
        put("tools.json", (0, "function", "x-mutates"), True),
        put("tools.json", ("-",), {"function": {"name": "kiln.open", "parameters": {}}}),
    )
    assert [str(warning) for warning in pack.warnings] == [
        (
            "pack/tools.json:20: unknown_tool_extension: tool 0: `function.x-mutates` has no effect "
            "and is kept in the internal catalog only\n  fix: move `x-mutates` beside `function`"
        ),
        (
            "pack/tools.json:81: unknown_tool_extension: tool 2: `x-team` has no meaning here "
            "and is kept in the internal catalog only"
        ),
        (
            'pack/tools.json:85: tool_name_not_portable: tool 3: the name "kiln.open" goes beyond '
            "[A-Za-z0-9_-]{1,64}; exports and many servers refuse it\n  fix: rename the tool"
        ),
        (
            "pack/tools.json:85: tool_not_exercised: no template calls `kiln.open`, so no task will test it\n"
            "  fix: add a template that calls it"
        ),
    ]
