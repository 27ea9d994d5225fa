"""`doit validate`: what authors run all day. Says what is wrong, reruns what an edit touches, publishes nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bfcl.files import Lock
from tests.packs import CASES, append, write_pack
from tests.system.project import PATIENCE_S, Ended, Project, started, write_project

SUMMARY = "validate: gold; failed checks: none; report: build/validate/kiln_studio/oracle_validation_report.json"
ALL = "checks: 12 reused, 0 run"


def validate(project: Project, *arguments: str, status: int = 0) -> Ended:
    ended = project.doit("validate", *arguments)
    assert ended.status == status, ended.out + ended.err
    return ended


def checks(ended: Ended) -> str:
    (line,) = [line for line in ended.out.splitlines() if line.startswith("checks: ")]
    return line


@pytest.fixture(scope="session")
def seen_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose pack was validated, and nothing else; never to be changed."""
    project = write_project(tmp_path_factory.mktemp("validated") / "original")
    ended = validate(project)
    assert ended.err == ""
    assert ended.out.splitlines()[-2:] == [
        "checks: 0 reused, 12 run (1, 2, 3, 4, 5, 6, 7 for 4 of 4 templates, M1, D1, D2, T1, I1)",
        SUMMARY,
    ]
    return project


@pytest.fixture
def validated(seen_once: Project, tmp_path: Path) -> Project:
    return seen_once.copy(tmp_path / "project")


def report(project: Project) -> Path:
    return project.build / "validate" / "kiln_studio" / "oracle_validation_report.json"


# --- what it says -------------------------------------------------------------------------------------------------


def test_findings_come_first_and_failing_checks_with_code_and_place_last(validated: Project) -> None:
    validated.edit(validated.pack / "validation_cases.yaml", "kiln_id: K-90", "kiln_id: K-1")
    ended = validate(validated, status=1)
    assert ended.err == ""
    place = "packs/studio/validation_cases.yaml"
    lines = ended.out.splitlines()
    assert lines[:2] == [".  config", ".  validate"]
    assert lines[2].startswith("warning: packs/studio/assertions.py:")
    first = next(index for index, line in enumerate(lines) if line.startswith(place))
    assert lines[first].startswith(f"{place}:12: result_class_mismatch: kiln_missing: answered ")
    end = lines.index(SUMMARY.replace("gold", "silver").replace("none", "5 declared_validation_cases"))
    assert lines[end - 1] == "checks: 7 reused, 5 run (5, 6, M1, D1, D2)"
    assert lines[end + 1 :] == [
        f"  5 declared_validation_cases: result_class_mismatch at {place}:12",
        f"  5 declared_validation_cases: error_code_mismatch at {place}:13",
    ]


def test_skipped_checks_are_named_and_are_no_pass(validated: Project) -> None:
    validated.append(validated.pack / "backend.py", "raise RuntimeError('not today')\n")
    ended = validate(validated, status=1)
    lines = ended.out.splitlines()
    end = next(index for index, line in enumerate(lines) if line.startswith("validate: silver; failed checks: 3 "))
    assert "  3 backend_schema_alignment: backend_import_failed at packs/studio/backend.py" in lines[end + 1][:80]
    assert "  5 declared_validation_cases: skipped, check 3 did not pass" in lines
    assert json.loads(report(validated).read_bytes())["tier"] == "silver"


def test_pack_that_does_not_load_has_no_verdict(validated: Project) -> None:
    before = report(validated).read_bytes()
    (validated.pack / "tools.json").write_text("[", encoding="utf-8")
    ended = validate(validated, status=1)
    assert "checks:" not in ended.out
    assert ended.err.startswith("packs/studio/tools.json:1: pack_parse_error: ")
    assert report(validated).read_bytes() == before


def test_text_of_any_language_reaches_a_plain_terminal(validated: Project) -> None:
    validated.edit(validated.pack / "validation_cases.yaml", "id: kiln_missing", "id: lò_nung")
    validated.edit(validated.pack / "validation_cases.yaml", "kiln_id: K-90", "kiln_id: K-1")
    ended = validated.doit("validate", env={"PYTHONIOENCODING": "ascii"})
    assert ended.status == 1, ended.out + ended.err
    assert "l\\xf2_nung: " in ended.out


def test_validate_runs_beside_generate_in_one_command(built: Project) -> None:
    manifest = (built.run_dir / "run_manifest.json").read_bytes()
    ended = built.doit("validate", "generate")
    assert ended.status == 0, ended.out + ended.err
    assert SUMMARY in ended.out.splitlines()
    assert ended.last_line == str(built.run_dir / "benchmark.parquet")
    assert (built.run_dir / "run_manifest.json").read_bytes() == manifest


