"""Packs that hang, die, flood and hide: the episode breaks, the next one works, nothing stays behind."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bfcl.errors import OracleError
from bfcl.oracle.protocol import Breakdown, OracleSpec
from bfcl.oracle.worker import LocalOracle

HANG = "while True: pass"
STUBBORN = """\
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM): signal.signal(number, signal.SIG_IGN)
while True:
    try: time.sleep(100)
    except BaseException: pass"""


def told(result):
    assert result.breakdown is not None
    return result.breakdown.code, result.breakdown.message, result.breakdown.phase, result.breakdown.call_index


def check_recovery(oracle, episode, *, expected, **fields):
    """The troubled episode in the middle breaks as expected; those around it are whole."""
    before, broken, after = oracle.run([episode(5), episode(**fields), episode(6)])
    assert told(broken) == expected
    for whole, seed in ((before, 5), (after, 6)):
        assert whole.breakdown is None
        assert whole.states == (f'{{"seed":{seed}}}',)
    return broken


@pytest.mark.parametrize(
    ("place", "limits", "expected"),
    [
        ("reset", {"reset_s": 0.3}, ("reset_timeout", "reset did not return within 0.3 s", "reset", None)),
        ("call", {"tool_s": 0.3}, ("tool_timeout", "call 0 `look` did not return within 0.3 s", "call", 0)),
        ("state", {"tool_s": 0.3}, ("tool_timeout", "get_state did not return within 0.3 s", "state", 0)),
        (
            "judge",
            {"assertion_s": 0.3},
            ("assertion_timeout", "assertion `assert_fine` did not return within 0.3 s", "assertion", None),
        ),
        (
            "call",
            {"episode_s": 0.4},
            ("episode_timeout", "the episode did not end within 0.4 s; it was in call 0 `look`", "call", 0),
        ),
    ],
)
@pytest.mark.parametrize("how", [HANG, STUBBORN])
def test_a_hang_is_killed_at_the_deadline_of_its_phase(packs, episode, place, limits, expected, how):
    oracle = packs.troubled(**{place: how}, **limits)
    check_recovery(oracle, episode, expected=expected, assertions=("assert_fine",))


@pytest.mark.parametrize(
    ("place", "where", "phase", "index"),
    [
        ("reset", "reset", "reset", None),
        ("call", "call 0 `look`", "call", 0),
        ("state", "get_state", "state", 0),
        ("judge", "assertion `assert_fine`", "assertion", None),
    ],
)
@pytest.mark.parametrize(
    ("how", "ending"),
    [
        ("import os; os._exit(3)", "ended with exit status 3"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
        ("import ctypes; ctypes.string_at(0)", "was killed by SIGSEGV"),
    ],
)
def test_a_death_is_told_with_its_status_and_place(packs, episode, place, where, phase, index, how, ending):
    oracle = packs.troubled(**{place: how})
    expected = ("worker_crashed", f"the process {ending} in {where}", phase, index)
    check_recovery(oracle, episode, expected=expected, assertions=("assert_fine",))


def test_what_an_episode_had_finished_before_it_was_killed_is_kept(packs, episode):
    oracle = packs.troubled(call="if arguments['n'] == 2:\n    while True: pass", tool_s=0.3)
    (result,) = oracle.run([episode(calls=4, observe="each")])
    assert told(result) == ("tool_timeout", "call 2 `look` did not return within 0.3 s", "call", 2)
    assert result.results == ('{"seen":{"n":0}}', '{"seen":{"n":1}}')
    assert result.states == ('{"seed":1}',) * 3


@pytest.mark.parametrize(
    ("place", "code", "phase", "line", "index"),
    [
        ("reset", "reset_raised", "reset", 13, None),
        ("call", "tool_raised", "call", 17, 0),
        ("state", "state_raised", "state", 22, 0),
    ],
)
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raise ValueError('no such row')", "ValueError: no such row"),
        ("sys.exit(4)", "SystemExit: 4"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise ValueError(__file__)", "ValueError: backend.py"),
    ],
)
def test_what_pack_code_raises_is_told_with_its_line(packs, episode, place, code, phase, line, index, how, message):
    oracle = packs.troubled(**{place: how})
    broken = check_recovery(oracle, episode, expected=(code, message, phase, index))
    assert broken.breakdown.where == f"backend.py:{line}"


def test_a_memory_bomb_and_a_bottomless_recursion_are_the_packs_own_exceptions(packs, episode):
    oracle = packs.troubled(call="if arguments['n']: return (lambda f: f(f))(lambda f: f(f))\nbytearray(8 << 30)")
    (bomb,) = oracle.run([episode()])
    assert told(bomb) == ("tool_raised", "MemoryError", "call", 0)
    deep = packs.troubled(call="return (lambda f: f(f))(lambda f: f(f))")
    check_recovery(
        deep, episode, expected=("tool_raised", "RecursionError: maximum recursion depth exceeded", "call", 0)
    )


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("return [1]", "non_object_result", "call 0 `look` returned list, expected a JSON object"),
        ("return None", "non_object_result", "call 0 `look` returned NoneType, expected a JSON object"),
        (
            "return {'a': [(1, 2)]}",
            "non_serializable_result",
            "call 0 `look`: $.a[0]: is a tuple, which JSON does not have",
        ),
        (
            "return {'a': {'x'}}",
            "non_serializable_result",
            "call 0 `look`: $.a: is a set, which JSON does not have",
        ),
        (
            "return {'a': float('nan')}",
            "non_serializable_result",
            "call 0 `look`: $.a: nan is not a finite number",
        ),
        (
            "v = 1\nfor _ in range(970): v = [v]\nreturn {'a': v}",
            "non_serializable_result",
            "call 0 `look`: $.a[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]…" + "[0]" * 20 + ": nested "
            "deeper than 200 levels",
        ),
        (
            "return {'a': {True: 1}}",
            "non_serializable_result",
            "call 0 `look`: $.a: has a key of type bool, expected text keys",
        ),
        (
            "import json; json.JSONEncoder.default = lambda s, o: 1; json.dumps = None; return {'a': {1}}",
            "non_serializable_result",
            "call 0 `look`: $.a: is a set, which JSON does not have",
        ),
    ],
)
def test_a_result_that_is_not_exact_json_breaks_the_call(packs, episode, body, code, message):
    check_recovery(packs.troubled(call=body), episode, expected=(code, message, "call", 0))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [1]", "get_state returned list, expected a JSON object"),
        ("return {'rows': {1: 'x'}}", "get_state: $.rows: has a key of type int, expected text keys"),
    ],
)
def test_a_state_that_is_not_exact_json_breaks_the_episode(packs, episode, body, message):
    oracle = packs.troubled(state=body)
    check_recovery(oracle, episode, expected=("state_not_serializable", message, "state", 0))


def test_an_answer_beyond_the_message_limit_breaks_the_call(packs, episode):
    expected = ("worker_message_too_large", "the answer grew past 10485760 bytes in call 1 `look`", "call", 1)
    oracle = packs.troubled(call="if arguments['n']: return {'x': 'y' * 11_000_000}")
    broken = check_recovery(oracle, episode, expected=expected, calls=2)
    assert broken.results == ('{"seen":{"n":0}}',)


def test_a_large_answer_below_the_limit_arrives(packs, episode):
    oracle = packs.troubled(call="return {'x': 'ạ' * 3_000_000}")
    replayed = oracle.replay([episode()] * 3)
    assert all(len(a.results[0]) == 3_000_008 and a == b for a, b in replayed)


@pytest.mark.parametrize(
    "body",
    [
        "print('x' * 5_000_000); print('y' * 5_000_000, file=sys.stderr)",
        "import os; [os.write(n, b'garbage' * 1000) for n in (1, 2)]",
        "import os; os.closerange(0, 256)",
        "sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
        "import os; os.write = os._exit = os.fork = None",
        "import signal; signal.setitimer(signal.ITIMER_REAL, 50)",
    ],
)
def test_what_a_pack_does_to_its_streams_and_descriptors_does_not_reach_the_answer(packs, episode, body):
    oracle = packs.troubled(call=body)
    broken, after = oracle.run([episode(calls=2), episode(2)])
    assert broken.breakdown is None
    assert broken.results == ('{"seen":{"n":0}}', '{"seen":{"n":1}}')
    assert after.breakdown is None


def test_an_episode_has_no_input(packs, episode):
    oracle = packs.troubled(call="return {'read': sys.stdin.read()}")
    assert oracle.run([episode()])[0].results == ('{"read":""}',)


def test_module_state_and_files_of_an_episode_are_gone_in_the_next(packs, episode):
    oracle = packs.oracle(
        """
        import os
        SEEN = []
        def list_tools(): return ["look"]
        def reset(*, ctx, fixtures=None): pass
        def call_tool(name, arguments, *, ctx):
            SEEN.append(ctx.seed)
            os.makedirs("deep/er")
            open("deep/er/file", "w").close()
            os.chmod("deep/er", 0)
            os.symlink("nowhere", "link")
            return {"seen": SEEN, "files": sorted(os.listdir())}
        def get_state(): return {}
        """
    )
    results = oracle.run([episode(seed) for seed in (5, 6, 7)])
    assert [result.results[0] for result in results] == [
        f'{{"files":["deep","link"],"seen":[{seed}]}}' for seed in (5, 6, 7)
    ]


STRAY = """\
import ctypes, os
libc = ctypes.CDLL(None)
if libc.fork() == 0:
    os.setsid()
    if libc.fork() == 0:
        while True: pass
    os._exit(0)
