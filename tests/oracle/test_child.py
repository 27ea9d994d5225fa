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
        *[("import time", f"int(time.clock_gettime({number})) // 3600") for number in (1, 4, 6, 7)],
        *[("import time", f"time.clock_gettime_ns({number}) // 10**12") for number in (1, 4, 6, 7)],
        *[("import time", f"int(time.clock_gettime({number}))") for number in (0, 5, 11)],
        *[("import time", f"time.clock_gettime_ns({number}) // 10**9") for number in (0, 5, 11)],
        ("from time import clock_gettime_ns, CLOCK_BOOTTIME", "clock_gettime_ns(CLOCK_BOOTTIME) // 10**12"),
        ("import sys", "__file__"),
        ("import sys", "len(os.path.dirname(__file__))"),
        ("import sys", "sys.path[0]"),
        ("import helper", "helper.__file__"),
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
    oracle = packs.oracle(LEAK.format(imports=imports, leak=leak), helper="")
    ((a, b),) = oracle.replay([episode()])
    assert a.breakdown is b.breakdown is None
    assert a.results != b.results


@pytest.mark.parametrize(
    "sql",
    [
        "date('now')",
        "date()",
        "time('NOW')",
        "datetime('now', 'start of month')",
        "julianday('now')",
        "strftime('%Y', 'now')",
        "strftime('%d')",
        "CURRENT_DATE",
        "current_time",
        "CURRENT_TIMESTAMP",
    ],
)
@pytest.mark.parametrize(
    ("imports", "connect"),
    [
        ("import sqlite3", "sqlite3.connect(':memory:')"),
        ("from sqlite3 import dbapi2", "dbapi2.Connection(':memory:')"),
        ("import importlib", "importlib.import_module('sqlite3').connect('x.db', 5.0)"),
    ],
)
def test_the_clock_of_a_database_diverges_between_the_worlds(packs, episode, sql, imports, connect):
    oracle = packs.oracle(LEAK.format(imports=imports, leak=f'{connect}.execute("SELECT {sql}").fetchone()[0]'))
    ((a, b),) = oracle.replay([episode()])
    assert a.breakdown is b.breakdown is None
    assert a.results != b.results


DATABASE = """
import sqlite3
class Mine(sqlite3.Connection): pass
AT_IMPORT = sqlite3.connect(":memory:", check_same_thread=False)
def list_tools(): return ["look"]
def reset(*, ctx, fixtures=None): pass
def call_tool(name, arguments, *, ctx):
    {body}
def get_state(): return {{}}
"""


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("return {'x': AT_IMPORT.execute(\"SELECT date('now'), CURRENT_DATE\").fetchall()[0][1]}", '"2026-03-02"'),
        (
            "c = sqlite3.connect(':memory:'); c.execute('CREATE TABLE t (a, b TEXT DEFAULT CURRENT_TIMESTAMP)');"
            "c.execute('INSERT INTO t (a) VALUES (1)');"
            "return {'x': c.execute('SELECT substr(b, 1, 16) FROM t').fetchone()[0]}",
            '"2026-03-02 03:00"',
        ),
        (
            "c = sqlite3.connect(':memory:', factory=Mine);"
            "return {'x': [type(c).__name__, c.execute(\"SELECT date('now', '+1 day')\").fetchone()[0]]}",
            '["Mine","2026-03-03"]',
        ),
        (
            "c = sqlite3.connect(':memory:', 5.0, 0, None, True, Mine);"
            "return {'x': [type(c).__name__, c.execute(\"SELECT strftime('%m')\").fetchone()[0]]}",
            '["Mine","03"]',
        ),
    ],
)
def test_world_a_shows_the_clock_of_the_run_to_a_database(packs, episode, body, seen):
    (result,) = packs.oracle(DATABASE.format(body=body)).run([episode()])
    assert (result.breakdown, result.results) == (None, (f'{{"x":{seen}}}',))


def test_a_database_computes_with_given_times_as_ever(packs, episode):
    body = """
    c = sqlite3.connect(":memory:")
    c.execute("CREATE TABLE t (d TEXT CHECK (date(d) IS NOT NULL), y AS (strftime('%Y', d)))")
    c.execute("CREATE INDEX i ON t (julianday(d))")
    c.execute("INSERT INTO t (d) VALUES ('2020-02-29')")
    odd = "SELECT date('rubbish'), strftime(), date(NULL), time(0.5), datetime(1092941466, 'unixepoch')"
    return {"rows": [list(c.execute(sql).fetchone()) for sql in (
        "SELECT d, y, date(d, '+1 year'), julianday(d) FROM t", odd)], "kind": str(type(c))}
"""
    (result,) = packs.oracle(DATABASE.format(body=body.strip())).run([episode()])
    assert result.breakdown is None
    assert json.loads(result.results[0]) == {
        "kind": "<class 'sqlite3.Connection'>",
        "rows": [
            ["2020-02-29", "2020", "2021-03-01", 2458908.5],
            [None, None, None, "00:00:00", "2004-08-19 18:51:06"],
        ],
    }


@pytest.mark.parametrize("clock", ["CLOCK_REALTIME", "CLOCK_TAI"])
def test_world_a_shows_the_clock_of_the_run_under_every_wall_clock(packs, episode, clock):
    leak = f"time.strftime('%Y-%m-%dT%H:%M', time.gmtime(time.clock_gettime(time.{clock})))"
    (result,) = packs.oracle(LEAK.format(imports="import time", leak=leak)).run([episode()])
    assert result.results == ('{"leak":"2026-03-02T03:00"}',)


@pytest.mark.parametrize(
    "place", ["os.path.dirname(__file__)", "os.path.dirname(os.path.realpath(__file__))", "sys.path[0]"]
)
def test_a_file_beside_the_pack_is_read_in_both_worlds(packs, episode, place):
    oracle = packs.oracle(
        LEAK.format(imports="import sys", leak=f"open(os.path.join({place}, 'helper.py')).read()"), helper="x = 1"
    )
    ((a, b),) = oracle.replay([episode()])
    assert a.results == b.results == ('{"leak":"x = 1"}',)


@pytest.mark.parametrize("path", ["__file__", "os.path.realpath(__file__)", "helper.__file__"])
def test_an_error_that_names_a_file_of_the_pack_reads_the_same_in_both_worlds(packs, episode, path):
    oracle = packs.oracle(LEAK.format(imports="import helper", leak=f"open({path} + '.absent')"), helper="")
    ((a, b),) = oracle.replay([episode()])
    name = "helper.py" if "helper" in path else "backend.py"
    assert a == b
    assert a.breakdown is not None
    assert a.breakdown.message == f"FileNotFoundError: [Errno 2] No such file or directory: '{name}.absent'"
    assert a.breakdown.where == "backend.py:8"


def test_a_pack_that_finds_its_helpers_by_its_real_path_is_told_by_its_own_lines(packs, episode):
    imports = "import sys; sys.path.insert(0, os.path.dirname(os.path.realpath(__file__))); import helper"
    oracle = packs.oracle(LEAK.format(imports=imports, leak="helper.fail()"), helper="def fail(): raise KeyError")
    ((a, b),) = oracle.replay([episode()])
    assert a == b
    assert a.breakdown is not None
    assert (a.breakdown.message, a.breakdown.where) == ("KeyError", "helper.py:1")


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
