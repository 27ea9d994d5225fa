"""`bfcl probe-assertions` at the command line."""

from __future__ import annotations

import json

from tests.packs import BASE, replace, write_pack

NEVER_FAILS = replace(
    "assertions.py",
    '    assert state["kilns"][task["slots"]["kiln_id"]]["status"] == "busy"\n',
    "    assert state is not None\n",
)


def test_text_lists_templates_with_their_survivors_and_ends_with_the_verdict(bfcl, project):
    write_pack(project / "pack", templates=("kiln_status", "out_of_scope"))
    ended = bfcl("probe-assertions", "pack", "--format", "text")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (
        "kiln_status   0.44  4 killed, 5 survived, 1 tolerated\n"
        "  drop_element    `result.kiln.recent_firings[0]` of call 0 `get_kiln` is left out\n"
        "                  look at how many elements `result.kiln.recent_firings` of call 0 `get_kiln` has"
        " (expected: 1)\n"
        '  add_element     `result.kiln.recent_firings` of call 0 `get_kiln` has a further element "F-10"\n'
        "                  look at how many elements `result.kiln.recent_firings` of call 0 `get_kiln` has"
        " (expected: 1)\n"
        '  change_result   `result.kiln.recent_firings[0]` of call 0 `get_kiln` is "F-10" instead of "F-11"'
        " (and 2 more)\n"
        "                  look at `result.kiln.recent_firings[0]`, `result.kiln.status`, `result.kiln.zone`"
        " of call 0 `get_kiln`\n"
        "  passed by assert_kiln_read\n"
        "out_of_scope  1.00  3 killed\n"
        "\n"
        "break where they should fail\n"
        "pack/assertions.py:18: fragile_assertion: kiln_status: `assert_kiln_read` breaks instead of failing where"
        ' call 0 `get_kiln` answers {"error":{"code":"not_found"}}: assertions.py:22: KeyError: \'kiln\'\n'
        "  fix: test for a missing call, row or field before reading from it\n"
        "\n"
        "7 of 12 mutants noticed, score 0.58, 0 weak of 2 assertions\n"
    )


def test_weak_assertion_ends_in_2_with_the_document_on_stdout(bfcl, project):
    write_pack(project / "pack", NEVER_FAILS, templates=BASE)
    ended = bfcl("probe-assertions", "pack", "--format", "json")
    assert (ended.status, ended.err) == (2, "")
    document = json.loads(ended.out)
    assert document["status"] == "weak"
    assert [(one["code"], one["file"], one["line"]) for one in document["weak_assertions"]] == [
        ("weak_assertion", "assertions.py", 47)
    ]


def test_template_below_the_wanted_score_ends_in_2(bfcl, project):
    write_pack(project / "pack")
    options = ("--template", "kiln_status", "--format", "text")
    assert bfcl("probe-assertions", "pack", *options, "--min-score", "0.4").status == 0
    ended = bfcl("probe-assertions", "pack", *options, "--min-score", "0.6")
    assert ended.status == 2
    assert ended.out.endswith("4 of 9 mutants noticed, score 0.44, 0 weak of 1 assertions\nbelow 0.6: kiln_status\n")


def test_unknown_template_is_refused_with_nothing_on_stdout(bfcl, project):
    write_pack(project / "pack")
    ended = bfcl("probe-assertions", "pack", "--template", "kiln_stats")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == (
        "unknown_template: kiln_stats: the pack has no such template; it has 4\n  fix: did you mean `kiln_status`?\n"
    )