os.waitpid(-1, 0)
{then}"""


@pytest.mark.parametrize("then", ["", "while True: pass", "os._exit(1)"])
@pytest.mark.skipif(sys.platform != "linux", reason="strays are found by the kernel's subreaper")
def test_a_process_that_forked_away_past_the_hook_is_killed_with_its_episode(packs, episode, then, worlds):
    oracle = packs.troubled(call=STRAY.format(then=then), tool_s=0.4)
    oracle.run([episode(5)])
    before = worlds()
    oracle.run([episode()])
    assert worlds() - before == set()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_child_forked_past_the_hook_does_not_become_a_second_answer(packs, episode):
    oracle = packs.troubled(call="import ctypes; ctypes.CDLL(None).fork()")
    first, after = oracle.run([episode(), episode(2)])
    assert first.breakdown is None
    assert after.results == ('{"seen":{"n":0}}',)


def test_leaving_the_process_group_does_not_help(packs, episode):
    body = "import os\ntry: os.setpgid(0, os.getpgid(os.getppid()))\nexcept OSError: pass\nwhile True: pass"
    oracle = packs.troubled(call=body, tool_s=0.3)
    expected = ("tool_timeout", "call 0 `look` did not return within 0.3 s", "call", 0)
    check_recovery(oracle, episode, expected=expected)


def test_a_stopped_episode_is_killed_at_its_deadline(packs, episode):
    oracle = packs.troubled(call="import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", tool_s=0.3)
    expected = ("tool_timeout", "call 0 `look` did not return within 0.3 s", "call", 0)
    check_recovery(oracle, episode, expected=expected)


def test_a_pack_that_takes_its_whole_world_down_loses_one_episode(packs, episode):
    oracle = packs.troubled(call="import ctypes, os; ctypes.CDLL(None).kill(os.getppid(), 9)\nwhile True: pass")
    expected = ("worker_crashed", "the process was killed by SIGKILL in call 0 `look`", "call", 0)
    check_recovery(oracle, episode, expected=expected)


def test_a_world_that_stops_answering_is_replaced(packs, episode):
    body = "import ctypes, os, time; ctypes.CDLL(None).kill(os.getppid(), 19); time.sleep(60)"
    oracle = packs.troubled(call=body, episode_s=0.3, grace_s=0.2)
    expected = ("worker_crashed", "the process stopped answering in call 0 `look`", "call", 0)
    check_recovery(oracle, episode, expected=expected)


def test_broken_episodes_are_told_the_same_for_any_number_of_jobs(packs, episode):
    told = []
    for jobs in (1, 2, 4):
        oracle = packs.troubled(call="import os; os._exit(3)", judge="raise ValueError('x')", jobs=jobs)
        told.append(oracle.replay([episode(seed % 3, assertions=("assert_fine",)) for seed in range(12)]))
    assert told[0] == told[1] == told[2]
    assert [a.breakdown is None for a, _ in told[0]] == [seed % 3 != 1 for seed in range(12)]


IMPORT_ENDS = [
    (HANG, "import_timeout", "importing {} did not end within 0.4 s"),
    ("import os; os._exit(5)", "worker_crashed", "the process ended with exit status 5 while importing {}"),
    ("import os; os.closerange(3, 256)", "worker_crashed", "the process ended with exit status 70 while importing {}"),
    ("import ctypes; ctypes.string_at(0)", "worker_crashed", "the process was killed by SIGSEGV while importing {}"),
]
GOOD = "def list_tools(): return ['look']\n"


@pytest.mark.parametrize(("how", "code", "message"), IMPORT_ENDS)
def test_a_backend_whose_import_takes_the_world_down_is_told_and_assertions_still_described(
    packs, episode, how, code, message
):
    oracle = packs.oracle(how, "def assert_it(*, state, trace, task, ctx): pass", import_s=0.4)
    described = oracle.describe()
    assert described.backend_breakdown == Breakdown(code=code, message=message.format("backend"), phase="import")
    assert [info.name for info in described.assertions] == ["assert_it"]
    with pytest.raises(OracleError) as caught:
        oracle.run([episode()])
    shown = code if code == "import_timeout" else "backend_import_failed"
    assert str(caught.value) == f"backend.py: {shown}: {message.format('backend')}"


@pytest.mark.parametrize(("how", "code", "message"), IMPORT_ENDS)
def test_assertions_whose_import_takes_the_world_down_leave_the_backend_usable(packs, how, code, message, episode):
    oracle = packs.oracle(
        GOOD + "def reset(**_): pass\ndef call_tool(*_, **__): return {}\ndef get_state(): return {}\n",
        how,
        import_s=0.4,
    )
    described = oracle.describe()
    assert described.tools == ("look",)
    assert described.assertions_breakdown == Breakdown(code=code, message=message.format("assertions"), phase="import")
    (result,) = oracle.run([episode(assertions=("assert_it",))])
    assert result.breakdown is None
    assert result.assertions[0].status == "error"


def test_threads_and_exit_handlers_of_an_import_hold_nobody_up(packs, episode):
    oracle = packs.oracle(
        """
        import atexit, threading, time
        atexit.register(lambda: time.sleep(1000))
        threading.Thread(target=lambda: time.sleep(1000)).start()
        def list_tools(): return []
        def reset(*, ctx, fixtures=None): pass
        def call_tool(name, arguments, *, ctx): return {}
        def get_state(): return {}
        """
    )
    assert all(result.breakdown is None for pair in oracle.replay([episode()] * 3) for result in pair)


def test_list_tools_has_the_deadline_of_a_tool(packs):
    described = packs.oracle("def list_tools():\n    while True: pass\n", tool_s=0.3).describe()
    assert described.tools is None
    assert described.tools_breakdown == Breakdown(
        code="tool_timeout", message="list_tools did not return within 0.3 s", phase="call"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "while True: pass",
            Breakdown(code="tool_timeout", message="list_tools did not return within 0.3 s", phase="call"),
        ),
        (
            "import os; os._exit(3)",
            Breakdown(
                code="worker_crashed", message="the process ended with exit status 3 in list_tools", phase="call"
            ),
        ),
    ],
)
@pytest.mark.parametrize("fork", [True, False])
def test_assertions_are_described_though_list_tools_does_not_return(packs, body, expected, fork):
    described = packs.oracle(
        f"def list_tools():\n    {body}\n",
        "def assert_it(*, state, trace, task, ctx): pass\n",
        tool_s=0.3,
        fork=fork,
    ).describe()
    assert (described.tools, described.tools_breakdown) == (None, expected)
    assert described.missing_callables == ("reset", "call_tool", "get_state")
    assert [(info.name, info.signature_problem, info.line) for info in described.assertions] == [("assert_it", None, 1)]


@pytest.mark.parametrize(
    "armed",
    [
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "signal.signal(signal.SIGCHLD, lambda *_: 1 / 0)",
        "signal.signal(signal.SIGCONT, signal.SIG_IGN)",
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))",
    ],
)
def test_what_an_import_did_to_signals_does_not_break_episodes(packs, episode, armed):
    oracle = packs.oracle(f"import signal\n{armed}\n{GOOD}" + CALLS.format(call="return {}"))
    assert all(result.breakdown is None for pair in oracle.replay([episode()] * 3) for result in pair)


@pytest.mark.parametrize(
    ("body", "limits", "code"),
    [(HANG, {"tool_s": 0.3}, "tool_timeout"), ("import os; os._exit(3)", {}, "worker_crashed")],
)
def test_without_fork_an_episode_is_stopped_and_told_the_same(packs, episode, body, limits, code):
    forked = packs.troubled(call=body, **limits)
    spawned = packs.troubled(call=body, fork=False, **limits)
    episodes = [episode(5), episode(), episode(6)]
    results = spawned.run(episodes)
    assert results == forked.run(episodes)
    assert results[1].breakdown.code == code


CALLS = """
def reset(**_): pass
def call_tool(*_, **__):
    {call}
