from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.digest import sha256_of
from bfcl.errors import PackError
from bfcl.pack.load import load_pack, read_pack
from tests.pack.conftest import Load, Refused
from tests.packs import ALL_POLICIES, TEMPLATES, put, put_template, replace, run_config, text, write_pack


def test_good_pack_loads_without_a_warning(load: Load, home: Path) -> None:
    pack = load()
    assert pack.warnings == ()
    assert pack.root == home / "pack"
    assert [tool.name for tool in pack.tools] == ["get_kiln", "get_firing", "start_firing"]
    assert pack.tool("start_firing") is pack.tools[2]
    assert pack.tool("nothing") is None
    assert len(pack.cases) == 10
    assert pack.entries["tree/README.md"] == sha256_of(b"# Kiln studio\n\nA pack for tests.\n")
    assert pack.paths["tree/README.md"] == home / "pack" / "README.md"
    assert list(pack.paths) == list(pack.entries)


def test_code_is_held_as_it_was_read(load: Load, home: Path) -> None:
    pack = load(text("backend.py", "READ = 1\n"))
    (home / "pack" / "backend.py").write_bytes(b"LATER = 2\n")
    assert pack.code == {"backend": b"READ = 1\n", "assertions": (home / "pack" / "assertions.py").read_bytes()}
    assert pack.entries["tree/backend.py"] == sha256_of(pack.code["backend"])


def test_pack_of_all_policies_loads_without_a_warning(load: Load) -> None:
    pack = load(templates=ALL_POLICIES)
    assert pack.warnings == ()
    assert {template.turn_policy for template in pack.templates} == {one["turn_policy"] for one in TEMPLATES.values()}
    assert len({template.turn_policy for template in pack.templates}) == 9


def test_loading_runs_no_pack_code_and_leaves_no_bytecode(load: Load, home: Path) -> None:
    load(text("backend.py", "raise SystemExit\n"), text("assertions.py", "import no_such_module\n"))
    assert sorted(path.name for path in (home / "pack").iterdir()) == [
        "README.md",
        "assertions.py",
        "backend.py",
        "fixtures.json",
        "manifest.yaml",
        "task_templates.yaml",
        "tools.json",
        "validation_cases.yaml",
    ]
    assert "no_such_module" not in sys.modules


def test_problems_of_all_files_are_collected_manifest_first(refused: Refused, home: Path) -> None:
    (home / "pack").mkdir()
    (home / "pack" / "old.pyc").write_bytes(b"")
    problems = refused(
        put("manifest.yaml", ("languages",), "en"),
        put("tools.json", (0, "type"), 1),
        text("fixtures.json", "[]"),
        put_template("kiln_status", ("mutates",), "no"),
        put("validation_cases.yaml", (0, "coverage"), 1),
    )
    assert [problem.code for problem in problems] == [
        "manifest_invalid",
        "tools_catalog_invalid",
        "fixtures_invalid",
        "task_templates_invalid",
        "validation_cases_invalid",
        "pack_bytecode_refused",
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manifest.yaml", "a: [", "2: pack_parse_error: not YAML: did not find expected node content"),
        (
            "manifest.yaml",
            "pack_id: a\npack_id: b\n",
            "2: pack_parse_error: key 'pack_id' is given twice in one mapping\n  fix: keep one of the two",
        ),
        ("tools.json", "[\n1 2]", "2: pack_parse_error: not JSON: Expecting ',' delimiter"),
        ("fixtures.json", '{"a": NaN}', "1: pack_parse_error: NaN is not a finite number"),
        (
            "fixtures.json",
            b'{"a": "\xff"}',
            "1: pack_parse_error: byte 0xff is not UTF-8\n  fix: save the file as UTF-8",
        ),
        (
            "task_templates.yaml",
            "- a: .inf\n",
            "1: pack_parse_error: .inf is not a finite number\n  fix: quote it to keep it as text",
        ),
        (
            "validation_cases.yaml",
            "- a\n--- b\n",
            "2: pack_parse_error: not YAML: a second document starts here; expected one document",
        ),
    ],
)
def test_files_that_do_not_parse_are_refused_with_line(
    refused: Refused, name: str, content: str | bytes, message: str
) -> None:
    (problem,) = refused(text(name, content))
    assert problem.code == "pack_parse_error"
    assert problem.column is not None or "UTF-8" in message
    assert str(problem) == f"pack/{name}:{message}"