# --- which configuration ------------------------------------------------------------------------------------------


def test_pack_is_validated_without_any_configuration_and_keeps_every_byte(fresh: Project) -> None:
    fresh.config.unlink()
    before = fresh.snapshot("packs")
    ended = validate(fresh, "pack=packs/studio")
    assert ended.out.splitlines()[-1] == SUMMARY
    assert fresh.snapshot("packs") == before
    assert [path.name for path in (fresh.root / "packs").iterdir()] == ["studio"]


def test_pack_brings_its_own_configuration(fresh: Project) -> None:
    own = fresh.config.read_text(encoding="utf-8").replace("../packs/studio/", "").replace("../build", "../../build")
    assert "oracle_runtime:\n" in own
    own = own.replace("oracle_runtime:\n", "oracle_runtime:\n  worker: thread\n  allowed_roots: [.]\n")
    (fresh.pack / "validate.yaml").write_text(own, encoding="utf-8")
    inner = fresh.root / "packs"
    ended = fresh.doit("-f", "../dodo.py", "-d", "..", "validate", "pack=studio", cwd=inner)
    assert ended.status == 1
    assert "  I1 isolation: worker_not_process at packs/studio/validate.yaml:7" in ended.out.splitlines()
    assert [path.name for path in inner.iterdir()] == ["studio"]
    (fresh.pack / "validate.yaml").write_text(own + "wroker: 1\n", encoding="utf-8")
    ended = validate(fresh, "pack=packs/studio", status=1)
    assert ended.err.startswith("packs/studio/validate.yaml:")
    assert ": generation_config_invalid: wroker is not a key" in ended.err


def test_directory_that_is_no_pack_is_refused(fresh: Project) -> None:
    ended = validate(fresh, "pack=configs", status=1)
    assert ended.blocks == [
        "configs: pack_file_missing: `configs` holds no manifest.yaml; expected an oracle pack\n"
        "  fix: name the directory of a pack, or write one with `bfcl scaffold-oracle-pack`"
    ]


def test_setting_at_fault_is_placed_in_the_configuration(validated: Project) -> None:
    validated.configure(task_generation__tasks_per_category=1)
    ended = validate(validated, status=1)
    last = ended.out.splitlines()[-1]
    assert last.startswith("  7 representative_generation_contract: category_budget_too_small at configs/tiny.yaml:")


# --- what it leaves alone -----------------------------------------------------------------------------------------


def test_publication_is_untouched_and_stays_valid(built: Project) -> None:
    before = built.snapshot()
    validate(built)
    after = built.snapshot()
    new = {name for name in after if after[name] != before.get(name)}
    assert new == {
        "build/validate/kiln_studio/evidence",
        "build/validate/kiln_studio/oracle_validation_report.json",
    }
    published = built.run_dir / "stage_cache" / "oracle_validation_report.json"
    assert report(built).read_bytes() == published.read_bytes()
    ended = built.generate()
    assert "up to date: nothing changed since this release was published" in ended.out
    built.append(built.pack / "backend.py", "raise RuntimeError('broken')\n")
    validate(built, status=1)
    assert built.snapshot("build/runs") == {name: data for name, data in before.items() if "build/runs/" in name}


def test_validation_takes_no_lock_and_two_at_once_both_work(validated: Project) -> None:
    validated.append(validated.pack / "backend.py", "# edited\n")
    lock = Lock(validated.build / ".lock", "held by the test")
    lock.acquire()
    try:
        running = [validated.start("validate") for _ in range(2)]
        for one in running:
            ended = one.end()
            assert ended.status == 0, ended.out + ended.err
    finally:
        lock.release()
    assert checks(validate(validated)) == ALL


def test_clean_removes_what_validations_left(validated: Project) -> None:
    place = validated.build / "validate"
    ended = validated.doit("clean", "-n", "validate")
    assert f"would remove {place}\n" in ended.out
    assert place.is_dir()
    assert validated.doit("clean", "validate").status == 0
    assert not place.exists()


# --- what an edit reruns ------------------------------------------------------------------------------------------