def get_state(): return {{}}
"""
PARENT = """
import sys, time, os
sys.path.insert(0, {root!r})
from bfcl.oracle.protocol import *
from bfcl.oracle.worker import LocalOracle
view = {view!r}
spec = OracleSpec(view=view, backend=view + "/backend.py", assertions=view + "/assertions.py", fixtures=None,
    clock="2026-03-02T10:00:00+00:00", tool_timeout_s=100, assertion_timeout_s=5, import_timeout_s=100,
    reset_timeout_s=5, episode_timeout_s=100)
print("ready", flush=True)
with LocalOracle(spec) as oracle:
    oracle.replay([Episode(task_id="t", seed=1, calls=(PlannedCall(tool="look", arguments={{}}),))])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("place", ["import", "call", "stopped"])
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_worlds_end_with_their_parent_however_it_ends(packs, tmp_path, number, place, worlds):
    body = "while True: pass\n"
    stop = "import ctypes, os; ctypes.CDLL(None).kill(os.getppid(), 19); " if place == "stopped" else ""
    calls = CALLS.format(call=f"{stop}\n    {body}")
    view = packs.view(body if place == "import" else calls)
    before = worlds()
    script = PARENT.format(root=str(Path(__file__).parents[2]), view=str(view))
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"TMPDIR": str(tmp_path / "temporary")},
    )
    try:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        _until(lambda: len(worlds() - before) >= (2 if place == "import" else 4), "both worlds")
        if place == "stopped":
            _until(lambda: sum(map(_is_stopped, worlds() - before)) == 2, "both worlds to be stopped")
        parent.send_signal(number)
        parent.wait(20)
        _until(lambda: worlds() - before == set(), "the worlds to be gone")
        if number == signal.SIGKILL:  # nobody was left to clean up
            shutil.rmtree(tmp_path / "temporary")
            (tmp_path / "temporary").mkdir()
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()


