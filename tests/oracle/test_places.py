"""World B's own copy of the pack, and what places are called in answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.oracle.ambience import ambiences
from bfcl.oracle.places import naming, twin
from bfcl.oracle.protocol import Episode, OracleSpec
from bfcl.oracle.worker import LocalOracle
from tests.oracle.conftest import Packs

LEAK = """
import os, pathlib
{imports}
def list_tools(): return ["look"]
def reset(*, ctx, fixtures=None): pass
def call_tool(name, arguments, *, ctx):
    return {{"leak": {leak}}}
def get_state(): return {{}}
"""


@pytest.mark.parametrize(
    ("leak", "a", "b"),
    [
        ("os.path.realpath(__file__)", "<pack>/backend.py", "<pack of world B>/backend.py"),
        ("str(pathlib.Path(__file__).resolve().parent)", "<pack>", "<pack of world B>"),
        ("{__file__: 1}", {"<pack>/backend.py": 1}, {"<pack of world B>/backend.py": 1}),
        ("os.path.realpath(helper.__file__)", "<pack>/helper.py", "<pack of world B>/helper.py"),
        ("os.getcwd()", "<private>", "<private of world B>"),
        ("os.path.dirname(os.getcwd())", "<private>", "<private of world B>"),
        ("os.path.dirname(os.path.dirname(os.getcwd()))", "<temporary>", "<temporary>"),
    ],
)
def test_place_that_leaks_differs_where_worlds_have_their_own_and_has_the_same_words_in_every_run(
    packs: Packs, episode: Callable[..., Episode], leak: str, a: object, b: object
) -> None:
    oracle = packs.oracle(LEAK.format(imports="import helper", leak=leak), helper="")
    (pair,) = oracle.replay([episode()])
    assert [json.loads(one.results[0])["leak"] for one in pair] == [a, b]
    (alone,) = oracle.run([episode()])
    assert json.loads(alone.results[0])["leak"] == a


@pytest.mark.parametrize(
    "leak",
    [
        "os.stat(__file__).st_ino",
        "int(os.path.getmtime(__file__)) // 86_400",
        "int(os.stat(os.path.dirname(__file__)).st_mtime) // 86_400",
        "len(os.path.realpath(__file__))",
        "os.readlink(os.path.dirname(__file__)) if os.path.islink(os.path.dirname(__file__)) else len(__file__)",
    ],
)
def test_what_is_known_of_a_file_beside_its_content_differs(
    packs: Packs, episode: Callable[..., Episode], leak: str
) -> None:
    (pair,) = packs.oracle(LEAK.format(imports="", leak=leak)).replay([episode()])
    assert pair.a.results != pair.b.results


def test_module_outside_the_pack_leaks_another_place_in_each_world(
    tmp_path: Path, packs: Packs, episode: Callable[..., Episode]
) -> None:
    outside = tmp_path / "elsewhere" / "studio.py"
    outside.parent.mkdir()
    outside.write_text(LEAK.format(imports="import helper", leak="[__file__, helper.NAME]"), encoding="utf-8")
    spec = packs.spec(packs.view("raise ImportError", helper="NAME = 1"))
    spec = OracleSpec(**{**{name: getattr(spec, name) for name in spec.__slots__}, "backend": str(outside)})
    with LocalOracle(spec) as oracle:
        ((a, b),) = oracle.replay([episode()])
    (first, one), (second, other) = (json.loads(world.results[0])["leak"] for world in (a, b))
    assert one == other == 1
    assert first != second
    assert Path(second).name == "studio.py"


def test_copy_has_every_file_and_another_length(tmp_path: Path, packs: Packs) -> None:
    view = packs.view("x = 1", helper="y = 2")
    (view / "data" / "deep").mkdir(parents=True)
    (view / "data" / "deep" / "rows.json").write_bytes(b"{}")
    spec = packs.spec(view)
    name = "n" * (len(str(view)) - len(str(tmp_path)) - 1)
    copied = twin(spec, tmp_path, name)
    assert len(copied.view) != len(spec.view)
    assert Path(copied.backend).read_text(encoding="utf-8") == "x = 1"
    listed = [sorted(str(path.relative_to(root)) for path in Path(root).rglob("*")) for root in (view, copied.view)]
    assert listed[0] == listed[1]
    assert "data/deep/rows.json" in listed[1]


def test_view_as_it_is_laid_out_has_a_name_of_its_own(tmp_path: Path, packs: Packs) -> None:
    place = tmp_path / 'a "quoted" näme'
    spec = packs.spec(place / "tree")
    told = naming(spec, ambiences(spec.clock)["a"], tmp_path / "temporary")
    for path, word in ((place / "tree" / "x", "<pack>/x"), (place / "x", "<view>/x"), (tmp_path / "x", None)):
        text = json.dumps({"at": str(path)}, ensure_ascii=False)
        assert json.loads(told(text)) == {"at": str(path) if word is None else word}
