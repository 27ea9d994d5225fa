from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import PackError
from bfcl.pack.layout import allowed_roots, logical_name, shown
from bfcl.pack.load import load_pack
from tests.pack.conftest import Load, Refused
from tests.packs import Edit, drop, put, rename, run_config, text, write_pack

M = "manifest.yaml"


def test_canonical_names_are_found_in_the_pack_root(load: Load) -> None:
    pack = load()
    assert {role: (file.logical, file.origin) for role, file in pack.files.items()} == {
        "manifest": ("tree/manifest.yaml", "config"),
        "tools": ("tree/tools.json", "canonical"),
        "templates": ("tree/task_templates.yaml", "canonical"),
        "assertions": ("tree/assertions.py", "canonical"),
        "validation_cases": ("tree/validation_cases.yaml", "canonical"),
        "fixtures": ("tree/fixtures.json", "canonical"),
        "backend": ("tree/backend.py", "canonical"),
    }


def test_manifest_paths_win_over_canonical_names(load: Load) -> None:
    pack = load(
        put(M, ("paths",), {"fixtures": "data/rows.json", "backend": "data/oracle.py"}),
        text("data/rows.json", "{}"),
        rename("backend.py", "data/oracle.py"),
    )
    assert (pack.files["fixtures"].logical, pack.files["fixtures"].origin) == ("tree/data/rows.json", "manifest")
    assert (pack.files["backend"].logical, pack.files["backend"].origin) == ("tree/data/oracle.py", "manifest")
    assert pack.fixtures == {}
    assert pack.has_fixtures


def test_configuration_wins_over_manifest_paths(load: Load, home: Path) -> None:
    (home / "rows.json").write_text('{"x": 1}')
    pack = load(
        put(M, ("paths",), {"fixtures": "data/rows.json"}),
        text("data/rows.json", "{}"),
        oracle_pack__fixtures_path=home / "rows.json",
    )
    assert (pack.files["fixtures"].logical, pack.files["fixtures"].origin) == ("declared/fixtures", "config")
    assert pack.fixtures == {"x": 1}
    assert "declared/fixtures" in pack.entries
    assert pack.shown_path("fixtures") == "declared/fixtures"
    assert pack.shown_path("tools") == "tools.json"


def test_files_that_another_one_took_the_role_from_are_named(load: Load, home: Path) -> None:
    (home / "rows.json").write_text("{}")
    pack = load(
        put(M, ("paths",), {"fixtures": "data/rows.json", "tools": "tools.json"}),
        text("data/rows.json", "{}"),
        text("held_out.yaml", "version: '1'\n"),
        oracle_pack__fixtures_path=home / "rows.json",
        oracle_pack__validation_cases_path=home / "pack" / "validation_cases.yaml",
    )
    assert pack.displaced == {
        "fixtures": ("tree/data/rows.json", "tree/fixtures.json"),
        "held_out": ("tree/held_out.yaml",),
    }


def test_file_that_plays_another_role_is_displaced_from_none(load: Load) -> None:
    pack = load(
        put(M, ("paths",), {"fixtures": "data/rows.json"}),
        put(M, ("system_prompt_path",), "fixtures.json"),
        text("data/rows.json", "{}"),
    )
    assert pack.displaced.keys() == {"held_out"}


def test_declared_file_outside_the_root_but_inside_an_allowed_root_is_legal(load: Load, home: Path) -> None:
    (home / "shared.json").write_text("{}")
    pack = load(put(M, ("paths",), {"fixtures": "../shared.json"}))
    assert pack.files["fixtures"].logical == "declared/fixtures"
    assert pack.entries["declared/fixtures"] == (
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    )


