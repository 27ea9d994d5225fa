"""Evaluations from the command line to the last byte, against a candidate that listens on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bfcl.cli.main import cli
from bfcl.cli.show import run
from bfcl.files import Lock
from bfcl.tables.task_results import read_task_results
from tests.evaluate.arena import (
    CANARY,
    KEY,
    Arena,
    Candidate,
    Data,
    Edit,
    Ended,
    asks,
    executable,
    published_arena,
    put,
    repeats,
    served,
)

Evaluates = Callable[..., Ended]
TASKS, TURNS = 4, 8
ONE_AT_A_TIME = put("limits", "max_parallel_tasks", value=1)
BY_MODE = pytest.mark.parametrize("edits", [(), (executable,)], ids=["trace", "executable"])


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    """Never to be changed."""
    return published_arena(tmp_path_factory)


@pytest.fixture
def arena(published: Arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arena:
    """A copy to do anything to, the current directory; the candidate's key is set."""
    copied = published.copy(tmp_path / "arena")
    monkeypatch.chdir(copied.root)
    monkeypatch.setenv(KEY, CANARY)
    return copied


@pytest.fixture
def candidate(published: Arena) -> Iterator[Candidate]:
    with served(published.rows()) as listening:
        yield listening


@pytest.fixture
def evaluates(arena: Arena, capfd: pytest.CaptureFixture[str]) -> Evaluates:
    """`bfcl eval` on a configuration, in this process."""

    def call(name: str, *options: str) -> Ended:
        arguments = ["eval", "--config", str(arena.config(name)), *options]
        status = run(cli, arguments, terminal=True)
        return Ended(status, *capfd.readouterr())

    return call


def completed(ended: Ended) -> Data:
    assert ended.status == 0, ended.err
    return dict(json.loads(ended.out))


# --- a whole run ---


@BY_MODE
def test_gold_candidate_succeeds_everywhere_and_the_result_is_whole(
    arena: Arena, candidate: Candidate, evaluates: Evaluates, edits: tuple[Edit, ...]
) -> None:
    arena.configure("mine", candidate.base_url, *edits)
    payload = completed(evaluates("mine", "--format", "json", "--eval-run-id", "first run"))
    scope = "trace_and_executable" if edits else "trace"
    assert payload == {
        "status": "completed",
        "eval_run_id": "first run",
        "scope": scope,
        "candidates": ["scripted"],
        "report_path": str(arena.out("mine") / "eval_report.json"),
        "task_results_path": str(arena.out("mine") / "eval_task_results.parquet"),
        "manifest_path": str(arena.out("mine") / "eval_manifest.json"),
    }
    report = arena.report("mine")
    (measured,) = report["candidates"]
    assert (measured["successful_tasks"], measured["task_count"]) == (TASKS, TASKS)
    assert {metric["value"] for metric in measured["metrics"].values()} <= {1.0, None}
    assert (report["schema_version"], report["eval_scope"]) == ("1.5", scope)
    assert report["non_publication_reasons"] == sorted(report["non_publication_reasons"])
    manifest = json.loads((arena.out("mine") / "eval_manifest.json").read_bytes())
    caches = ["candidate_io_cache", *(["tool_trace_cache"] if edits else [])]
    assert sorted(manifest["artifacts"]) == sorted(
        ["eval_breakdowns", "eval_report", "eval_task_results", *caches],
    )
    assert manifest["candidate_aggregates"] == {"scripted": measured["aggregate_hash"]}
    assert manifest["resumed_from"] is None
    assert manifest["runtime"]["package_source_hash"].startswith("sha256:")
    rows = read_task_results(arena.out("mine") / "eval_task_results.parquet")
    assert [row["task_id"] for row in rows] == [row.task_id for row in arena.rows()]
    assert {row["mode"] for row in rows} == {"executable" if edits else "trace"}
    assert len(candidate.bodies) == TURNS


