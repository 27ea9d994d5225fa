from __future__ import annotations

import ast
from pathlib import Path

import pytest

from bfcl.authoring.source.published import published_names
from tests.authoring.source.sources import BACKEND, checked, told


def read(text: str) -> list[str] | None:
    tree = ast.parse(text)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "list_tools")
    return published_names(tree, function)


def returning(expression: str, before: str = "") -> str:
    return f"{before}\ndef list_tools():\n    '''Names.'''\n    return {expression}\n"


@pytest.mark.parametrize(
    "text",
    [
        returning("['a', 'b']"),
        returning("('a', 'b')"),
        returning("list(('a', 'b'))"),
        returning("sorted({'a', 'b'}, key=len)"),
        returning("tuple(list(NAMES))", "NAMES: tuple = ('a', 'b')"),
        returning("NAMES", "NAMES = ['a', 'b']"),
        returning("sorted(TOOLS)", "TOOLS = {'a': 1, 'b': 2}"),
        "def list_tools():\n    def other():\n        return ['z']\n    return ['a', 'b']\n",
        "def list_tools():\n    if x:\n        return ['a', 'b']\n    return ['a', 'b']\n",
    ],
)
def test_published_names_are_read_from_what_is_written_out(text: str) -> None:
    assert sorted(read(text) or ()) == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        returning("[name for name in 'ab']"),
        returning("{'a': 1}"),
        returning("NAMES"),
        returning("NAMES", "NAMES = ['a']\nNAMES.append('b')"),
        returning("NAMES", "NAMES = ['a']\nNAMES[0] = 'b'"),
        returning("NAMES", "NAMES = ['a']\nNAMES += ['b']"),
        returning("list(NAMES)", "NAMES = ['a']\ndef f():\n    global NAMES\n    NAMES = []"),
        returning("NAMES", "from shelf import NAMES"),
        returning("NAMES", "OTHER = ['a']\nNAMES = OTHER"),
        returning("['a', *REST]", "REST = ['b']"),
        returning("['a', 1]"),
        returning("list(['a'], 1)"),
        "NAMES = ['a']\ndef list_tools():\n    NAMES = load()\n    return NAMES\n",
        "def list_tools():\n    yield 'a'\n",
        "def list_tools():\n    pass\n",
        "def list_tools():\n    if x:\n        return ['a']\n    return ['b']\n",
        "@cached\ndef list_tools():\n    return ['a']\n",
    ],
)
def test_published_names_are_unknown_where_only_running_would_tell(text: str) -> None:
    assert read(text) is None


def backend(old: str, new: str) -> dict[str, str | bytes | None]:
    assert BACKEND.count(old) == 1
    return {"backend.py": BACKEND.replace(old, new)}


def test_check_finds_published_names_that_differ_from_the_catalog(tmp_path: Path) -> None:
    verdict = checked(tmp_path, backend('["get_kiln"]', '["fire", "fire", "glaze"]'))
    assert told(verdict) == [
        "backend.py: tool_never_named (risks_failure): the tool `get_kiln` is nowhere named as a string, so no call of "
        "it can be told apart",
        "backend.py:6: published_names_mismatch (blocks_all_probes): `list_tools` publishes `fire`, `glaze`, which the "
        "catalog does not hold; it leaves out `get_kiln`, which the catalog holds; it publishes `fire`, more than once",
    ]
    assert verdict.blocking == ("published_names_mismatch",)


def test_check_advises_where_published_names_are_not_static(tmp_path: Path) -> None:
    verdict = checked(tmp_path, backend('["get_kiln"]', '["get_" + "kiln", "get_kiln"][1:]'))
    assert told(verdict) == [
        "backend.py:6: published_names_not_static (unverifiable_statically): what `list_tools` returns cannot be read "
        "without running it; return a list or tuple of strings, or `list(...)` of a constant of the module"
    ]
    assert verdict.blocking == ()


@pytest.mark.parametrize("name", ["list_tools", "reset", "call_tool", "get_state"])
@pytest.mark.parametrize("instead", ["async def {}", "def _{}"])
def test_check_finds_each_missing_function(tmp_path: Path, name: str, instead: str) -> None:
    verdict = checked(tmp_path, backend(f"def {name}", instead.format(name)))
    assert told(verdict) == [
        f"backend.py: backend_symbol_missing (blocks_all_probes): `{name}` is not a function at module level, written "
        "with `def`"
    ]


def test_check_takes_a_tool_named_in_a_module_that_the_backend_imports(tmp_path: Path) -> None:
    files = {**backend('["get_kiln"]', "list(NAMES)"), "names.py": "NAMES = ['get_kiln']\n"}
    files["backend.py"] = f"from names import NAMES\n{files['backend.py']}"
    assert [one.code for one in checked(tmp_path, files).findings] == ["published_names_not_static"]