def test_fixtures_are_optional(load: Load) -> None:
    pack = load(drop("fixtures.json"))
    assert "fixtures" not in pack.files
    assert (pack.fixtures, pack.has_fixtures) == ({}, False)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            drop("tools.json"),
            (
                "pack/tools.json: pack_file_missing: `tools`: `pack/tools.json` does not exist\n"
                "  fix: add the file or correct the path"
            ),
        ),
        (
            put(M, ("paths",), {"fixtures": "rows.json"}),
            (
                "pack/manifest.yaml:24: pack_file_missing: `fixtures`: `pack/rows.json` does not exist\n"
                "  fix: add the file or correct the path"
            ),
        ),
        (
            put(M, ("paths",), {"fixtures": "."}),
            (
                "pack/manifest.yaml:24: pack_file_missing: `fixtures`: `pack` is a directory; expected a regular file\n"
                "  fix: add the file or correct the path"
            ),
        ),
        (
            put(M, ("paths",), {"fixtures": "a\0b"}),
            "pack/manifest.yaml:24: pack_file_missing: `fixtures`: `pack/a\0b` is no usable path",
        ),
        (
            put(M, ("paths",), {"fixtures": "x" * 300}),
            (
                f"pack/manifest.yaml:24: pack_file_missing: `fixtures`: `pack/{'x' * 300}` cannot be read: "
                "File name too long\n  fix: add the file or correct the path"
            ),
        ),
        (
            put(M, ("system_prompt_path",), "prompt.txt"),
            (
                "pack/manifest.yaml:23: pack_file_missing: `system_prompt_path`: `pack/prompt.txt` does not exist\n"
                "  fix: add the file or correct the path"
            ),
        ),
        (
            drop("backend.py"),
            (
                "pack: oracle_missing: the pack names no oracle; expected `backend.py`, `paths.backend` or "
                "`oracle_pack.backend_path`\n  fix: add `backend.py` to the pack root"
            ),
        ),
        (
            text("endpoint_config.yaml", "base_url: https://kilns.example\n"),
            (
                "pack: oracle_ambiguous: two kinds of oracle: `backend.py` in the pack root and `endpoint_config.yaml` "
                "in the pack root; expected one\n  fix: remove one of them: the declaration and the file"
            ),
        ),
        (
            put(M, ("paths",), {"endpoint": "e.yaml"}),
            (
                "pack: oracle_ambiguous: two kinds of oracle: `backend.py` in the pack root and `paths.endpoint` "
                "of the manifest; expected one\n  fix: remove one of them: the declaration and the file"
            ),
        ),
    ],
)
def test_missing_or_unusable_files_are_refused(refused: Refused, edit: Edit, message: str) -> None:
    assert [str(problem) for problem in refused(edit)] == [message]


def test_oracle_override_beside_a_canonical_file_of_the_other_kind_is_ambiguous(refused: Refused, home: Path) -> None:
    (home / "endpoint.yaml").write_text("{}")
    (problem,) = refused(oracle_pack__endpoint_config_path=home / "endpoint.yaml")
    assert str(problem) == (
        "pack: oracle_ambiguous: two kinds of oracle: `backend.py` in the pack root and "
        "`oracle_pack.endpoint_config_path` of the configuration; expected one\n"
        "  fix: remove one of them: the declaration and the file"
    )


def test_override_that_does_not_exist_is_named_by_its_key(refused: Refused, home: Path) -> None:
    (problem,) = refused(oracle_pack__assertions_path=home / "gone.py")
    assert str(problem) == (
        "pack_file_missing: oracle_pack.assertions_path: `assertions`: `gone.py` does not exist\n"
        "  fix: add the file or correct the path"
    )


def test_files_outside_the_allowed_roots_are_refused(refused: Refused, home: Path) -> None:
    (home / "packs2").mkdir()
    (home / "packs2" / "rows.json").write_text("{}")
    root = (home / "pack").resolve()
    problems = refused(put(M, ("paths",), {"fixtures": "../packs2/rows.json"}), oracle_runtime__allowed_roots=(root,))
    assert [str(problem) for problem in problems] == [
        (
            f"pack/manifest.yaml:24: pack_outside_allowlist: `fixtures`: `{home / 'packs2' / 'rows.json'}` "
            f"lies outside the allowed roots `{root}`\n"
            "  fix: move the file, or add its directory to `oracle_runtime.allowed_roots`"
        )
    ]


