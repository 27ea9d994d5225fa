"""Every rule of a held-out policy, and what follows from a good one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.digest import sha256_of
from bfcl.pack.held_out import fixture_ref, policy_hash, policy_json, policy_summary, reserved_refs, reset_fixtures
from bfcl.pack.load import load_pack
from bfcl.pack.model import HeldOut
from bfcl.pack.normalise import normalised
from tests.pack.conftest import Load, Refused
from tests.packs import FIXTURES, drop, held_out, put, run_config, text, write_pack

H = "held_out.yaml"
M = "manifest.yaml"
DECLARED = put(M, ("held_out",), H)
BAD = f"pack/{H}:{{}}: held_out_contract_invalid: {{}}"


def test_policy_is_read_in_normal_form(load: Load) -> None:
    pack = load(held_out({"kilns": ["K-3", "K-1"]}, ["out_of_scope", "kiln_status"], seed=7))
    assert pack.held_out == HeldOut(
        version="1",
        fixtures={"kilns": ("K-1", "K-3")},
        templates=("kiln_status", "out_of_scope"),
        fixtures_in_backend_state=True,
        seed=7,
        source="tree/held_out.yaml",
    )
    assert pack.warnings == ()


@pytest.mark.parametrize("content", ["version: 1\n", "version: 1.0\nfixtures:\ntemplates:\npolicy:\n", "version: a\n"])
def test_empty_reservations_are_valid(load: Load, content: str) -> None:
    policy = load(DECLARED, text(H, content)).held_out
    assert policy is not None
    assert (policy.fixtures, policy.templates, policy.fixtures_in_backend_state, policy.seed) == ({}, (), True, 0)


def test_pack_without_policy_has_none(load: Load) -> None:
    pack = load()
    assert pack.held_out is None
    assert reserved_refs(pack.held_out) == frozenset()
    assert reset_fixtures(pack) is pack.fixtures
    assert "held_out_normalized.json" not in normalised(pack)


def test_policy_is_fingerprinted_like_any_file_of_the_pack(load: Load) -> None:
    pack = load(held_out({"kilns": ["K-3"]}))
    assert pack.files["held_out"].logical == "tree/held_out.yaml"
    assert pack.files["held_out"].origin == "manifest"
    assert "tree/held_out.yaml" in pack.entries
    assert json.loads(normalised(pack)["pack_paths.json"])["held_out"] == {
        "path": "tree/held_out.yaml",
        "origin": "manifest",
    }


def test_policy_outside_the_pack_is_a_declared_input(home: Path) -> None:
    (home / "reserved.yaml").write_text("version: 1\n", encoding="utf-8")
    root = write_pack(home / "pack", put(M, ("held_out",), "../reserved.yaml"))
    pack = load_pack(run_config(root), project=home)
    assert pack.held_out is not None
    assert pack.held_out.source == "declared/held_out"
    assert "declared/held_out" in pack.entries


def test_policy_outside_the_allowed_roots_is_refused(refused: Refused, home: Path) -> None:
    (home / "reserved.yaml").write_text("version: 1\n", encoding="utf-8")
    root = (home / "pack").resolve()
    problems = refused(put(M, ("held_out",), "../reserved.yaml"), oracle_runtime__allowed_roots=(root,))
    assert [str(one) for one in problems] == [
        f"pack/manifest.yaml:23: pack_outside_allowlist: `held_out`: `{home.resolve()}/reserved.yaml` lies outside the "
        f"allowed roots `{root}`\n  fix: move the file, or add its directory to `oracle_runtime.allowed_roots`"
    ]


def test_missing_policy_file_is_refused(refused: Refused) -> None:
    assert [str(one) for one in refused(DECLARED)] == [
        "pack/manifest.yaml:23: pack_file_missing: `held_out`: `pack/held_out.yaml` does not exist\n"
        "  fix: add the file or correct the path"
    ]


def test_policy_file_that_nobody_declared_is_warned_about(load: Load) -> None:
    pack = load(text(H, "version: 1\n"))
    assert pack.held_out is None
    assert "tree/held_out.yaml" in pack.entries
    assert [str(one) for one in pack.warnings] == [
        "pack/manifest.yaml:1: held_out_not_declared: `held_out.yaml` lies in the pack, but `held_out` is not in the "
        "manifest, so it reserves nothing\n  fix: add `held_out: held_out.yaml`, or remove the file"
    ]


RULES = [
    ("- version\n", 1, 'wrong_type: the file is ["version"]; expected a mapping', None),
    ("", 1, "wrong_type: the file is null; expected a mapping", None),
    ("templates: []\n", 1, "missing_version: `version` is required", 'add `version: "1"`'),
    ("version:\n", 1, "missing_version: `version` is required", 'add `version: "1"`'),
    ("version: true\n", 1, "wrong_type: `version` is true; expected non-empty text or a number", None),
    ('version: " "\n', 1, 'wrong_type: `version` is " "; expected non-empty text or a number', None),
    ("version: [1]\n", 1, "wrong_type: `version` is [1]; expected non-empty text or a number", None),
    ("version: 1\nfixture: {}\n", 2, "unknown_key: unknown key `fixture`", "did you mean `fixtures`?"),
    (
        "version: 1\nrows: {}\n",
        2,
        "unknown_key: unknown key `rows`",
        "use one of fixtures, policy, templates, version",
    ),
    ("version: 1\nsource: x\n", 2, "derived_key: `source` is derived and never written", "remove it"),
    (
        'version: 1\ncontract_version: "1.0"\n',
        2,
        "derived_key: `contract_version` is derived and never written",
        "remove it",
    ),
    ("version: 1\npolicy: []\n", 2, "wrong_type: `policy` is []; expected a mapping", None),
    (
        "version: 1\npolicy:\n  sed: 1\n",
        3,
        "unknown_key: unknown key `sed` in `policy`",
        "did you mean `seed`?",
    ),
    (
        "version: 1\npolicy:\n  source: x\n",
        3,
        "unknown_key: unknown key `source` in `policy`",
        "use one of fixtures_in_backend_state, seed",
    ),
    (
        "version: 1\npolicy:\n  fixtures_in_backend_state: no\n",
        3,
        'wrong_type: `policy.fixtures_in_backend_state` is "no"; expected true or false',
        None,
    ),
    ("version: 1\npolicy:\n  seed: true\n", 3, "wrong_type: `policy.seed` is true; expected an integer", None),
    ("version: 1\npolicy:\n  seed: 1.0\n", 3, "wrong_type: `policy.seed` is 1.0; expected an integer", None),
    ("version: 1\ntemplates: kiln_status\n", 2, 'wrong_type: `templates` is "kiln_status"; expected a list', None),
    ("version: 1\ntemplates:\n- 7\n", 3, "wrong_type: `templates.0` is 7; expected the id of a template", None),
    (
        "version: 1\ntemplates:\n- kiln_status\n- kiln_status\n",
        4,
        'duplicate_template: lists template "kiln_status" twice',
        "keep one",
    ),
    (
        "version: 1\ntemplates:\n- kiln_stats\n",
        3,
        'unknown_template: reserves template "kiln_stats", which the pack does not have',
        "did you mean `kiln_status`?",
    ),
    ("version: 1\nfixtures: [K-1]\n", 2, 'wrong_type: `fixtures` is ["K-1"]; expected a mapping', None),
    ("version: 1\nfixtures:\n  kilns: K-1\n", 3, 'wrong_type: `fixtures.kilns` is "K-1"; expected a list', None),
    (
        "version: 1\nfixtures:\n  kiln: [K-1]\n",
        3,
        "unknown_collection: reserves rows of `kiln`, which fixtures.json does not have as a list of rows",
        "did you mean `kilns`?",
    ),
    (
        "version: 1\nfixtures:\n  opening_hours: []\n",
        3,
        "unknown_collection: reserves rows of `opening_hours`, which fixtures.json does not have as a list of rows",
        "remove it",
    ),
    (
        "version: 1\nfixtures:\n  kilns:\n  - true\n",
        4,
        "wrong_type: `fixtures.kilns.0` is true; expected text or a number",
        None,
    ),
    (
        "version: 1\nfixtures:\n  kilns:\n  - null\n",
        4,
        "wrong_type: `fixtures.kilns.0` is null; expected text or a number",
        None,
    ),
    (
        "version: 1\nfixtures:\n  kilns:\n  - K-1\n  - K-1\n",
        5,
        'duplicate_fixture_id: reserves "K-1" of `kilns` twice, compared as text',
        "keep one",
    ),
    (
        "version: 1\nfixtures:\n  kilns:\n  - K-11\n",
        4,
        'unknown_fixture_id: reserves "K-11" of `kilns`, but no row has that primary key',
        "did you mean `K-1`?",
    ),
    (
        "version: 1\nfixtures:\n  kilns:\n  - K-90\n",
        4,
        'absent_id_reserved: reserves "K-90" of `kilns`, which `absent_ids.kilns` of the manifest declares absent',
        "remove it from one of the two",
    ),
]


@pytest.mark.parametrize(("content", "line", "message", "fix"), RULES)
def test_breach_is_a_load_error_that_names_its_problem(
    refused: Refused, content: str, line: int, message: str, fix: str | None
) -> None:
    problems = refused(DECLARED, text(H, content))
    assert [str(one) for one in problems] == [BAD.format(line, message) + (f"\n  fix: {fix}" if fix else "")]


def test_reserved_ids_are_compared_as_text(refused: Refused) -> None:
    rows = [{"urn_id": 1}, {"urn_id": 2}]
    problems = refused(put("fixtures.json", ("urns",), rows), held_out({"urns": [1, "1"]}))
    assert [str(one) for one in problems] == [
        'pack/held_out.yaml:5: held_out_contract_invalid: duplicate_fixture_id: reserves "1" of `urns` twice, '
        "compared as text\n  fix: keep one"
    ]


def test_reserved_id_takes_the_type_of_its_row(load: Load) -> None:
    rows = [{"tool_id": 1}, {"tool_id": 2}]
    pack = load(put("fixtures.json", ("tools",), rows), held_out({"tools": ["2"]}))
    assert pack.held_out is not None
    assert pack.held_out.fixtures == {"tools": (2,)}
    assert reserved_refs(pack.held_out) == {'["tools","2"]'}


def test_collection_without_a_clear_key_is_refused(refused: Refused) -> None:
    problems = refused(drop(M, ("primary_keys",)), held_out({"firings": ["F-10"]}))
    assert [str(one) for one in problems] == [
        "pack/held_out.yaml:3: held_out_contract_invalid: primary_key_unclear: the rows of `firings` have no clear "
        "key: rows of `firings` hold `firing_id`, `kiln_id`; which one identifies a row is not declared\n"
        "  fix: declare `primary_keys.firings` in the manifest"
    ]


def test_reservation_in_a_pack_without_fixtures_is_refused(refused: Refused) -> None:
    problems = refused(drop("fixtures.json"), held_out({"kilns": ["K-1"]}))
    assert [one.message for one in problems] == [
        "unknown_collection: reserves rows of `kilns`, which fixtures.json does not have as a list of rows"
    ]


def test_all_breaches_are_told_at_once_in_file_order_of_their_fields(refused: Refused) -> None:
    content = "vers: 1\nfixtures:\n  kilns: [K-9, K-90]\n  urns: []\ntemplates: [nobody]\npolicy: {seed: x}\n"
    problems = refused(DECLARED, text(H, content))
    assert {one.code for one in problems} == {"held_out_contract_invalid"}
    assert sorted(one.message.partition(":")[0] for one in problems) == [
        "absent_id_reserved",
        "missing_version",
        "unknown_collection",
        "unknown_fixture_id",
        "unknown_key",
        "unknown_template",
        "wrong_type",
    ]


def test_fault_of_another_file_is_not_told_a_second_time(refused: Refused) -> None:
    problems = refused(text("fixtures.json", "{"), held_out({"kilns": ["K-1"]}))
    assert {one.code for one in problems} == {"pack_parse_error"}


def test_template_at_fault_is_still_known_to_the_policy(refused: Refused) -> None:
    edit = put("task_templates.yaml", (0, "intent"), 7)
    problems = refused(edit, held_out(templates=["kiln_status"]))
    assert {one.code for one in problems} == {"task_templates_invalid"}


# --- what follows from a policy -------------------------------------------------------------------------------------


def test_reset_fixtures_lose_exactly_the_reserved_rows_where_the_oracle_may_not_see_them(load: Load) -> None:
    edit = held_out({"kilns": ["K-1"], "firings": []}, fixtures_in_backend_state=False)
    assert reset_fixtures(load(edit)) == {**FIXTURES, "kilns": FIXTURES["kilns"][1:]}


def test_reset_fixtures_are_whole_where_the_oracle_may_see_reserved_rows(load: Load) -> None:
    pack = load(held_out({"kilns": ["K-1"]}, fixtures_in_backend_state=True))
    assert reset_fixtures(pack) is pack.fixtures


def test_policy_that_hides_nothing_leaves_the_fixtures_alone(load: Load) -> None:
    pack = load(held_out({"kilns": []}, ["kiln_status"], fixtures_in_backend_state=False))
    assert reset_fixtures(pack) is pack.fixtures


def test_normalised_copy_holds_the_policy_and_the_key_of_its_collections(load: Load) -> None:
    pack = load(held_out({"kilns": ["K-3"]}, ["out_of_scope"], seed=3), templates=("out_of_scope",))
    copies = normalised(pack)
    assert json.loads(copies["held_out_normalized.json"]) == {
        "contract_version": "1.0",
        "version": "1",
        "source": "tree/held_out.yaml",
        "fixtures": {"kilns": ["K-3"]},
        "templates": ["out_of_scope"],
        "policy": {"fixtures_in_backend_state": True, "seed": 3},
    }
    assert json.loads(copies["fixtures_normalized.json"])["primary_keys"] == {"kilns": "kiln_id"}


def test_summary_counts_and_never_names_what_is_reserved(load: Load) -> None:
    policy = load(held_out({"kilns": ["K-3", "K-1"]}, ["out_of_scope"])).held_out
    assert policy is not None
    assert policy_summary(policy) == {
        "contract_version": "1.0",
        "version": "1",
        "source": "tree/held_out.yaml",
        "policy_hash": sha256_of(canonical_json(policy_json(policy))),
        "fixture_ref_count": 2,
        "template_count": 1,
        "fixtures_in_backend_state": True,
        "seed": 0,
    }


def test_order_of_reservations_does_not_change_the_policy(load: Load) -> None:
    one = load(held_out({"kilns": ["K-3", "K-1"]}, ["out_of_scope", "kiln_status"])).held_out
    other = load(held_out({"kilns": ["K-1", "K-3"]}, ["kiln_status", "out_of_scope"])).held_out
    assert one is not None
    assert other is not None
    assert policy_hash(one) == policy_hash(other)


@given(collection=st.text(), key=st.one_of(st.text(), st.integers()))
def test_fixture_ref_is_canonical_json_of_collection_and_text(collection: str, key: str | int) -> None:
    assert json.loads(fixture_ref(collection, key)) == [collection, str(key)]
