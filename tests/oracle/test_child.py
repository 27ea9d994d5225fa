"""The surroundings a world gives the pack: whatever leaks into an answer diverges on the first try."""

from __future__ import annotations

import json

import pytest

LEAK = """
import os
{imports}
FIRST = None
def list_tools(): return ["look"]
def reset(*, ctx, fixtures=None): pass
def call_tool(name, arguments, *, ctx):
    return {{"leak": {leak}}}
def get_state(): return {{}}
"""


@pytest.mark.parametrize(
    ("imports", "leak"),
    [
        ("import datetime", "datetime.datetime.now().isoformat()"),
        ("import datetime", "datetime.datetime.now().replace(microsecond=0).isoformat()"),
        ("import datetime", "datetime.date.today().isoformat()"),
        ("import datetime", "datetime.date.today().year"),
        ("import datetime", "datetime.date.today().month"),
        ("import datetime", "datetime.date.today().weekday()"),
        ("import datetime", "datetime.datetime.now().hour"),
        ("import datetime", "datetime.datetime.now(datetime.UTC).hour"),
        ("from datetime import datetime as moment", "moment.utcnow().day"),
        ("import time", "int(time.time())"),
        ("import time", "time.strftime('%A')"),
        ("import time", "time.localtime().tm_yday"),
        ("import time", "time.ctime()"),
        ("import time", "int(time.monotonic()) // 3600"),
        ("import time", "time.perf_counter_ns() // 10**12"),
        ("import time", "time.tzname[0]"),
        ("import sys", "list({str(n) for n in range(20)})"),
        ("import sys", "hash('text')"),
        ("import sys", "os.environ['TZ']"),
        ("import sys", "dict(os.environ)"),
        ("import sys", "os.getcwd()"),
        ("import sys", "len(os.getcwd())"),
        ("import sys", "os.path.expanduser('~')"),
        ("import tempfile", "tempfile.gettempdir()"),
        ("import random", "random.random()"),
        ("import secrets", "secrets.token_hex(4)"),
        ("import uuid", "str(uuid.uuid4())"),
        ("import sys", "list(os.urandom(4))"),
        ("import time\nAT_IMPORT = time.strftime('%Y')", "AT_IMPORT"),
        ("import random\nAT_IMPORT = random.random()", "AT_IMPORT"),
    ],
)
def test_what_is_ambient_diverges_between_the_worlds(packs, episode, imports, leak):
    oracle = packs.oracle(LEAK.format(imports=imports, leak=leak))
    ((a, b),) = oracle.replay([episode()])
    assert a.breakdown is b.breakdown is None
    assert a.results != b.results


def test_a_verdict_that_depends_on_the_clock_diverges(packs, episode):
    oracle = packs.oracle(
        LEAK.format(imports="", leak="1"),
        """
        from datetime import date
        def assert_in_time(*, state, trace, task, ctx): assert date.today() < date(2027, 1, 1)
        """,
    )
    ((a, b),) = oracle.replay([episode(assertions=("assert_in_time",))])
    assert (a.assertions[0].status, b.assertions[0].status) == ("passed", "failed")


def test_task_order_diverges_where_episodes_could_see_each_other_only_through_the_machine(packs, episode):
    oracle = packs.oracle(LEAK.format(imports="", leak="os.getpid()"))
    replayed = oracle.replay([episode(seed) for seed in range(9)])
    order = {lane: [json.loads(pair[lane].results[0])["leak"] for pair in replayed] for lane in (0, 1)}
    assert order[0] == sorted(order[0])
    assert order[1] == sorted(order[1], reverse=True)


def test_world_a_shows_the_clock_of_the_run_and_keeps_the_real_classes(packs, episode):
    oracle = packs.oracle(
        LEAK.format(
            imports="import datetime",
            leak="[datetime.datetime.now(datetime.UTC).isoformat()[:16], type(datetime.datetime.now()).__module__]",
        )
    )
    ((a, _),) = oracle.replay([episode()])
    assert a.results == ('{"leak":["2026-03-02T03:00","datetime"]}',)


def test_no_variable_of_the_caller_passes(packs, episode, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    oracle = packs.oracle(LEAK.format(imports="import sys", leak="[sorted(os.environ), '/nowhere' in sys.path]"))
    assert oracle.run([episode()])[0].results == (
        '{"leak":[["HOME","LANG","LC_ALL","PATH","PYTHONHASHSEED","TMPDIR","TZ"],false]}',
    )


def test_the_library_stand_ins_are_gone_when_the_pack_imports(packs, episode):
    oracle = packs.oracle(
        LEAK.format(
            imports="import inspect, unittest",
            leak="[inspect.signature(reset).parameters['fixtures'].name, unittest.TestCase.__module__]",
        )
    )
    assert oracle.run([episode()])[0].results == ('{"leak":["fixtures","unittest.case"]}',)


def test_the_search_path_begins_with_the_pack(packs, episode):
    oracle = packs.oracle(
        LEAK.format(imports="import sys", leak="os.path.samefile(sys.path[0], os.path.dirname(__file__))")
    )
    assert oracle.run([episode()])[0].results == ('{"leak":true}',)


def test_asserts_are_not_optimised_away(packs, episode):
    oracle = packs.oracle(LEAK.format(imports="import sys", leak="[__debug__, sys.flags.dont_write_bytecode]"))
    assert oracle.run([episode()])[0].results == ('{"leak":[true,1]}',)
