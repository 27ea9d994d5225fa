"""The domain-scale pack: Gold without a warning, and wide enough for a publication of 1,392 rows. Rule: pack.md §14."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from bfcl.authoring.workbench import workbench
from bfcl.checks.validate import validate_pack
from bfcl.config.load import load_config
from bfcl.pack.load import load_configured
from bfcl.pack.model import Pack
from bfcl.records.ids import TURN_POLICIES
from bfcl.records.verdict import PackVerdict
from bfcl.stages.bindings import sources_of
from bfcl.stages.expand import allocate, pool_sizes, settings_of

ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "packs" / "banking_vn_oracle_pack"
READ_AREAS = {"balances", "transactions", "qr", "disputes"}


@pytest.fixture(scope="module")
def judged() -> tuple[Pack, PackVerdict]:
    with workbench(PACK) as bench:
        return bench.pack, validate_pack(bench.pack, bench.config, bench.oracle)


def test_pack_is_gold_without_a_warning(judged: tuple[Pack, PackVerdict]) -> None:
    _, verdict = judged
    assert (verdict.tier, verdict.reasons) == ("gold", ())
    warned = [finding.code for check in verdict.checks for finding in check.warnings]
    # The defaults of a pack without a configuration of its own ask of the small categories what the widest offers.
    assert [code for code in warned if code != "category_budget_not_reachable"] == []


def test_catalog_has_its_tools_and_none_is_hidden_from_a_conversation(judged: tuple[Pack, PackVerdict]) -> None:
    pack, _ = judged
    assert len(pack.tools) >= 9
    assert sum(tool.requires_confirmation for tool in pack.tools) >= 2
    confirmation = pack.manifest.confirmation
    assert (confirmation.parameter, confirmation.status_field, confirmation.pending_status) == (
        "xac_nhan",
        "trang_thai",
        "cho_xac_nhan",
    )
    names = tuple(tool.name for tool in pack.tools)
    assert {template.tools_present for template in pack.templates} == {names}


def test_fixtures_are_of_release_scale(judged: tuple[Pack, PackVerdict]) -> None:
    pack, _ = judged
    rows = {name: len(collection) for name, collection in pack.fixtures.items() if isinstance(collection, list)}
    least = {"accounts": 40, "cards": 40, "transactions": 230, "qr_payments": 40, "disputes": 40}
    assert {name: rows[name] >= number for name, number in least.items()} == dict.fromkeys(least, True)
    assert len(rows) >= 7
    assert all(len(ids) >= 4 for ids in pack.manifest.absent_ids.values())


def test_templates_cover_every_policy_and_category(judged: tuple[Pack, PackVerdict]) -> None:
    pack, _ = judged
    assert len(pack.templates) >= 40
    assert {template.turn_policy for template in pack.templates} == set(TURN_POLICIES)
    categories = Counter(template.category for template in pack.templates)
    assert len(categories) >= 6
    clarifying = {one.category for one in pack.templates if one.turn_policy == "clarify_only"}
    assert clarifying >= READ_AREAS
    assert len({template.difficulty for template in pack.templates}) >= 3
    assert len(pack.cases) >= 25


def test_publication_binds_232_tasks_of_each_category() -> None:
    loaded = load_config(ROOT / "configs" / "banking_vn.publication.yaml", project=ROOT, command="generate")
    pack = load_configured(loaded)
    settings = settings_of(loaded.config, pack.manifest)
    sizes = pool_sizes(pack.templates, sources_of(pack), settings).sizes
    category = {template.template_id: template.category for template in pack.templates}
    order = allocate(pack.templates, sizes, settings.limit)
    bound = Counter(category[template_id] for template_id, _ in order)
    assert dict(bound) == dict.fromkeys(category.values(), 232)
    assert sum(bound.values()) == 1392


@pytest.mark.parametrize("name", sorted(path.name for path in PACK.iterdir() if path.is_file()))
def test_text_is_composed(name: str) -> None:
    text = (PACK / name).read_text(encoding="utf-8")
    assert unicodedata.normalize("NFC", text) == text


def test_every_link_leads_to_a_row() -> None:
    books = json.loads((PACK / "fixtures.json").read_text(encoding="utf-8"))
    keys = {
        "customer_id": {row["customer_id"] for row in books["customers"]},
        "account_no": {row["account_no"] for row in books["accounts"]},
        "transaction_id": {row["transaction_id"] for row in books["transactions"]},
    }
    dangling = [
        (name, row[field])
        for name, rows in books.items()
        if isinstance(rows, list)
        for row in rows
        for field, known in keys.items()
        if row.get(field) is not None and row[field] not in known
    ]
    assert dangling == []