def test_allowed_roots_compare_whole_path_components(home: Path) -> None:
    pack = write_pack(home / "packs2" / "pack")
    (home / "packs").mkdir()
    with pytest.raises(PackError) as caught:
        load_pack(run_config(pack, oracle_runtime__allowed_roots=(home / "packs",)), project=home)
    assert str(caught.value) == (
        f"pack_outside_allowlist: oracle_pack.manifest_path: `manifest`: `{pack / 'manifest.yaml'}` "
        f"lies outside the allowed roots `{home / 'packs'}`\n"
        "  fix: move the file, or add its directory to `oracle_runtime.allowed_roots`"
    )


def test_a_symlink_does_not_smuggle_a_file_past_the_allowed_roots(refused: Refused, home: Path) -> None:
    pack = write_pack(home / "pack")
    (home / "rows.json").write_text("{}")
    (pack / "rows.json").symlink_to(home / "rows.json")
    problems = refused(put(M, ("paths",), {"fixtures": "rows.json"}), oracle_runtime__allowed_roots=(pack,))
    assert [problem.code for problem in problems] == ["pack_outside_allowlist", "pack_tree_unsupported_entry"]


def test_absent_allowed_roots_mean_the_projects_packs(home: Path) -> None:
    config = run_config(home / "pack", oracle_runtime__allowed_roots=())
    assert allowed_roots(config, home) == (home / "packs",)


@pytest.mark.parametrize("output", ["pack", "pack/runs", "link/deep"])
def test_output_inside_the_pack_is_refused(refused: Refused, home: Path, output: str) -> None:
    (home / "link").symlink_to(home / "pack")
    (problem,) = refused(output_dir=home / output)
    where = (home / output / "trial").resolve()
    assert str(problem) == (
        f"output_inside_pack: output_dir: results would go to `{where}`, inside the pack `{home / 'pack'}`, "
        "and change its fingerprint\n  fix: choose an `output_dir` outside the pack"
    )


def test_pack_root_behind_a_symlink_is_legal(home: Path) -> None:
    write_pack(home / "pack")
    (home / "link").symlink_to(home / "pack")
    direct = load_pack(run_config(home / "pack"), project=home)
    config = run_config(home / "pack", oracle_pack__manifest_path=home / "link" / "manifest.yaml")
    assert load_pack(config, project=home).fingerprint == direct.fingerprint


def test_manifest_that_is_itself_a_symlink_is_refused(home: Path) -> None:
    pack = write_pack(home / "pack")
    (pack / "manifest.yaml").rename(home / "elsewhere.yaml")
    (pack / "manifest.yaml").symlink_to(home / "elsewhere.yaml")
    with pytest.raises(PackError) as caught:
        load_pack(run_config(home / "pack"), project=home)
    assert str(caught.value) == (
        "pack/manifest.yaml: pack_tree_unsupported_entry: the entry is a symbolic link\n"
        "  fix: put the file itself there"
    )


def test_missing_manifest_is_refused(home: Path) -> None:
    with pytest.raises(PackError) as caught:
        load_pack(run_config(home / "pack"), project=home)
    assert str(caught.value) == (
        "pack_file_missing: oracle_pack.manifest_path: `manifest`: `pack/manifest.yaml` does not exist\n"
        "  fix: add the file or correct the path"
    )


def test_shown_paths_are_relative_inside_the_current_directory_only(home: Path) -> None:
    assert shown(home / "pack" / "tools.json") == "pack/tools.json"
    assert shown(Path("/elsewhere/tools.json")) == "/elsewhere/tools.json"


def test_logical_names_are_normalised() -> None:
    root = Path("/packs/p")
    assert logical_name(root / "a" / "e\u0301.json", root, "tools") == "tree/a/\u00e9.json"
    assert logical_name(Path("/packs/p2/x.json"), root, "tools") == "declared/tools"