def test_unchanged_pack_reruns_nothing_and_starts_no_worker(validated: Project) -> None:
    before = report(validated).read_bytes()
    (validated.temporary).mkdir(exist_ok=True)
    validated.temporary.chmod(0o555)
    ended = validate(validated)
    assert checks(ended) == ALL
    assert ended.out.splitlines()[-1] == SUMMARY
    assert report(validated).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "old", "new", "line"),
    [
        ("README.md", "", "More to read.\n", ALL),
        ("validation_cases.yaml", "", "# a comment\n", ALL),
        ("task_templates.yaml", "", "# a comment\n", ALL),
        ("validation_cases.yaml", "id: kiln_found", "id: kiln_is_found", "checks: 7 reused, 5 run (5, 6, M1, D1, D2)"),
        (
            "task_templates.yaml",
            "Is kiln {kiln_id} free right now?",
            "Could kiln {kiln_id} be free?",
            "checks: 8 reused, 4 run (1, 2, 4, 7 for 1 of 4 templates)",
        ),
        (
            "backend.py",
            "",
            "# a comment\n",
            "checks: 4 reused, 8 run (3, 4, 5, 6, 7 for 4 of 4 templates, M1, D1, D2)",
        ),
    ],
)
def test_edit_reruns_the_checks_that_read_the_file(
    validated: Project, name: str, old: str, new: str, line: str
) -> None:
    path = validated.pack / name
    if old:
        validated.edit(path, old, new)
    else:
        path.write_text((path.read_text(encoding="utf-8") if path.exists() else "") + new, encoding="utf-8")
    ended = validate(validated)
    assert checks(ended) == line
    # What is told is what a validation without a memory would tell.
    told = report(validated).read_bytes()
    alone = validate(validated, "rebuild=1")
    assert checks(alone).startswith("checks: 0 reused, 12 run ")
    assert report(validated).read_bytes() == told


def test_kept_findings_are_told_again_at_the_line_where_they_are_now(validated: Project) -> None:
    cases = validated.pack / "validation_cases.yaml"
    validated.edit(cases, "kiln_id: K-90", "kiln_id: K-1")
    first = validate(validated, status=1)
    cases.write_text("# one\n# two\n" + cases.read_text(encoding="utf-8"), encoding="utf-8")
    again = validate(validated, status=1)
    assert checks(again) == ALL
    place = "packs/studio/validation_cases.yaml"
    assert again.out.splitlines()[-1] == f"  5 declared_validation_cases: error_code_mismatch at {place}:15"
    assert again.out.count(f"{place}:14:") == first.out.count(f"{place}:12:") > 0


def test_broken_evidence_is_computed_again(validated: Project) -> None:
    evidence = report(validated).with_name("evidence")
    evidence.write_bytes(evidence.read_bytes().replace(b'"pass"', b'"fail"', 3))
    ended = validate(validated)
    assert checks(ended).startswith("checks: 9 reused, 3 run ")
    assert checks(validate(validated)) == ALL


def test_finding_with_a_deadline_in_it_is_not_kept(fresh: Project) -> None:
    fresh.configure(oracle_runtime__tool_timeout_s=0.3)
    fresh.edit(fresh.pack / "backend.py", "def _get_firing(firing_id):\n", HANGS)
    for _ in range(2):
        ended = validate(fresh, status=1)
        ran = checks(ended).partition("(")[2]
        assert {"5", "D1"} <= set(ran.rstrip(")").replace(",", "").split())


HANGS = """def _get_firing(firing_id):
    while firing_id == "F-12":
        pass
"""


def test_call_that_hangs_is_ended_and_the_next_probe_is_answered(fresh: Project) -> None:
    fresh.configure(oracle_runtime__tool_timeout_s=0.3)
    fresh.edit(fresh.pack / "backend.py", "def _get_firing(firing_id):\n", HANGS)
    validate(fresh, status=1)
    found = {check["id"]: check for check in json.loads(report(fresh).read_bytes())["checks"]}
    cases = {failure["case_id"]: failure["code"] for failure in found["5"]["failures"] if failure["case_id"]}
    assert cases == {"firing_found": "tool_timeout"}
    assert found["T1"]["status"] == "pass"


# --- what it is never taken for -----------------------------------------------------------------------------------


def test_evidence_planted_by_hand_changes_nothing_for_the_gate(seen_once: Project, fresh: Project) -> None:
    fresh.edit(fresh.pack / "validation_cases.yaml", "kiln_id: K-90", "kiln_id: K-1")
    plant(seen_once, fresh)
    assert validate(fresh).out.splitlines()[-2:] == [ALL, SUMMARY]  # it is what `doit validate` believes
    ended = fresh.doit("prepare")
    assert ended.status == 0
    assert "prepare: silver; failed checks: 5 declared_validation_cases; report: " in ended.out
    ended = fresh.doit("generate")
    assert ended.status == 1
    assert "non_gold_pack: kiln_studio: tier silver, gold is needed" in ended.err
    assert fresh.published() == []


