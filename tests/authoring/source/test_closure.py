from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.source.closure import Closure, read_closure
from bfcl.errors import PackError
from tests.authoring.source.sources import write_source

ALL = {
    "shelf/__init__.py": "from shelf.deep import inner\n",
    "shelf/deep/__init__.py": "",
    "shelf/deep/inner.py": "from .. import plain\nfrom . import twin\nfrom .twin import x\n",
    "shelf/deep/twin.py": "x = 1\n",
    "shelf/plain.py": "import backend\n",
    "shelf/unreached.py": "import requests\n",
    "kilns.py": "",
}


def closure(root: Path, backend: str, files: dict[str, str] | None = None, declared: tuple[str, ...] = ()) -> Closure:
    return read_closure(write_source(root, {**(files or {}), "backend.py": backend}), declared)


def names(found: Closure) -> list[str]:
    return [module.name for module in found.modules]


def told(found: Closure) -> list[str]:
    return [f"{one.file}:{one.line}: {one.code}: {one.detail}" for one in found.findings]


def test_closure_holds_every_module_and_initialiser_that_is_reached_and_no_other(tmp_path: Path) -> None:
    found = closure(tmp_path, "def f():\n    if x:\n        import shelf.plain as p, json\n", ALL)
    assert names(found) == [
        "backend.py",
        "shelf/__init__.py",
        "shelf/deep/__init__.py",
        "shelf/deep/inner.py",
        "shelf/deep/twin.py",
        "shelf/plain.py",
    ]
    assert told(found) == []


@pytest.mark.parametrize(
    ("statement", "reached"),
    [
        ("import kilns", ["kilns.py"]),
        ("from kilns import anything", ["kilns.py"]),
        ("from kilns import *", ["kilns.py"]),
        ("from shelf.deep import twin", ["shelf/deep/twin.py"]),
        ("import collections.abc", []),
    ],
)
def test_closure_follows_every_form_of_import(tmp_path: Path, statement: str, reached: list[str]) -> None:
    found = closure(tmp_path, statement, ALL)
    assert set(reached) <= set(names(found))
    assert told(found) == []


def test_closure_follows_a_star_import_through_the_names_a_package_lists(tmp_path: Path) -> None:
    listed = {"shelf/__init__.py": "__all__ = ['one', 'size']\nsize = 1\n", "shelf/one.py": ""}
    assert names(closure(tmp_path, "from shelf import *", listed)) == [
        "backend.py",
        "shelf/__init__.py",
        "shelf/one.py",
    ]


@pytest.mark.parametrize("listing", ["__all__ = sorted(names)", "__all__ = []\n__all__ += ['one']", "__all__ = [a]"])
def test_closure_finds_a_star_import_of_names_that_are_computed(tmp_path: Path, listing: str) -> None:
    found = closure(tmp_path, "from shelf import *", {"shelf/__init__.py": listing, "shelf/one.py": ""})
    assert told(found) == [
        "backend.py:1: dynamic_import: `__all__` of `shelf/__init__.py` is computed; name what is imported"
    ]


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ("x = 1\nimport importlib.util\n", "2: dynamic_import: `importlib` imports what no reader of the file sees"),
        ("from importlib import import_module\n", "1: dynamic_import: `importlib` imports what no reader"),
        ("x = __import__('os')\n", "1: dynamic_import: `__import__` may bring in code that no reader of the file sees"),
        ("list(map(exec, []))\n", "1: dynamic_import: `exec` may bring in code that no reader of the file sees"),
        ("compile('', '', 'exec')\n", "1: dynamic_import: `compile` may bring in code that no reader"),
        (
            "\nimport requests.adapters\n",
            "2: undeclared_import: `requests` is neither in this source package nor in the standard library, and the "
            "dependency lock does not name it; add the module, or do without",
        ),
        ("import kilns.none\n", "1: undeclared_import: `kilns.none` is not a module of this source package"),
        ("from shelf.none import x\n", "1: undeclared_import: `shelf.none` is not a module of this source package"),
        ("from . import kilns\n", "1: source_path_escape: `.` leads out of the source package; import by full name"),
        ("from ...a import b\n", "1: source_path_escape: `...a` leads out of the source package; import by full name"),
    ],
)
def test_closure_finds_imports_that_cannot_be_followed(tmp_path: Path, backend: str, expected: str) -> None:
    found = told(closure(tmp_path, backend, ALL))
    assert len(found) == 1
    assert found[0].startswith(f"backend.py:{expected}")


def test_closure_finds_a_relative_import_that_climbs_out_of_its_package(tmp_path: Path) -> None:
    found = closure(tmp_path, "import shelf", {"shelf/__init__.py": "from .. import kilns\n"})
    assert told(found) == [
        "shelf/__init__.py:1: source_path_escape: `..` leads out of the source package; import by full name"
    ]


@pytest.mark.parametrize(
    ("files", "statement", "expected"),
    [
        (
            {"kilns.py": "", "kilns/__init__.py": ""},
            "import kilns",
            "import_path_ambiguous: `kilns.py` and the directory `kilns` both answer to `kilns`; rename one of them",
        ),
        (
            {"json.py": ""},
            "import json",
            "import_path_ambiguous: `json` is a module of this source package and of the standard library; "
            "rename the file",
        ),
        (
            {"yaml/__init__.py": ""},
            "import yaml",
            "import_path_ambiguous: `yaml` is a module of this source package and of the dependency lock; "
            "rename the file",
        ),
        (
            {"shelf/one.py": ""},
            "from shelf import one",
            "namespace_package_ambiguous: the directory `shelf` has no `__init__.py`, so other directories may add to "
            "it; add an empty one",
        ),
    ],
)
def test_closure_finds_names_that_two_places_answer_to(
    tmp_path: Path, files: dict[str, str], statement: str, expected: str
) -> None:
    assert told(closure(tmp_path, statement, files, ("yaml",))) == [f"backend.py:1: {expected}"]


def test_closure_leaves_a_directory_of_data_alone_where_the_standard_library_has_the_name(tmp_path: Path) -> None:
    found = closure(tmp_path, "import json\nimport yaml\n", {"json/rows.txt": "", "yaml/rows.txt": ""}, ("yaml",))
    assert told(found) == []


def test_closure_takes_an_own_function_named_like_a_dangerous_one(tmp_path: Path) -> None:
    assert told(closure(tmp_path, "def compile(x):\n    return x\n\ncompile(1)\n")) == []


def test_closure_refuses_every_module_that_cannot_be_parsed(tmp_path: Path) -> None:
    with pytest.raises(PackError) as caught:
        closure(tmp_path, "import kilns, shelf\n", {"kilns.py": "x =\n", "shelf/__init__.py": "y =\n"})
    assert str(caught.value) == (
        "source/kilns.py:1: source_syntax_invalid: not Python: invalid syntax\n"
        "source/shelf/__init__.py:1: source_syntax_invalid: not Python: invalid syntax"
    )


def test_closure_ends_where_modules_import_each_other(tmp_path: Path) -> None:
    found = closure(tmp_path, "import a", {"a.py": "import b\n", "b.py": "import a\nimport backend\n"})
    assert names(found) == ["a.py", "b.py", "backend.py"]
