"""`bfcl coverage` at the command line."""

from __future__ import annotations

import json

from tests.packs import drop, put_template, write_pack


def test_text_tables_fit_a_page(bfcl, project):
    write_pack(project / "pack", put_template("kiln_and_firing", ("slots", "kiln_id", "filter"), 'zone == "north"'))
    ended = bfcl("coverage", "pack", "--format", "text", "--tasks-per-category", "12")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (
        "tools (probes as observed)\n"
        "  tool          success  negative  pending  templates  assertions\n"
        "  get_kiln            2         2        -          2           2\n"
        "  get_firing          1         1        -          1           2\n"
        "  start_firing        1         3        1          1           1\n"
        "\n"
        "templates by turn policy and language\n"
        "  policy          en\n"
        "  single_turn      1\n"
        "  multi_tool       1\n"
        "  missing_slot     0\n"
        "  confirmation     1\n"
        "  correction       0\n"
        "  dependent_call   0\n"
        "  negative_path    0\n"
        "  clarify_only     0\n"
        "  irrelevant       1\n"
        "\n"
        "bindings and budget\n"
        "  kilns  2 templates, budget 12, 7 bindings, 5 short\n"
        "    template         bindings  tasks\n"
        "    kiln_status             3      3\n"
        "    kiln_and_firing         4      4\n"
        "  firings  1 template, budget 12, 4 bindings, 8 short\n"
        "    template         bindings  tasks\n"
        "    start_confirmed         4      4\n"
        "  out_of_scope  1 template, budget 12, 2 bindings, 10 short\n"
        "    template      bindings  tasks\n"
        "    out_of_scope         2      2\n"
        "\n"
        "fixtures\n"
        "  collection  rows  bound  reserved  templates\n"
        "  kilns          3      3         0          3\n"
        "  firings        4      4         0          1\n"
    )


def test_missing_probe_ends_in_2_and_is_told_last(bfcl, project):
    write_pack(project / "pack", drop("validation_cases.yaml", (4,)))
    ended = bfcl("coverage", "pack", "--static", "--format", "text")
    assert ended.status == 2
    assert ended.out.startswith("tools (probes as declared)\n")
    assert ended.out.endswith(
        "\nmissing\n"
        "pack/tools.json:25: incomplete_validation_coverage: `get_firing` has no negative probe;"
        " expected at least one\n"
        "  fix: add a case that the tool refuses; for a refusal told as a plain result say `coverage: negative`\n"
    )


def test_document_says_what_was_run(bfcl, project):
    write_pack(project / "pack")
    ended = bfcl("coverage", "pack", "--format", "json")
    document = json.loads(ended.out)
    assert (document["status"], document["probes_run"], document["missing"]) == ("complete", True, [])
    assert json.loads(bfcl("coverage", "pack", "--static", "--format", "json").out)["probes_run"] is False


def test_pack_of_a_service_is_covered_statically(bfcl, project):
    bfcl("scaffold-oracle-pack", "--domain", "Desk", "--target", "desk", "--transport", "endpoint")
    ended = bfcl("coverage", "desk", "--static", "--format", "json")
    assert (ended.status, ended.err) == (0, "")