def plant(source: Project, target: Project) -> None:
    """Make everything that held for one pack look as if it had been found for another."""
    from bfcl.checks.validate import CHECKS
    from bfcl.config.load import load_config
    from bfcl.graph.validation_evidence import ValidationEvidence
    from bfcl.graph.validation_parts import Parts
    from bfcl.pack.load import load_pack

    evidences = []
    for project in (source, target):
        config = load_config(project.config, project=project.root, command="prepare").config
        pack = load_pack(config, project=project.root)
        path = report(project).with_name("evidence")
        evidences.append(ValidationEvidence(path, Parts(pack, config), fresh=False))
    names = {check.id: check.reads for check in CHECKS if check.reads is not None}
    for name, reads in names.items():
        value = evidences[0].find(name, reads)
        assert value is not None, name
        evidences[1].keep(name, reads, value)
    for key, line in evidences[0]._lines.items():
        evidences[1]._used.setdefault(key, line)
    evidences[1].save(saw_pages=False)


def test_report_edited_on_disk_changes_nothing(built: Project) -> None:
    built.edit(built.pack / "validation_cases.yaml", "kiln_id: K-90", "kiln_id: K-1")
    validate(built, status=1)
    forged = report(built).read_text(encoding="utf-8").replace('"silver"', '"gold"')
    forged = forged.replace('"gold_eligible": false', '"gold_eligible": true')
    for path in (report(built), built.run_dir / "stage_cache" / "oracle_validation_report.json"):
        path.write_text(forged, encoding="utf-8")
    assert built.doit("generate").status == 1
    assert built.published() == []
    validate(built, status=1)
    assert json.loads(report(built).read_bytes())["gold_eligible"] is False


def test_worker_thread_is_never_gold(fresh: Project) -> None:
    fresh.configure(oracle_runtime__worker="thread")
    ended = validate(fresh, status=1)
    lines = ended.out.splitlines()
    assert lines[-2:] == [
        "  T1 timeout_enforcement: skipped, `oracle_runtime.worker` is `thread`",
        "  I1 isolation: worker_not_process at configs/tiny.yaml:8",
    ]
    assert fresh.doit("generate").status == 1


def test_deleting_a_probe_costs_the_tier(validated: Project) -> None:
    kept = [case for case in CASES if case["id"] != "firing_missing"]
    write_pack(validated.pack, lambda draft: draft.data.__setitem__("validation_cases.yaml", kept))
    ended = validate(validated, status=1)
    assert json.loads(report(validated).read_bytes())["tier"] == "silver"
    assert "  5 declared_validation_cases: " in ended.out.splitlines()[-1]


def test_pack_is_never_imported_by_the_pipelines_process(fresh: Project) -> None:
    write_pack(fresh.pack, append("backend.py", "import os\nPARENT = os.getpid()\n"))
    program = (
        "import sys\n"
        "from doit.doit_cmd import DoitMain\n"
        "status = DoitMain().run(['validate', 'rebuild=1'])\n"
        "own = [name for name, one in sys.modules.items() if '/studio/' in (getattr(one, '__file__', None) or '')]\n"
        "own += [name for name in ('backend', 'assertions') if name in sys.modules]\n"
        "heavy = [name for name in ('pyarrow', 'httpx', 'click', 'rich') if name in sys.modules]\n"
        "print(status, own, heavy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=fresh.root,
        env=fresh.environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "0 [] []", done.stdout + done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("program", ["doit", "bfcl"])
def test_validation_that_is_cancelled_leaves_no_process_and_no_copy_of_the_pack(
    fresh: Project, program: str, number: int
) -> None:
    fresh.configure(oracle_runtime__tool_timeout_s=PATIENCE_S, oracle_runtime__episode_timeout_s=2 * PATIENCE_S)
    fresh.edit(fresh.pack / "backend.py", "def _get_firing(firing_id):\n", HANGS)
    command = ["validate-oracle-pack", "--config", str(fresh.config)] if program == "bfcl" else ["validate"]
    running = started([sys.executable, "-m", program, *command], fresh.root, fresh.environment())
    assert running.until(lambda: any(fresh.temporary.glob("bfcl-[0-9]*/other-b-*")))
    running.signal(number)
    ended = running.end()
    assert ended.status != 0
    assert "Traceback" not in ended.err
    assert list(fresh.temporary.iterdir()) == []


def test_validation_works_under_doits_own_threads(validated: Project) -> None:
    ended = validated.doit("-n", "2", "validate")
    assert ended.status == 0, ended.out + ended.err
    assert ended.last_line == SUMMARY