def test_tree_is_judged_even_where_the_manifest_does_not_parse(refused: Refused, home: Path) -> None:
    (home / "pack" / "__pycache__").mkdir(parents=True)
    assert [problem.code for problem in refused(text("manifest.yaml", "a: ["))] == [
        "pack_parse_error",
        "pack_bytecode_refused",
    ]


def test_fingerprint_covers_a_comment_that_changes_no_value(load: Load) -> None:
    plain = load()
    noted = load(replace("backend.py", "import copy\n", "import copy  # noted\n"))
    assert plain.templates == noted.templates
    assert plain.fingerprint != noted.fingerprint
    assert plain.fingerprint == load().fingerprint


def test_tools_no_template_calls_are_a_warning(load: Load) -> None:
    (warning,) = load(templates=("kiln_status", "start_confirmed")).warnings
    assert str(warning) == (
        "pack/tools.json:25: tool_not_exercised: no template calls `get_firing`, so no task will test it\n"
        "  fix: add a template that calls it"
    )


def test_pack_error_carries_every_problem_through_pickle(refused: Refused) -> None:
    import pickle

    error = PackError(refused(text("tools.json", "{}"), text("fixtures.json", "[]")))
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


FILES = ("manifest.yaml", "tools.json", "fixtures.json", "task_templates.yaml", "validation_cases.yaml")
MUTATION = st.tuples(
    st.sampled_from(FILES),
    st.floats(0, 1),
    st.integers(0, 12),
    st.one_of(
        st.binary(max_size=4),
        st.sampled_from(
            [b"null", b"[]", b"{}", b": ", b"\n", b"- ", b"&a *a", b"'", b"\0", b"!!x ", b"1e999", b"<<: "]
        ),
    ),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(MUTATION, min_size=1, max_size=3))
def test_mutated_pack_files_raise_nothing_but_pack_errors(
    tmp_path: Path, mutations: list[tuple[str, float, int, bytes]]
) -> None:
    root = write_pack(tmp_path / "pack", templates=("kiln_corrected", "start_confirmed", "last_firing"))
    for name, where, removed, inserted in mutations:
        path = root / name
        content = path.read_bytes()
        at = int(where * len(content))
        path.write_bytes(content[:at] + inserted + content[at + removed :])
    assert _problems_have_places(root)


def _problems_have_places(root: Path) -> bool:
    try:
        load_pack(run_config(root), project=root.parent)
    except PackError as error:
        return all(problem.path or problem.subject for problem in error.problems)
    return True


def test_reading_keeps_what_loads_of_a_pack_at_fault_and_where_it_stands(home: Path) -> None:
    root = write_pack(
        home / "pack", put("tools.json", (1, "function", "strict"), "no"), put_template("kiln_status", ("slot",), 1)
    )
    reading = read_pack(run_config(root), project=home)
    assert reading.pack is not None
    assert [tool.name for tool in reading.pack.tools] == ["get_kiln", "start_firing"]
    assert reading.kept["tools"] == (0, 2)
    assert reading.kept["templates"] == (1, 2, 3)
    templates = reading.pack.documents["templates"].value
    assert isinstance(templates, list)
    assert [entry["template_id"] for entry in templates] == [one.template_id for one in reading.pack.templates]
    assert {problem.code for problem in reading.problems} == {"tools_catalog_invalid", "task_templates_invalid"}


def test_reading_of_a_good_pack_is_the_pack(home: Path) -> None:
    root = write_pack(home / "pack")
    reading = read_pack(run_config(root), project=home)
    assert (reading.problems, reading.kept) == ((), {})
    assert reading.pack == load_pack(run_config(root), project=home)


def test_reading_without_a_manifest_that_parses_is_no_pack(home: Path) -> None:
    root = write_pack(home / "pack", text("manifest.yaml", "["))
    reading = read_pack(run_config(root), project=home)
    assert reading.pack is None
    assert [problem.code for problem in reading.problems] == ["pack_parse_error"]