@BY_MODE
def test_finished_run_replays_without_network_and_key_to_the_last_byte(
    arena: Arena, published: Arena, evaluates: Evaluates, monkeypatch: pytest.MonkeyPatch, edits: tuple[Edit, ...]
) -> None:
    with served(published.rows()) as candidate:
        arena.configure("mine", candidate.base_url, asks("scripted-wrong-value"), *edits)
        completed(evaluates("mine", "--format", "json"))
    before = arena.files("mine")
    monkeypatch.delenv(KEY)
    completed(evaluates("mine", "--format", "json"))
    assert arena.files("mine") == before


def test_human_payload_has_one_key_a_line_with_json_values(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    arena.configure("mine", candidate.base_url)
    ended = evaluates("mine", "--eval-run-id", "R")
    assert ended.status == 0
    assert [line.split(": ")[0] for line in ended.out.splitlines()] == [
        "status",
        "eval_run_id",
        "scope",
        "candidates",
        "report_path",
        "task_results_path",
        "manifest_path",
    ]
    assert ended.out.splitlines()[:4] == [
        'status: "completed"',
        'eval_run_id: "R"',
        'scope: "trace"',
        'candidates: ["scripted"]',
    ]
    assert ended.err.splitlines() == [
        "scripted: 0/4 tasks, success -, 0 infrastructure stops, 0 tokens",
        f"scripted: 4/4 tasks, success 100.0%, 0 infrastructure stops, {tokens(arena, 'mine')} tokens",
        f"calls: {TURNS} asked",
        "scripted: 4 of 4 tasks, 100.0% (51.0% to 100.0%)",
    ]


def tokens(arena: Arena, name: str) -> int:
    """As the record has them."""
    lines = (arena.out(name) / "candidate_io_cache.jsonl").read_text().splitlines()
    payloads = [json.loads(line)["payload"] for line in lines if '"record_type":"completion"' in line]
    return sum(payload["response"]["usage"]["total_tokens"] for payload in payloads)


def test_key_is_in_no_file_and_no_output(arena: Arena, candidate: Candidate, evaluates: Evaluates) -> None:
    for name, model in (("good", "scripted-gold"), ("refused", "scripted-unauthorized")):
        arena.configure(name, candidate.base_url, asks(model), executable)
        ended = evaluates(name)
        assert CANARY not in ended.out + ended.err
    written = [path for path in arena.root.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert written == []
    assert not any(CANARY in prompt for prompt in candidate.prompts)


def test_no_module_of_the_pack_is_imported_here(arena: Arena, candidate: Candidate, evaluates: Evaluates) -> None:
    arena.configure("mine", candidate.base_url, executable)
    assert evaluates("mine").status == 0
    own = [name for name, one in sys.modules.items() if str(arena.pack) in (getattr(one, "__file__", None) or "")]
    assert own == []


def test_candidates_are_asked_one_after_another_by_alias(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    def two(config: Data) -> None:
        (one,) = config["candidates"]
        other = {**one, "alias": "another", "model": "scripted-silent"}
        config["candidates"].append({**other, "model_identity": {"source": "scripted", "model": "scripted-silent"}})

    arena.configure("mine", candidate.base_url, two)
    assert completed(evaluates("mine", "--format", "json"))["candidates"] == ["another", "scripted"]
    asked = [str(body["model"]) for body in candidate.bodies]
    assert asked == ["scripted-silent"] * TASKS + ["scripted-gold"] * TURNS
    assert [one["successful_tasks"] for one in arena.report("mine")["candidates"]] == [0, TASKS]


# --- dry run ---


def test_dry_run_passes_the_gates_tells_the_cost_and_leaves_everything_alone(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    arena.configure("mine", candidate.base_url, executable, put("limits", "max_turns", value=1))
    before = sorted(arena.root.rglob("*"))
    ended = evaluates("mine", "--dry-run", "--format", "json")
    payload = completed(ended)
    hash_ = payload.pop("eval_config_hash")
    assert hash_.startswith("sha256:")
    assert payload == {
        "status": "preflight_passed",
        "scope": "trace_and_executable",
        "candidates": ["scripted"],
        "task_counts": {"scripted": TASKS},
        "candidate_network_used": False,
        "oracle_probed": True,
    }
    warning, fix, estimate = ended.err.splitlines()
    assert warning.startswith("warning: turns_beyond_limit: `max_turns` is 1, but 3 of 4 tasks need more turns")
    assert fix == "  fix: set `limits.max_turns: 3`"
    assert estimate.startswith("estimate: 4 turns, about ")
    assert estimate.endswith(" prompt tokens, never more than 4 requests")
    assert sorted(arena.root.rglob("*")) == before
    assert candidate.bodies == []


# --- how it ends otherwise ---


def test_unreachable_candidate_fails_tasks_by_infrastructure_and_nothing_is_measured(
    arena: Arena, evaluates: Evaluates
) -> None:
    arena.configure("mine", "http://127.0.0.1:9/v1")
    ended = evaluates("mine", "--format", "json")
    assert ended.status == 3
    assert json.loads(ended.out)["status"] == "completed"
    assert json.loads(ended.err[ended.err.index("\n{") :])["code"] == "eval_nothing_measured"
    (measured,) = arena.report("mine")["candidates"]
    assert (measured["successful_tasks"], measured["non_candidate_stops"]) == (0, TASKS)


@BY_MODE
def test_refused_key_stops_after_one_request_and_the_same_command_works_once_it_is_mended(
    arena: Arena, published: Arena, evaluates: Evaluates, edits: tuple[Edit, ...]
) -> None:
    with served(published.rows(), key="another") as candidate:
        arena.configure("mine", candidate.base_url, ONE_AT_A_TIME, *edits)
        ended = evaluates("mine")
        assert ended.status == 5
        assert "eval_candidate_authentication_failed: scripted: the endpoint answered HTTP 401" in ended.err
        assert arena.files("mine") == {}
    with served(published.rows(), key=CANARY) as candidate:
        arena.configure("mine", candidate.base_url, ONE_AT_A_TIME, *edits)
        assert evaluates("mine").status == 0


def test_missing_key_is_told_at_the_first_request(
    arena: Arena, candidate: Candidate, evaluates: Evaluates, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena.configure("mine", candidate.base_url)
    monkeypatch.delenv(KEY)
    ended = evaluates("mine")
    assert ended.status == 5
    assert f"eval_candidate_credentials_missing: scripted: the environment variable {KEY} is not set" in ended.err
    assert candidate.bodies == []


def test_edited_pack_comment_stops_before_any_request_and_names_the_file(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    assertions = arena.pack / "assertions.py"
    assertions.write_text(f"# A word more.\n{assertions.read_text()}")
    arena.configure("mine", candidate.base_url, executable)
    ended = evaluates("mine")
    assert ended.status == 3
    assert "eval_source_oracle_pack_drift" in ended.err
    assert "assertions.py" in ended.err
    assert candidate.bodies == []
    failure = json.loads((arena.out("mine") / "source_verification_failure.json").read_bytes())
    assert failure["failures"][0]["code"] == "eval_source_oracle_pack_drift"


def test_source_that_changes_while_candidates_are_asked_gives_no_result(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    readme = arena.pack / "README.md"

    def edit(number: int) -> None:
        if number == TURNS:
            readme.write_text("Another.\n")

    candidate.when = edit
    arena.configure("mine", candidate.base_url, executable, ONE_AT_A_TIME)
    ended = evaluates("mine")
    assert ended.status == 3
    assert "eval_source_changed_during_eval" in ended.err
    assert not (arena.out("mine") / "eval_report.json").exists()


def test_second_run_into_a_directory_in_use_is_refused(arena: Arena, evaluates: Evaluates) -> None:
    arena.configure("mine", "http://127.0.0.1:9/v1")
    lock = Lock(arena.out("mine") / ".eval.lock", "busy")
    lock.acquire()
    ended = evaluates("mine")
    lock.release()
    assert ended.status == 3
    assert "run_locked: another evaluation is writing into this directory (process " in ended.err


# --- caps ---


def test_cap_on_requests_stops_cleanly_and_another_run_pays_for_the_rest_alone(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    arena.configure("mine", candidate.base_url)
    arena.configure("rest", candidate.base_url)
    arena.envelope("capped", "mine", max_requests=3)
    ended = evaluates("capped")
    assert ended.status == 3
    assert ended.err.splitlines()[-2:] == [
        "eval_budget_exhausted: max_requests: 3 requests were sent, and 3 are allowed",
        "  fix: go on in a new output directory with this one as `resume_from`, "
        "and with a higher `max_requests` or none",
    ]
    assert len(candidate.bodies) == 3
    assert not (arena.out("mine") / "eval_manifest.json").exists()
    assert evaluates("rest", "--resume-from", str(arena.out("mine"))).status == 0
    assert len(set(candidate.prompts)) == len(candidate.prompts) == TURNS


def test_run_stops_once_too_many_tasks_ended_by_infrastructure(arena: Arena, evaluates: Evaluates) -> None:
    arena.configure("mine", "http://127.0.0.1:9/v1", ONE_AT_A_TIME)
    ended = evaluates("mine", "--max-infrastructure-stops", "2")
    assert ended.status == 3
    assert (
        "eval_budget_exhausted: max_infrastructure_stops: 2 tasks ended for reasons that are not the candidate's: "
        "transport_error (Connection refused), 2 times\n"
        "  fix: look at these first, as a higher cap mends none of them; then go on in a new output directory "
    ) in ended.err


# --- interruption and resuming ---


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
@BY_MODE
def test_interrupted_run_is_resumed_without_paying_for_an_answer_twice(
    arena: Arena, candidate: Candidate, evaluates: Evaluates, edits: tuple[Edit, ...], sent: signal.Signals
) -> None:
    for name in ("whole", "cut", "resumed"):
        arena.configure(name, candidate.base_url, ONE_AT_A_TIME, *edits)
    assert evaluates("whole", "--eval-run-id", "R").status == 0
    candidate.bodies.clear()
    running = arena.start("bfcl", "eval", "--config", str(arena.config("cut")), "--eval-run-id", "R")
    candidate.when = lambda number: os.kill(running.pid, sent) if number == 5 else None
    out, err = running.communicate(timeout=60)
    candidate.when = lambda _: None
    assert running.returncode == (130 if sent == signal.SIGTERM else -sent), err
    assert out == ""
    assert not (arena.out("cut") / "eval_manifest.json").exists()
    before = arena.files("cut")
    # A polite signal lets an answer in that arrives with it.
    kept = before["candidate_io_cache.jsonl"].count(b'"record_type":"completion"')
    assert kept in ((4, 5) if sent == signal.SIGTERM else (4,))
    ended = evaluates("cut", "--eval-run-id", "R")
    assert ended.status == 7
    assert "eval_cli_artifact_conflict: holds candidate_io_cache.jsonl" in ended.err
    ended = evaluates("resumed", "--eval-run-id", "R", "--resume-from", str(arena.out("cut")))
    assert ended.status == 0
    assert f"\ncalls: {TURNS - kept} asked, {kept} taken over from an earlier run\n" in ended.err
    assert len(candidate.prompts) == TURNS + 5 - kept
    assert len(set(candidate.prompts)) == TURNS
    assert arena.results("resumed") == arena.results("whole")
    assert arena.files("cut") == before
    manifest = json.loads((arena.out("resumed") / "eval_manifest.json").read_bytes())
    assert manifest["resumed_from"]["candidate_io_cache"]["content_hash"].startswith("sha256:")
    again = arena.files("resumed")
    assert evaluates("resumed").status == 0
    assert arena.files("resumed") == again


def test_infrastructure_outcomes_are_asked_again_when_resuming(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    def to_be_asked(config: Data) -> None:
        config["limits"] |= {"max_parallel_tasks": 1, "candidate_timeout_s": 5.0}

    arena.configure("down", candidate.base_url, asks("scripted-unavailable"), to_be_asked)
    assert evaluates("down").status == 3
    arena.configure("up", candidate.base_url, asks("scripted-unavailable"), to_be_asked)
    before = len(candidate.bodies)
    assert evaluates("up", "--resume-from", str(arena.out("down"))).status == 3
    assert len(candidate.bodies) == 2 * before


def test_server_that_answers_with_an_error_is_told_by_its_status_on_the_terminal_and_in_failures(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    arena.configure("down", candidate.base_url, asks("scripted-unavailable"))
    # Replayed, it is still told.
    for told in (evaluates("down"), evaluates("down")):
        assert told.status == 3
        assert (
            "eval_nothing_measured: scripted: all 4 tasks ended for reasons that are not the candidate's, so that its "
            "rate of 0 is no score: HTTP 503 Service Unavailable, 4 times\n"
            f"  fix: look into the log of the server at {candidate.base_url}, which answered that it cannot, then "
        ) in told.err
    assert arena.run("bfcl", "eval-failures", str(arena.out("down"))).status == 0
    lines = (arena.out("down") / "eval_failures" / "scripted.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4
    for line in map(json.loads, lines):
        assert line["went_wrong"]["what"] == "no usable reply came (retry_exhausted)"
        assert line["last_attempt"].startswith("HTTP 503 Service Unavailable (")
        assert line["last_attempt"].endswith("), the only attempt")


@pytest.mark.parametrize(("given", "told"), [("itself", "is the output directory itself"), ("empty", "holds neither")])
def test_resuming_from_no_earlier_run_is_refused(
    arena: Arena, candidate: Candidate, evaluates: Evaluates, given: str, told: str
) -> None:
    arena.configure("mine", candidate.base_url)
    (arena.root / "empty").mkdir()
    arena.out("mine").mkdir(parents=True)
    place = arena.out("mine") if given == "itself" else arena.root / "empty"
    ended = evaluates("mine", "--resume-from", str(place))
    assert ended.status == 2
    assert f"configs/mine.yaml: eval_cli_invalid: resume_from {told}" in ended.err


@pytest.mark.parametrize("name", [b"n\xff", "ü".encode()])
def test_place_that_no_locale_can_tell_is_refused_in_words(arena: Arena, candidate: Candidate, name: bytes) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"} if name != b"n\xff" else {}
    arena.configure("mine", candidate.base_url)
    place = os.fsencode(arena.root) + b"/" + name
    Path(os.fsdecode(place)).mkdir()
    command = [sys.executable, "-m", "bfcl", "eval", "--config", str(arena.root / "configs" / "mine.yaml")]
    for dry in ([], ["--dry-run"]):
        environment = {**arena.environment(), **plain}
        done = subprocess.run([*command, *dry], cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert "the working directory, is no text in the encoding of this locale" in done.stderr
        assert "Traceback" not in done.stderr


def test_standard_error_that_takes_no_more_stops_nothing(arena: Arena, candidate: Candidate) -> None:
    arena.configure("mine", candidate.base_url, put("limits", "max_turns", value=1))
    command = [sys.executable, "-m", "bfcl", "eval", "--config", "configs/mine.yaml"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, cwd=arena.root, env=arena.environment(), stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert done.returncode == 0
    assert b'status: "completed"' in done.stdout


# --- what lies there already ---


def test_report_of_another_configuration_or_run_is_refused(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    arena.configure("mine", candidate.base_url)
    assert evaluates("mine", "--eval-run-id", "R").status == 0
    ended = evaluates("mine", "--eval-run-id", "S")
    assert ended.status == 3
    assert ended.err == (
        "build/eval/mine/eval_report.json: eval_runner_invalid: is of the run R; expected S\n"
        "  fix: leave the run id out, or name another directory\n"
    )
    arena.configure("mine", candidate.base_url, put("limits", "max_turns", value=9))
    ended = evaluates("mine")
    assert ended.status == 7
    assert "eval_manifest.json: eval_cli_artifact_conflict: is the result of the configuration sha256:" in ended.err
    (arena.out("mine") / "eval_manifest.json").unlink()
    ended = evaluates("mine")
    assert ended.status == 3
    assert "eval_report.json: eval_runner_invalid: is of the configuration sha256:" in ended.err


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("eval_report.json", "eval_artifact_invalid"),
        ("eval_breakdowns.json", "eval_artifact_invalid"),
        ("eval_manifest.json", "eval_artifact_invalid"),
        ("eval_task_results.parquet", "eval_artifact_invalid"),
        ("candidate_io_cache.jsonl", "eval_candidate_cache_invalid"),
        ("tool_trace_cache.jsonl", "eval_tool_trace_cache_invalid"),
    ],
)
def test_edited_file_of_a_finished_run_is_refused_and_left_alone(
    arena: Arena, candidate: Candidate, evaluates: Evaluates, file: str, code: str
) -> None:
    arena.configure("mine", candidate.base_url, executable)
    assert evaluates("mine").status == 0
    path = arena.out("mine") / file
    data = path.read_bytes()
    path.write_bytes(data.replace(b"scripted", b"scripteD", 1) if file != "eval_breakdowns.json" else data + b"\n")
    edited = arena.files("mine")
    ended = evaluates("mine")
    assert ended.status == 7, ended.err
    assert file in ended.err
    assert code in ended.err
    assert arena.files("mine") == edited


@pytest.mark.parametrize("file", ["candidate_io_cache.jsonl", "tool_trace_cache.jsonl", "eval_report.json"])
def test_finished_run_that_lacks_a_file_is_refused(
    arena: Arena, candidate: Candidate, evaluates: Evaluates, file: str
) -> None:
    arena.configure("mine", candidate.base_url, executable)
    assert evaluates("mine").status == 0
    (arena.out("mine") / file).unlink()
    ended = evaluates("mine")
    assert ended.status == 7
    assert f"build/eval/mine/{file}: eval_artifact_invalid: is gone, and the " in ended.err


def test_outputs_that_are_switched_off_are_left_out(arena: Arena, candidate: Candidate, evaluates: Evaluates) -> None:
    def none(config: Data) -> None:
        config["outputs"] |= dict.fromkeys(
            ("write_task_results", "write_eval_manifest", "cache_candidate_responses", "cache_tool_results"), False
        )

    arena.configure("mine", candidate.base_url, executable, none)
    payload = completed(evaluates("mine", "--format", "json"))
    assert (payload["task_results_path"], payload["manifest_path"]) == (None, None)
    assert sorted(arena.files("mine")) == ["eval_breakdowns.json", "eval_report.json"]


# --- repeats ---


def test_repeats_are_asked_under_names_of_their_own_and_reported(
    arena: Arena, candidate: Candidate, evaluates: Evaluates
) -> None:
    seed = put("candidates", 0, "inference", "seed", value=100)
    arena.configure("mine", candidate.base_url, repeats(2, "increment"), seed)
    assert evaluates("mine").status == 0
    assert sorted({body["seed"] for body in candidate.bodies}, key=str) == [100, 101]
    assert len(candidate.bodies) == 2 * TURNS
    told = arena.report("mine")["repeats"]
    assert (told["trials"], told["seed_policy"]) == (2, "increment")
    passes = told["candidates"]["scripted"]["passes"]
    assert [(one["k"], one["tasks"], one["pass_hat_k"]) for one in passes] == [(1, TASKS, 1.0), (2, TASKS, 1.0)]
    assert len(read_task_results(arena.out("mine") / "eval_task_results.parquet")) == TASKS


def test_trials_that_infrastructure_stops_are_driven_once_more(arena: Arena, evaluates: Evaluates) -> None:
    arena.configure("mine", "http://127.0.0.1:9/v1", repeats(2))
    assert evaluates("mine").status == 3
    told = arena.report("mine")["repeats"]["candidates"]["scripted"]
    assert told["uncounted_trials"] == 2 * TASKS
    lines = (arena.out("mine") / "candidate_io_cache.jsonl").read_text().splitlines()
    asked = [json.loads(line)["payload"]["request_id"] for line in lines if '"record_type":"request"' in line]
    assert sorted(name.partition(":0")[2] for name in asked) == sorted(["", ":t1", ":t2", ":t3"] * TASKS)
    before = arena.files("mine")
    assert evaluates("mine").status == 3
    assert arena.files("mine") == before


# --- doit ---


def test_doit_evaluates_once_and_refuses_other_inputs_into_a_finished_directory(
    arena: Arena, candidate: Candidate
) -> None:
    arena.configure("mine", candidate.base_url)
    arena.envelope("run", "mine", output_format="json")
    first = arena.run("doit", "eval", "config=configs/run.yaml")
    assert first.status == 0, first.err
    assert json.loads(first.out.splitlines()[-1])["status"] == "completed"
    assert arena.run("doit", "eval", "config=configs/run.yaml", key=None).out.splitlines() == [
        "-- eval",
        "up to date: nothing changed since this evaluation was finished, and nobody was asked",
        "scripted: 4 of 4 tasks, 100.0% (51.0% to 100.0%)",
        str(arena.out("mine") / "eval_report.json"),
    ]
    assert len(candidate.bodies) == TURNS
    report = arena.out("mine") / "eval_report.json"
    report.write_bytes(report.read_bytes() + b"\n")
    touched = arena.run("doit", "eval", "config=configs/run.yaml", key=None)
    assert touched.status == 1
    assert touched.out.splitlines()[-1] == "eval failed: code=eval_artifact_invalid exit_status=7"
    arena.configure("mine", candidate.base_url, put("limits", "max_turns", value=9))
    ended = arena.run("doit", "eval", "config=configs/run.yaml")
    assert ended.status == 1
    assert ended.out.splitlines()[-1] == "eval failed: code=eval_cli_artifact_conflict exit_status=7"
    assert "build/eval/mine/eval_manifest.json: eval_cli_artifact_conflict: is the result of the configuration" in (
        ended.err
    )
    assert len(candidate.bodies) == TURNS


def test_doit_ends_in_nothing_measured_each_time_and_keeps_the_result(arena: Arena) -> None:
    arena.configure("mine", "http://127.0.0.1:9/v1")
    for _ in range(2):
        ended = arena.run("doit", "eval", "config=configs/mine.yaml")
        assert ended.status == 1
        assert 'status: "completed"' in ended.out.splitlines()
        assert ended.out.splitlines()[-1] == "eval failed: code=eval_nothing_measured exit_status=3"
        assert (arena.out("mine") / "eval_manifest.json").is_file()


def test_doit_refuses_variables_and_configurations_that_are_none_of_its_own(arena: Arena) -> None:
    ended = arena.run("doit", "eval", "config=configs/tiny.yaml", "skip_until=render")
    assert ended.status == 1
    assert ended.out.splitlines()[-1] == "eval failed: code=byob_stage_unsupported exit_status=2"
    ended = arena.run("doit", "eval")
    assert ended.status == 1
    assert ended.out.splitlines()[-1] == "eval failed: code=eval_cli_invalid exit_status=2"
    assert ended.err.startswith("eval_cli_invalid: `doit eval` was not told what to evaluate; ")
    assert "Traceback" not in ended.err