def _is_stopped(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def _until(condition, what):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        os.sched_yield()


def test_an_interpreter_that_does_not_come_up_is_told_with_what_it_said(packs, episode, monkeypatch):
    oracle = packs.oracle(GOOD)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(OracleError) as caught:
        oracle.run([episode()])
    assert str(caught.value) == (
        "worker_start_failed: the worker's interpreter ended with exit status 1 before it could import the pack: "
        "it said nothing\n"
        "  fix: run the command with the interpreter of an environment where bfcl is installed whole"
    )


@pytest.mark.parametrize(
    ("number", "text"), [(errno.EMFILE, "Too many open files"), (errno.EAGAIN, "Resource temporarily unavailable")]
)
def test_a_process_that_cannot_be_set_up_is_told(packs, episode, monkeypatch, number, text):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    oracle = packs.oracle(GOOD)
    with monkeypatch.context() as patch:
        patch.setattr("bfcl.oracle.world.subprocess.Popen", refuse)
        for ask in (oracle.start_ahead, lambda: oracle.run([episode()])):
            with pytest.raises(OracleError) as caught:
                ask()
            assert str(caught.value) == (
                f"worker_start_failed: no process could be set up for the pack: {text}\n"
                "  fix: let the command have more open files, processes, threads, memory or room for temporary files "
                "(see `ulimit -a`), then run it again"
            )
    assert oracle.run([episode()])[0].breakdown.code == "reset_raised"  # a world came up and asked the pack


def test_an_error_in_the_parent_leaves_no_world(packs, episode, monkeypatch, worlds):
    oracle = packs.troubled()
    before = worlds()
    oracle.run([episode()])
    assert worlds() - before != set()
    monkeypatch.setattr("bfcl.oracle.pool.Lane.take", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        oracle.run([episode()])
    assert worlds() - before == set()


def test_the_specification_travels_to_other_processes(packs):
    import pickle

    spec = packs.spec(packs.view(GOOD))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert isinstance(spec, OracleSpec)
    assert LocalOracle(spec).suspects() == ()
