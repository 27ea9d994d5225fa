"""Reaching outside the episode is refused, told with its line, and cannot be hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

PACK = """
import os
def helper(arguments):
    {body}
def list_tools(): return ["look"]
def reset(*, ctx, fixtures=None): pass
def call_tool(name, arguments, *, ctx):
    if ctx.seed == 1:
        {call}
    return {{"fine": True}}
def get_state(): return {{}}
"""


def reach(packs, episode, body, call="helper(arguments)"):
    oracle = packs.oracle(PACK.format(body=body, call=call))
    broken, after = oracle.run([episode(), episode(2)])
    assert after.breakdown is None
    return broken


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("import socket; socket.socket()", "creates a network socket"),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", "looks up the network name `127.0.0.1`"),
        ("import socket; socket.gethostname()", "looks up the name of this machine"),
        ("import socket; socket.socketpair()[0].connect('/tmp/x')", "connects a socket to `/tmp/x`"),
        ("import urllib.request; urllib.request.urlopen('http://x.test/')", "looks up the network name `x.test`"),
        ("import subprocess; subprocess.run(['date'])", "starts a process `date`"),
        ("os.system('true')", "starts a process `true`"),
        ("os.posix_spawn('/bin/true', ['true'], {})", "starts a process `/bin/true`"),
        ("os.execv('/bin/true', ['true'])", "starts a process `/bin/true`"),
        ("os.fork()", "forks a process"),
        ("os.kill(os.getppid(), 9)", "sends signal 9 to another process"),
        ("open('/tmp/bfcl-never', 'w')", "opens `/tmp/bfcl-never` for writing"),
        ("open('../escape', 'a')", "opens `../escape` for writing"),
        ("os.open('/tmp/bfcl-never', os.O_CREAT)", "opens `/tmp/bfcl-never` for writing"),
        ("open(os.path.dirname(__file__) + '/note', 'w')", "opens `note` for writing"),
        ("os.remove('/tmp/bfcl-never')", "changes `/tmp/bfcl-never`"),
        ("os.mkdir('/tmp/bfcl-never')", "changes `/tmp/bfcl-never`"),
        ("open('here', 'w').close(); os.rename('here', '/tmp/bfcl-never')", "changes `/tmp/bfcl-never`"),
        ("os.chmod('/tmp', 0o777)", "changes `/tmp`"),
        (
            "import sqlite3; sqlite3.connect('/tmp/bfcl-never.db')",
            "opens the database `/tmp/bfcl-never.db` for writing",
        ),
    ],
)
def test_reaching_outside_is_refused_and_told_with_its_line(packs, episode, body, what):
    broken = reach(packs, episode, body)
    assert broken.breakdown is not None
    assert broken.breakdown.code == "ambient_access"
    assert broken.breakdown.message == f"call 0 `look` {what}"
    assert (broken.breakdown.where, broken.breakdown.phase, broken.breakdown.call_index) == ("backend.py:4", "call", 0)
    assert not Path("/tmp/bfcl-never").exists()


@pytest.mark.parametrize(
    "call",
    [
        "try: helper(arguments)\n        except Exception: return {'fine': True}",
        "try: helper(arguments)\n        except BaseException: return {'fine': True}",
        "try: helper(arguments)\n        except BaseException: raise ValueError('other') from None",
        "import threading; t = threading.Thread(target=helper, args=(1,)); t.start(); t.join()",
    ],
)
def test_swallowing_the_refusal_hides_nothing(packs, episode, call):
    broken = reach(packs, episode, "os.system('true')", call)
    assert broken.breakdown is not None
    assert (broken.breakdown.code, broken.breakdown.where) == ("ambient_access", "backend.py:4")
    assert broken.results == ()


@pytest.mark.parametrize(
    "body",
    [
        "open('note', 'w').write('x'); os.mkdir('d'); os.rename('note', 'd/note'); os.remove('d/note')",
        "import tempfile; tempfile.TemporaryFile().write(b'x'); tempfile.mkdtemp()",
        "open(os.devnull, 'w').write('x')",
        "import sqlite3; sqlite3.connect(':memory:').execute('create table t (x)')",
        "import sqlite3; sqlite3.connect('mine.db').execute('create table t (x)')",
        "import asyncio\n    async def work(): return 1\n    asyncio.run(work())",
        "import threading; t = threading.Thread(target=print); t.start(); t.join()",
        "import decimal, csv, zoneinfo, logging; zoneinfo.ZoneInfo('UTC')",
        "open(__file__).read()",
        "os.kill(os.getpid(), 0)",
    ],
)
def test_honest_work_is_left_alone(packs, episode, body):
    assert reach(packs, episode, body).breakdown is None


def test_reaching_outside_in_an_assertion_breaks_the_episode(packs, episode):
    oracle = packs.oracle(
        PACK.format(body="pass", call="pass"),
        "import os\n"
        "def assert_it(*, state, trace, task, ctx):\n    try: os.system('true')\n    except BaseException: pass\n",
    )
    (result,) = oracle.run([episode(assertions=("assert_it",))])
    assert result.breakdown is not None
    assert result.breakdown.code == "ambient_access"
    assert result.breakdown.message == "assertion `assert_it` starts a process `true`"
    assert (result.breakdown.where, result.breakdown.phase) == ("assertions.py:3", "assertion")


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("import os\nos.fork()\n", "importing it forks a process", "backend.py:2"),
        ("import helper\n", "importing it opens `out.txt` for writing", "helper.py:2"),
    ],
)
def test_reaching_outside_at_import_is_told(packs, text, what, where):
    helper = "import os\nopen(os.path.dirname(__file__) + '/out.txt', 'w')\n"
    told = packs.oracle(text, helper=helper).describe().backend_breakdown
    assert told is not None
    assert (told.code, told.message, told.where) == ("ambient_access", what, where)


def test_reaching_outside_in_list_tools_is_told(packs):
    told = packs.oracle("import os\ndef list_tools():\n    os.fork()\n").describe().tools_breakdown
    assert told is not None
    assert (told.code, told.message, told.where) == ("ambient_access", "list_tools forks a process", "backend.py:3")
