"""The syntax scan that explains a divergence."""

from __future__ import annotations

from textwrap import dedent

from bfcl.oracle import suspects


def scan(tmp_path, text):
    (tmp_path / "backend.py").write_text(dedent(text))
    return suspects.scan(str(tmp_path), (str(tmp_path / "backend.py"),))


def test_scan_names_clocks_environment_and_entropy_under_any_import_form(tmp_path):
    found = scan(
        tmp_path,
        """\
        import time, os, random, uuid
        import datetime as dt
        from datetime import datetime, date
        from secrets import token_hex
        a = time.time()
        b = dt.datetime.now()
        c = datetime.utcnow(), date.today()
        d = os.environ["X"]
        e = random.choice([1])
        f = uuid.uuid4()
        g = token_hex(3)
        h = os.urandom(2)
        """,
    )
    assert found == (
        "backend.py:5: reads the wall clock: `time.time`",
        "backend.py:6: reads the wall clock: `datetime.datetime.now`",
        "backend.py:7: reads the wall clock: `datetime.date.today`",
        "backend.py:7: reads the wall clock: `datetime.datetime.utcnow`",
        "backend.py:8: reads the environment: `os.environ`",
        "backend.py:9: draws entropy: `random.choice`",
        "backend.py:10: draws entropy: `uuid.uuid4`",
        "backend.py:11: draws entropy: `secrets.token_hex`",
        "backend.py:12: draws entropy: `os.urandom`",
    )


def test_scan_names_clocks_of_machine_files_and_databases_and_the_path_of_the_pack(tmp_path):
    found = scan(
        tmp_path,
        """\
        import os, time
        a = time.clock_gettime(4)
        b = os.stat("x").st_mtime, os.path.getmtime("x")
        c = "SELECT date('now')"
        d = "CREATE TABLE t (at TEXT DEFAULT CURRENT_TIMESTAMP)"
        e = __file__
        f = "right now, on the current_timestamps"
        """,
    )
    assert found == (
        "backend.py:2: reads the machine's clock: `time.clock_gettime`",
        "backend.py:3: reads the time of a file: `os.path.getmtime`",
        "backend.py:3: reads the time of a file: `st_mtime`",
        "backend.py:4: reads the clock in SQL: `'now'`",
        "backend.py:5: reads the clock in SQL: `CURRENT_TIMESTAMP`",
        "backend.py:6: reads the path of the pack: `__file__`",
    )


def test_scan_names_set_order_and_object_identity(tmp_path):
    found = scan(
        tmp_path,
        """\
        names = {"a", "b"}
        for name in names: pass
        x = list(set("ab"))
        y = ",".join({"a", "b"})
        z = [v for v in frozenset("ab")]
        w = id(x), hash("a")
        s = sorted({"a", "b"})
        p = names.pop()
        """,
    )
    assert found == (
        "backend.py:2: iterates over a set: its order follows the hash seed",
        "backend.py:3: turns a set into a sequence: its order follows the hash seed",
        "backend.py:4: turns a set into a sequence: its order follows the hash seed",
        "backend.py:5: iterates over a set: its order follows the hash seed",
        "backend.py:6: reads a hash value, which differs by hash seed for text",
        "backend.py:6: reads an object address",
        "backend.py:8: pops from a set: which element follows the hash seed",
    )


def test_scan_names_module_state_that_reset_forgets(tmp_path):
    found = scan(
        tmp_path,
        """\
        import itertools
        ROWS = {}
        COUNTER = itertools.count()
        CACHE = {}
        LIMITS = {"a": 1}
        def _clear():
            ROWS.clear()
        def reset(*, ctx, fixtures=None):
            _clear()
        def call_tool(name, arguments, *, ctx):
            ROWS[name] = next(COUNTER)
            CACHE.setdefault(name, []).append(1)
            return {"limit": LIMITS["a"]}
        """,
    )
    assert found == (
        "backend.py:3: module-level state `COUNTER` is changed by functions and not by `reset`",
        "backend.py:4: module-level state `CACHE` is changed by functions and not by `reset`",
    )


def test_scan_is_quiet_about_seeded_generators_and_fixed_names(tmp_path):
    found = scan(
        tmp_path,
        """\
        import random, uuid
        def call_tool(name, arguments, *, ctx):
            return {"x": random.Random(ctx.seed).random(), "y": str(uuid.uuid5(uuid.NAMESPACE_URL, name))}
        """,
    )
    assert found == ()


def test_scan_names_an_unseeded_generator(tmp_path):
    assert scan(tmp_path, "import random\nR = random.Random()\n") == (
        "backend.py:2: draws entropy: `random.Random` without a seed",
    )


def test_scan_reads_helpers_and_declared_files_outside_and_skips_what_does_not_parse(tmp_path):
    view, outside = tmp_path / "view", tmp_path / "elsewhere.py"
    (view / "deep").mkdir(parents=True)
    (view / "deep" / "helper.py").write_text("import time\nx = time.time()\n")
    (view / "broken.py").write_text("def (:\n")
    outside.write_text("import os\ny = os.getenv('A')\n")
    assert suspects.scan(str(view), (str(outside),)) == (
        "deep/helper.py:2: reads the wall clock: `time.time`",
        "elsewhere.py:2: reads the environment: `os.getenv`",
    )


def test_scan_keeps_names_of_one_function_apart_from_those_of_another(tmp_path):
    found = scan(
        tmp_path,
        """\
        SHARED = {"a", "b"}
        def one():
            names = {"a", "b"}
            return list(names)
        def other(names):
            return [name for name in names]
        def third():
            def inner():
                return [name for name in SHARED]
            return inner
        def fourth(SHARED):
            return list(SHARED)
        """,
    )
    assert found == (
        "backend.py:4: turns a set into a sequence: its order follows the hash seed",
        "backend.py:9: iterates over a set: its order follows the hash seed",
    )


def test_scan_takes_a_word_of_sql_in_plain_text_for_no_statement(tmp_path):
    assert scan(tmp_path, """FIELDS = {"current_date": 1, "note": "as of 'now'"}\n""") == ()


def test_scan_passes_over_sets_whose_order_nobody_sees_and_names_of_a_function(tmp_path):
    found = scan(
        tmp_path,
        """\
        rows = ()
        def one(values, wanted):
            rows = []
            rows.append(1)
            return sorted(map(str, set(values))), any(value in wanted for value in {"a", "b"})
        def two(values, rows):
            rows.append(len(list(set(values))))
            return {value for value in set(values)}, sorted(value for value in set(values))
        """,
    )
    assert found == ()
