"""Shards on a real cluster of two worker processes: every job once, nothing left behind, everything else a refusal."""

from __future__ import annotations

import platform
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from bfcl.errors import BfclError, ConfigError, OracleError, StageError
from bfcl.graph.dask_executor import _FACTS, IN_FLIGHT, LEAST_TASKS, DaskExecutor, check_cluster
from bfcl.graph.executor import Compute, Job
from bfcl.graph.host import python_minor
from bfcl.graph.remote_shards import program
from bfcl.graph.shards import Chunk
from bfcl.graph.sources import package_digest
from bfcl.records.ids import TemplateId
from tests.clusters import REPOSITORY, Blunder, Cluster, Count, Die, Hold, Lose, Note, Refuse, cluster, until

EXPECTED = (
    f"expected package digest {package_digest()}, Python {python_minor()}, fork: yes, system {platform.system()}, "
    f"machine {platform.machine()}, jsonschema {version('jsonschema')}, time-machine {version('time-machine')}"
)
ANEW = "\n  fix: install on the cluster what this command runs, and start its processes anew"
ELSEWHERE = "or leave `executor=` out to compute on this machine"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers that nobody breaks."""
    with cluster(tmp_path_factory.mktemp("cluster"), workers=2) as running:
        yield running


@pytest.fixture
def lonely(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster without workers, for a test to break; a lost worker is not given a second task."""
    with cluster(tmp_path / "lonely", workers=0, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as running:
        yield running


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package lies with one comment more."""
    place = tmp_path_factory.mktemp("other")
    shutil.copytree(REPOSITORY / "bfcl", place / "bfcl", ignore=shutil.ignore_patterns("__pycache__"))
    with (place / "bfcl" / "digest.py").open("a") as source:
        source.write("# another\n")
    return place


def job(number: int, tasks: int = LEAST_TASKS) -> Job:
    chunk = Chunk(template_id=TemplateId("t"), label=f"t/{number}", start=0, stop=tasks)
    template: Any = None
    return Job(number=number, template=template, chunk=chunk, rows={"expand": [b"{}"] * tasks})


def executor(where: Cluster, **options: Any) -> DaskExecutor:
    return DaskExecutor(where.address, _ignore, **options)


def _ignore(_: Mapping[str, Any]) -> None: ...


def refused(where: Cluster, compute: Compute) -> BfclError:
    with pytest.raises(BfclError) as caught:
        list(executor(where).run(iter([job(0)]), compute))
    return caught.value


def test_every_job_comes_back_once_with_its_own_rows_from_both_workers(two: Cluster, tmp_path: Path) -> None:
    jobs = [job(number, 1 + number % LEAST_TASKS) for number in range(80)]
    told = [pair for done in executor(two).run(iter(jobs), Note(tmp_path)) for pair in done]
    assert sorted(one.number for one, _ in told) == list(range(80))
    assert all(lines == [b"%d" % one.number] * one.tasks for one, lines in told)
    assert {path.suffix for path in tmp_path.iterdir()} == {f".{worker.pid}" for worker in two.workers}


def test_jobs_are_read_as_they_are_needed_and_nothing_is_left_behind(two: Cluster) -> None:
    before = set(threading.enumerate())
    read: list[int] = []

    def jobs() -> Iterator[Job]:
        for number in range(50):
            read.append(number)
            yield job(number)

    results = executor(two).run(jobs(), Count())
    next(results)
    assert len(read) <= 2 * IN_FLIGHT * len(two.workers)
    results.close()  # type: ignore[attr-defined]
    assert set(threading.enumerate()) == before
    assert two.tasks() == 0


def test_interrupt_withdraws_what_no_worker_has_begun(two: Cluster, tmp_path: Path) -> None:
    results = executor(two).run((job(number) for number in range(50)), Note(tmp_path))
    next(results)
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert two.tasks() == 0
    assert len(list(tmp_path.iterdir())) <= 2 * IN_FLIGHT * len(two.workers)


def test_refusal_of_a_worker_reaches_the_caller_and_names_it(two: Cluster) -> None:
    error = refused(two, Refuse())
    assert type(error) is OracleError
    told = str(error)
    assert told in [f"worker_start_failed: no room (on worker {one})\n  fix: make room" for one in two.addresses()]


def test_bug_on_a_worker_reaches_the_caller(two: Cluster) -> None:
    with pytest.raises(RuntimeError, match="a bug"):
        list(executor(two).run(iter([job(0)]), Blunder()))


def test_group_that_loses_rows_is_a_bug(two: Cluster) -> None:
    with pytest.raises(ValueError, match="zip"):
        list(executor(two).run(iter([job(0)]), Lose()))


def test_lost_worker_costs_only_time(tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster", workers=2) as breaking:
        work = Hold(tmp_path)
        told: list[int] = []

        def collect() -> None:
            results = executor(breaking).run((job(number) for number in range(8)), work)
            told.extend(one.number for done in results for one, _ in done)

        collecting = threading.Thread(target=collect)
        collecting.start()
        victim = breaking.workers[0]
        until(lambda: any(path.suffix == f".{victim.pid}" for path in tmp_path.iterdir()), victim)
        victim.kill()
        (tmp_path / "go").touch()
        collecting.join()
    assert sorted(told) == list(range(8))


def test_group_that_takes_its_worker_down_is_refused(lonely: Cluster) -> None:
    lonely.add()
    lonely.ready()
    assert str(refused(lonely, Die())) == (
        f"executor_lost: dask:{lonely.address}: worker after worker was lost while it computed t/0; finished shards "
        "are kept\n  fix: look for the reason in the logs of the workers, their memory limit first; then run again, or "
        "without `executor=`"
    )


def test_scheduler_that_goes_away_is_refused(lonely: Cluster, tmp_path: Path) -> None:
    worker = lonely.add()
    lonely.ready()
    caught: list[BfclError] = []

    def collect() -> None:
        caught.append(refused(lonely, Hold(tmp_path)))

    collecting = threading.Thread(target=collect)
    collecting.start()
    until(lambda: any(path.suffix == f".{worker.pid}" for path in tmp_path.iterdir()), worker)
    lonely.scheduler.kill()
    collecting.join()
    (tmp_path / "go").touch()
    assert str(caught[0]) == (
        f"executor_unreachable: dask:{lonely.address}: the connection was lost; finished shards are kept\n"
        f"  fix: start a scheduler there or mend the address, {ELSEWHERE}"
    )


@pytest.mark.parametrize("lost", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)])
def test_scheduler_that_goes_away_between_two_groups_is_refused(lonely: Cluster, lost: signal.Signals) -> None:
    lonely.add()
    lonely.ready()
    results = executor(lonely, answer_s=8).run((job(number) for number in range(20)), Count())
    ((first, _),) = next(results)
    lonely.scheduler.send_signal(lost)
    try:
        with pytest.raises(StageError) as caught:
            list(results)
    finally:
        lonely.scheduler.send_signal(signal.SIGCONT)
    reasons = {signal.SIGKILL: "the connection was lost", signal.SIGSTOP: "no answer for 8 s"}
    assert first.number == 0
    assert caught.value.problems[0].code == "executor_unreachable"
    assert caught.value.problems[0].message == f"{reasons[lost]}; finished shards are kept"


def test_cluster_that_stays_without_workers_is_refused(lonely: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(StageError) as caught:
        list(executor(lonely, patience_s=0.5).run(iter([job(0)]), Count()))
    assert str(caught.value) == (
        f"executor_unreachable: dask:{lonely.address}: no worker for 0 s\n  fix: start workers for it, {ELSEWHERE}"
    )


def test_workers_of_another_program_are_refused_before_anything_is_sent(
    lonely: Cluster, other: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    (bare / "bfcl").mkdir(parents=True)
    (bare / "bfcl" / "__init__.py").touch()
    lonely.add(package=other)
    lonely.add(package=bare)
    lonely.ready()
    edited, empty = lonely.addresses()
    with pytest.raises(StageError) as caught:
        check_cluster(lonely.address)
    assert sorted(str(problem) for problem in caught.value.problems) == sorted(
        [
            f"executor_mismatch: {edited}: runs package digest {digest_of(other)}; {EXPECTED}{ANEW}",
            f"executor_mismatch: {empty}: cannot load bfcl: ModuleNotFoundError(\"No module named 'bfcl.graph'\"); "
            f"{EXPECTED}{ANEW}",
        ]
    )


def test_worker_of_another_program_that_comes_later_is_refused(lonely: Cluster, other: Path, tmp_path: Path) -> None:
    same = lonely.add()
    lonely.ready()
    caught: list[BfclError] = []

    def collect() -> None:
        with pytest.raises(StageError) as refusal:
            list(executor(lonely).run((job(number) for number in range(8)), Hold(tmp_path)))
        caught.append(refusal.value)

    collecting = threading.Thread(target=collect)
    collecting.start()
    until((tmp_path / f"0.{same.pid}").exists, same)
    lonely.add(package=other)
    lonely.ready()
    (tmp_path / "go0").touch()
    collecting.join()
    (tmp_path / "go").touch()
    _, late = lonely.addresses()
    assert str(caught[0]) == f"executor_mismatch: {late}: runs package digest {digest_of(other)}; {EXPECTED}{ANEW}"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What makes a process that starts with it believe that it runs on another machine, with another clock."""
    place = tmp_path_factory.mktemp("elsewhere")
    (place / "bfcl").symlink_to(REPOSITORY / "bfcl")
    (place / "sitecustomize.py").write_text(
        "import platform\nplatform.system = lambda: 'Plan9'\nplatform.machine = lambda: 'mips'\n"
    )
    stated = place / "time_machine-1.0.dist-info"
    stated.mkdir()
    (stated / "METADATA").write_text("Metadata-Version: 2.1\nName: time-machine\nVersion: 1.0\n")
    return place


def test_refusal_names_every_fact_that_differs_and_no_other(lonely: Cluster, elsewhere: Path) -> None:
    lonely.add(package=elsewhere)
    lonely.ready()
    (worker,) = lonely.addresses()
    with pytest.raises(StageError) as caught:
        check_cluster(lonely.address)
    assert str(caught.value) == (
        f"executor_mismatch: {worker}: runs system Plan9, machine mips, time-machine 1.0; {EXPECTED}{ANEW}"
    )


def test_every_fact_has_words() -> None:
    assert list(_FACTS) == list(program())


def digest_of(place: Path) -> str:
    """The package digest that a process started from there finds."""
    command = [sys.executable, "-c", "from bfcl.graph.sources import package_digest as d; print(d())"]
    told = subprocess.run(
        command, env={"PYTHONPATH": str(place)}, cwd=place, capture_output=True, text=True, check=True
    )
    return told.stdout.strip()


def test_address_where_nothing_listens_is_refused_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(StageError) as caught:
            check_cluster(address)
    assert str(caught.value) == (
        f"executor_unreachable: dask:{address}: [Errno 111] Connection refused\n"
        f"  fix: start a scheduler there or mend the address, {ELSEWHERE}"
    )
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("scheduler", "names no port"),
        ("scheduler:x", "names no port"),
        (f"scheduler:{10**30}", "names no port"),
        ("ws://scheduler", "names no port"),
        ("http://scheduler:1", "`http://` is no protocol that is spoken here"),
    ],
)
def test_address_that_is_none_is_refused_and_leaves_no_thread(address: str, reason: str) -> None:
    before = set(threading.enumerate())
    with pytest.raises(StageError) as caught:
        check_cluster(address)
    assert str(caught.value) == (
        f"executor_unreachable: dask:{address}: {reason}\n"
        f"  fix: start a scheduler there or mend the address, {ELSEWHERE}"
    )
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("scheme", ["tls", "wss"])
def test_encrypted_address_without_certificates_is_refused_and_leaves_no_thread(scheme: str) -> None:
    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(StageError) as caught:
            check_cluster(address)
    assert str(caught.value) == (
        f"executor_unreachable: dask:{address}: asks for certificates, and dask's own settings "
        "(`distributed.comm.tls`) name none\n"
        f"  fix: start a scheduler there or mend the address, {ELSEWHERE}"
    )
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("tcp://me:SECRETPW@127.0.0.1", "tcp://127.0.0.1"),
        ("me:SECRETPW@scheduler", "scheduler"),
        ("udp://me:SECRETPW@127.0.0.1:1", "udp://127.0.0.1:1"),
    ],
)
def test_password_in_an_address_is_not_told(given: str, shown: str) -> None:
    with pytest.raises(StageError) as caught:
        check_cluster(given)
    assert caught.value.problems[0].subject == f"dask:{shown}"
    assert "SECRETPW" not in str(caught.value)


def test_missing_library_is_one_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError) as caught:
        check_cluster("127.0.0.1:8786")
    assert str(caught.value) == (
        "extra_not_installed: executor: `executor=dask:` needs the extra `distributed`: import of distributed halted; "
        "None in sys.modules\n  fix: `pip install 'bfcl-build[distributed]'`, or leave `executor=` out"
    )
