"""What the pipeline asks of the oracle, answered by real worlds over well-behaved packs."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from bfcl.canonical import canonical_text
from bfcl.errors import OracleError
from bfcl.oracle.protocol import Episode, Given, PlannedCall, ResultPath
from bfcl.records.verdict import AssertionOutcome
from tests.oracle.conftest import SEED_OF_TROUBLE
from tests.system.project import PATIENCE_S, descendants

KEEPER = """
import copy

STATE = {}

def list_tools():
    return ["add", "find", "echo"]

def reset(*, ctx, fixtures=None):
    STATE.clear()
    STATE["rows"] = copy.deepcopy(fixtures["rows"]) if fixtures else []

def call_tool(name, arguments, *, ctx):
    if name == "add":
        STATE["rows"].append(arguments["value"])
        return {"count": len(STATE["rows"]), "rows": STATE["rows"]}
    if name == "find":
        if arguments["at"] >= len(STATE["rows"]):
            return {"error": {"code": "not_found"}}
        return {"value": STATE["rows"][arguments["at"]], "deep": {"list": [{"x": "first"}, {"x": None}]}}
    return {"ctx": [ctx.clock, ctx.seed, ctx.timeout_s, ctx.task_id, ctx.turn_index], "arguments": arguments}

def get_state():
    return STATE
"""
JUDGES = """
def assert_called(*, state, trace, task, ctx):
    assert trace, "nothing was called"

def assert_task(*, state, trace, task, ctx):
    assert task == {"task_id": "t", "slots": {"a": [1]}}, task
    task["slots"]["a"].append(2)
    trace.clear()
    state.clear()

def assert_untouched(*, state, trace, task, ctx):
    assert task["slots"] == {"a": [1]} and trace and state

def assert_plain(*, state, trace, task, ctx):
    assert state == 0

def assert_not_here(*, state, trace, task, ctx):
    return {"status": "not_applicable", "detail": "no rows"}

def assert_shrugs(*, state, trace, task, ctx):
    return {"status": "not_applicable"}

def assert_true(*, state, trace, task, ctx):
    return True

def assert_exits(*, state, trace, task, ctx):
    raise SystemExit(0)

def assert_breaks(*, state, trace, task, ctx):
    return 1 / 0

def assert_chats(*, state, trace, task, ctx):
    return {"status": "not_applicable", "why": "x"}

def assert_writes_ctx(*, state, trace, task, ctx):
    ctx.seed = 3
"""


def call(tool, arguments=None, turn_index=0, **sources):
    return PlannedCall(tool=tool, arguments=arguments or {}, turn_index=turn_index, from_results=sources)


def plan(*calls, seed=7, **fields):
    return Episode(task_id="t", seed=seed, calls=calls, **fields)


@pytest.fixture
def keeper(packs):
    return packs.oracle(KEEPER, JUDGES, fixtures='{"rows":[1,2]}')


def test_run_returns_results_arguments_and_state_as_canonical_text(keeper):
    (result,) = keeper.run([plan(call("add", {"value": "Đặng", "b": 1, "a": 2.0}))])
    assert result.breakdown is None
    assert result.results == ('{"count":3,"rows":[1,2,"Đặng"]}',)
    assert result.arguments == ('{"a":2.0,"b":1,"value":"Đặng"}',)
    assert result.states == ('{"rows":[1,2,"Đặng"]}',)


def test_run_passes_the_context_of_each_call(keeper):
    (result,) = keeper.run([plan(call("echo"), call("echo", turn_index=3), seed=2**64 - 1)])
    assert [json.loads(text)["ctx"] for text in result.results] == [
        ["2026-03-02T10:00:00+07:00", 2**64 - 1, 30, "t", 0],
        ["2026-03-02T10:00:00+07:00", 2**64 - 1, 30, "t", 3],
    ]


def test_run_names_a_call_by_its_own_task_id_where_it_has_one(keeper):
    own = PlannedCall(tool="echo", arguments={}, task_id="probe__own")
    (result,) = keeper.run([plan(call("echo"), own, call("echo"), also=((own,),))])
    assert [json.loads(text)["ctx"][3] for text in result.results] == ["t", "probe__own", "t"]
    assert [json.loads(text)["ctx"][3] for text in result.also[0].results] == ["probe__own"]


def test_run_serialises_a_result_when_it_is_returned_though_the_pack_goes_on_changing_it(keeper):
    (result,) = keeper.run([plan(call("add", {"value": 3}), call("add", {"value": 4}), observe="each")])
    assert result.results == ('{"count":3,"rows":[1,2,3]}', '{"count":4,"rows":[1,2,3,4]}')
    assert result.states == ('{"rows":[1,2]}', '{"rows":[1,2,3]}', '{"rows":[1,2,3,4]}')


def test_run_gives_results_in_input_order(keeper):
    results = keeper.run([plan(call("echo", {"n": n})) for n in range(200)])
    assert [json.loads(result.arguments[0])["n"] for result in results] == list(range(200))


def test_run_of_nothing_is_nothing(keeper):
    assert keeper.run([]) == []
    assert keeper.replay([]) == []


def test_run_without_fixtures_hands_reset_none(packs):
    oracle = packs.oracle(KEEPER)
    assert oracle.run([plan()])[0].states == ('{"rows":[]}',)


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_replay_gives_the_same_for_any_number_of_jobs(packs, jobs):
    episodes = [plan(call("add", {"value": n}), seed=n, assertions=("assert_called",)) for n in range(60)]
    oracle = packs.oracle(KEEPER, JUDGES, fixtures='{"rows":[]}', jobs=jobs)
    replayed = oracle.replay(episodes)
    assert all(a == b for a, b in replayed)
    assert [a.results for a, _ in replayed] == [(canonical_text({"count": 1, "rows": [n]}),) for n in range(60)]
    assert all(a.assertions == (AssertionOutcome(name="assert_called", status="passed"),) for a, _ in replayed)


def test_without_fork_results_are_the_same(packs):
    episodes = [plan(call("add", {"value": n}), assertions=("assert_called",)) for n in range(2)]
    forked = packs.oracle(KEEPER, JUDGES, fixtures='{"rows":[1]}')
    spawned = packs.oracle(KEEPER, JUDGES, fixtures='{"rows":[1]}', fork=False)
    assert spawned.replay(episodes) == forked.replay(episodes)
    assert spawned.describe() == forked.describe()


def test_several_threads_may_share_an_oracle(keeper):
    seen: dict[int, list[str]] = {}

    def work(number):
        seen[number] = [r.arguments[0] for r in keeper.run([plan(call("echo", {"n": number})) for _ in range(5)])]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {number: [f'{{"n":{number}}}'] * 5 for number in range(4)}


@pytest.mark.parametrize(
    ("name", "status", "detail"),
    [
        ("assert_called", "passed", None),
        ("assert_plain", "failed", "assert at assertions.py:15"),
        ("assert_not_here", "not_applicable", "no rows"),
        ("assert_shrugs", "not_applicable", None),
        ("assert_true", "error", "returned True, expected None or a not_applicable object"),
        ("assert_exits", "error", "assertions.py:27: SystemExit: 0"),
        ("assert_breaks", "error", "assertions.py:30: ZeroDivisionError: division by zero"),
        ("assert_chats", "error", "returned a dict, expected None or a not_applicable object"),
        ("assert_writes_ctx", "error", "assertions.py:36: AttributeError: ctx is read-only: cannot set `seed`"),
        ("assert_missing", "error", "`assert_missing` is not an exported assertion"),
    ],
)
def test_assertion_outcomes(keeper, name, status, detail):
    (result,) = keeper.run([plan(call("echo"), assertions=(name,))])
    assert result.assertions == (AssertionOutcome(name=name, status=status, detail=detail),)
    assert result.breakdown is None


def test_a_failed_assertion_tells_its_text(keeper):
    (result,) = keeper.run([plan(assertions=("assert_called",))])
    assert result.assertions == (AssertionOutcome(name="assert_called", status="failed", detail="nothing was called"),)


def test_each_assertion_gets_its_own_copies(keeper):
    names = ("assert_task", "assert_untouched")
    (result,) = keeper.run([plan(call("echo"), assertions=names, task={"task_id": "t", "slots": {"a": [1]}})])
    assert [outcome.status for outcome in result.assertions] == ["passed", "passed"]


def test_dependent_arguments_come_from_earlier_results(keeper):
    deep = ResultPath(call=0, path=("deep", "list", 0, "x"))
    (result,) = keeper.run(
        [
            plan(
                call("find", {"at": 1}),
                call("add", value=ResultPath(call=0, path=("value",))),
                call("echo", {"k": 1}, d=deep),
            )
        ]
    )
    assert result.arguments == ('{"at":1}', '{"value":2}', '{"d":"first","k":1}')


@pytest.mark.parametrize(
    ("at", "path", "message"),
    [
        (0, ("nothing",), "path_missing: call 1 `echo` parameter `v`: result of call 0 has no `nothing`"),
        (
            0,
            ("deep", "list", 7),
            "path_missing: call 1 `echo` parameter `v`: result of call 0.deep.list has 2 elements, none at 7",
        ),
        (
            0,
            ("deep",),
            "not_a_scalar: call 1 `echo` parameter `v`: result of call 0.deep is an object, "
            "expected text, number or boolean",
        ),
        (
            0,
            ("deep", "list", 1, "x"),
            "null_value: call 1 `echo` parameter `v`: result of call 0.deep.list[1].x is null, "
            "expected text, number or boolean",
        ),
        (
            0,
            ("deep", "list", "x"),
            "name_on_a_list: call 1 `echo` parameter `v`: result of call 0.deep.list is a list, which has no field `x`",
        ),
        (9, ("value",), "error_result: call 1 `echo` parameter `v`: call 0 answered an error, `not_found`"),
    ],
)
def test_a_dependent_argument_that_does_not_bind_breaks_the_episode(keeper, at, path, message):
    (result,) = keeper.run([plan(call("find", {"at": at}), call("echo", v=ResultPath(call=0, path=path)))])
    assert result.breakdown is not None
    assert result.breakdown.code == "dependent_call_binding_failed"
    assert (result.breakdown.phase, result.breakdown.call_index) == ("call", 1)
    assert result.breakdown.message == message
    assert len(result.results) == 1


def test_a_dependent_argument_from_a_call_not_yet_run_breaks_the_episode(keeper):
    (result,) = keeper.run([plan(call("echo", v=ResultPath(call=0, path=("a",))))])
    assert result.breakdown is not None
    assert result.breakdown.message == "call_did_not_finish: call 0 `echo` parameter `v`: call 0 has not run before it"


STATES = """
def list_tools(): return ["look"]
def reset(*, ctx, fixtures=None):
    global STATE
    STATE = {"seed": [True, 1, 1.0, 0.0, -0.0][ctx.seed % 5], "rows": [{"b": 1, "a": 2}] * 3}
def call_tool(name, arguments, *, ctx): return {}
def get_state(): return STATE
"""
CHANGER = """
def assert_untouched(*, state, trace, task, ctx):
    assert list(state["rows"][0]) == ["a", "b"] and state["rows"][0]["a"] == 2, state
    state["rows"][0]["a"] = 9
def assert_untouched_again(*, state, trace, task, ctx):
    assert_untouched(state=state, trace=trace, task=task, ctx=ctx)
"""


def test_a_state_that_comes_again_is_told_and_judged_as_the_first_time(packs, episode):
    names = ("assert_untouched", "assert_untouched_again")
    results = packs.oracle(STATES, CHANGER).run([episode(seed, assertions=names) for seed in range(20)])
    rows = ",".join(3 * ['{"a":2,"b":1}'])
    # Values that compare equal are states of their own.
    wanted = [f'{{"rows":[{rows}],"seed":{seed}}}' for seed in ("true", "1", "1.0", "0.0", "-0.0")]
    assert [result.states for result in results] == [(state,) for state in wanted * 4]
    assert {outcome.status for result in results for outcome in result.assertions} == {"passed"}
    assert all(len(result.assertions) == 2 for result in results)


def test_an_answer_is_too_large_whether_or_not_its_states_are_known(packs, episode):
    look = PlannedCall(tool="look", arguments={})
    large = STATES.replace('"rows": [{"b": 1, "a": 2}] * 3', '"text": "y" * 1_000_000')
    small, whole = (
        dataclasses.replace(episode(1), calls=(look,) * calls, observe=observe)
        for calls, observe in ((1, "final"), (11, "each"))
    )
    results = packs.oracle(large).run([whole, small, small, whole])
    assert [len(result.states) for result in results] == [10, 1, 1, 10]
    told = {
        result.breakdown and (result.breakdown.code, result.breakdown.message) for result in (results[0], results[3])
    }
    assert told == {("worker_message_too_large", "the answer grew past 10485760 bytes in get_state")}


def test_time_is_kept_by_task_until_it_is_asked_for(packs, episode):
    oracle = packs.oracle(STATES)
    one, other = episode(0), dataclasses.replace(episode(1), task_id="other")
    oracle.replay([one, other])
    assert oracle.take_seconds([one.task_id]) > 0
    assert oracle.take_seconds([one.task_id]) == 0
    assert oracle.take_seconds([one.task_id, "other", "unknown"]) > 0


@pytest.mark.parametrize(("jobs", "lanes"), [(1, 1), (2, 2), (4, 2)])
def test_worlds_that_were_started_ahead_are_those_that_answer(packs, worlds, jobs, lanes):
    oracle = packs.oracle(KEEPER, jobs=jobs)
    for _ in range(2):
        oracle.start_ahead()
    ahead = {*worlds()}
    assert len(ahead) == lanes
    (replayed,) = oracle.replay([plan(call("echo"))])
    assert replayed.a.breakdown is None
    assert replayed.a == replayed.b
    assert ahead <= {*worlds()}


def test_a_pack_may_have_a_module_copy_of_its_own(packs):
    oracle = packs.oracle(KEEPER, copy="def deepcopy(value):\n    return list(value)\n", fixtures='{"rows":[1]}')
    (result,) = oracle.run([plan(call("find", {"at": 0}))])
    assert result.breakdown is None
    assert json.loads(result.results[0])["value"] == 1


def test_a_pack_that_cannot_be_imported_is_told_by_the_first_question_and_not_ahead(packs):
    oracle = packs.oracle("raise RuntimeError('no')")
    oracle.start_ahead()
    with pytest.raises(OracleError, match="backend_import_failed"):
        oracle.run([plan(call("echo"))])


def test_a_world_that_died_idle_is_replaced_without_blame(packs, worlds):
    oracle = packs.oracle(KEEPER)
    oracle.run([plan(call("echo"))])
    (idle,) = worlds()
    os.kill(idle, signal.SIGKILL)
    assert [result.breakdown for result in oracle.run([plan(call("echo"))] * 3)] == [None] * 3


def test_interrupt_that_wakes_nobody_ends_a_run_all_the_same(packs):
    noticed, outlasted, before = threading.Event(), [], descendants(os.getpid())

    def interrupt():
        patience = time.monotonic() + PATIENCE_S
        # The world, and the episode that hangs in it.
        while len(descendants(os.getpid()) - before) < 2 and time.monotonic() < patience:
            os.sched_yield()
        # Noted for the main thread, as when it waited for its turn to run: nothing wakes it from its wait.
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        if not noticed.wait(PATIENCE_S):
            outlasted.append("the run")
            oracle.stop()

    oracle = packs.troubled(call="import time; time.sleep(600)", tool_s=500.0, episode_s=500.0)
    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        oracle.run([plan(call("look"), seed=SEED_OF_TROUBLE)])
    noticed.set()
    other.join()
    assert not outlasted


def test_further_run_shows_what_reset_forgets_and_leaves_other_episodes_alone(packs):
    oracle = packs.oracle(
        """
        COUNT = 0
        def list_tools(): return ["next"]
        def reset(*, ctx, fixtures=None): pass
        def call_tool(name, arguments, *, ctx):
            global COUNT
            COUNT += 1
            return {"count": COUNT}
        def get_state(): return {"count": COUNT}
        """
    )
    first, second = oracle.run([plan(call("next"), also=((call("next"),),)), plan(call("next"))])
    assert first.results == ('{"count":1}',)
    (again,) = first.also
    assert (again.results, again.states) == (('{"count":2}',), ('{"count":2}',))
    assert second.results == ('{"count":1}',)
    assert second.also == ()


@pytest.mark.parametrize(("seed", "place"), [(6, 0), (7, 1)])
def test_replay_makes_further_runs_in_one_world(packs, seed, place):
    oracle = packs.oracle(
        """
        def list_tools(): return ["next"]
        def reset(*, ctx, fixtures=None): pass
        def call_tool(name, arguments, *, ctx): return {"seed": ctx.seed}
        def get_state(): return {}
        """
    )
    further = (call("next"),), ()
    more, one = oracle.replay([plan(call("next"), seed=seed, also=further), plan(call("next"), seed=seed)])
    assert more.further is more[place]
    assert [len(run.results) for run in more.further.also] == [1, 0]
    assert more[1 - place] == one.a
    assert one.further is one.a
    assert more.alike
    assert one.alike


def test_further_run_hands_reset_fresh_fixtures(packs):
    oracle = packs.oracle(
        """
        ROWS = None
        def list_tools(): return []
        def reset(*, ctx, fixtures=None):
            global ROWS
            ROWS = fixtures["rows"]
            ROWS.append(1)
        def call_tool(name, arguments, *, ctx): return {}
        def get_state(): return {"rows": ROWS}
        """,
        fixtures='{"rows":[]}',
    )
    (result,) = oracle.run([plan(also=((),))])
    (again,) = result.also
    assert result.states == again.states == ('{"rows":[1]}',)


def test_describe_tells_callables_tools_and_assertions(packs):
    oracle = packs.oracle(
        """
        def list_tools(): return ["b", "a"]
        def reset(*, ctx): pass
        def call_tool(name, arguments, ctx): return {}
        get_state = None
        """,
        """
        def assert_good(*, state, trace, task, ctx): pass
        def assert_any(**everything): pass
        def assert_short(*, state, trace): pass
        def assert_long(state, trace, task, ctx, extra): pass
        def assert_positional(state, /, trace, task, ctx): pass
        def helper(): pass
        assert_number = 3
        """,
    )
    told = oracle.describe()
    assert told.backend_breakdown is told.assertions_breakdown is told.tools_breakdown is None
    assert told.missing_callables == ("reset", "get_state")
    assert told.tools == ("b", "a")
    assert [(info.name, info.signature_problem, info.line) for info in told.assertions] == [
        ("assert_good", None, 2),
        ("assert_any", None, 3),
        ("assert_short", "does not accept keyword `task`, `ctx`", 4),
        ("assert_long", "requires extra parameter `extra`", 5),
        ("assert_positional", "does not accept keyword `state`; requires extra parameter `state`", 6),
    ]


def test_describe_takes_the_callable_entries_of_an_assertions_table(packs):
    oracle = packs.oracle(KEEPER, "def f(*, state, trace, task, ctx): pass\nASSERTIONS = {'mine': f, 'odd': 3}\n")
    assert [(info.name, info.line) for info in oracle.describe().assertions] == [("mine", 1)]
    assert oracle.run([plan(assertions=("mine",))])[0].assertions[0].passed


def test_describe_refuses_an_assertions_table_that_is_none(packs):
    (info,) = packs.oracle(KEEPER, "ASSERTIONS = []\n").describe().assertions
    assert (info.name, info.signature_problem) == ("ASSERTIONS", "is of type list")


def test_describe_decides_by_what_is_called_not_by_what_it_wraps(packs):
    oracle = packs.oracle(
        KEEPER,
        """
        import functools
        def by_keywords(function):
            @functools.wraps(function)
            def called(*args, **kwargs):
                return function(kwargs["trace"])
            return called
        def by_state(function):
            @functools.wraps(function)
            def called(state):
                return function(state=state, trace=[], task={}, ctx=None)
            return called
        @by_keywords
        def assert_takes_any(trace): pass
        @by_state
        def assert_takes_state(*, state, trace, task, ctx): pass
        """,
    )
    assert [(info.name, info.signature_problem) for info in oracle.describe().assertions] == [
        ("assert_takes_any", None),
        ("assert_takes_state", "does not accept keyword `trace`, `task`, `ctx`"),
    ]
    assert oracle.run([plan(assertions=("assert_takes_any",))])[0].assertions[0].passed


def test_describe_refuses_what_runs_nothing_when_called(packs):
    backend = KEEPER.replace("def reset", "async def reset", 1)
    assert backend != KEEPER
    oracle = packs.oracle(
        backend,
        """
        async def assert_later(*, state, trace, task, ctx): pass
        def assert_one_by_one(*, state, trace, task, ctx):
            yield
        """,
    )
    told = oracle.describe()
    assert told.missing_callables == ("reset",)
    assert [info.signature_problem for info in told.assertions] == [
        "is an `async def`, so calling it runs nothing",
        "holds `yield`, so calling it runs nothing",
    ]


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("return 'look'", "non_object_result", "list_tools returned str, expected a list of names"),
        ("return [0]", "non_object_result", "list_tools returned an element of type int, expected names"),
        ("return ['a', 'b', 'a']", "non_object_result", "list_tools names `a` twice"),
        ("raise ValueError('no')", "tool_raised", "ValueError: no"),
    ],
)
def test_describe_tells_what_is_wrong_with_list_tools(packs, body, code, message):
    told = packs.oracle(KEEPER.replace('return ["add", "find", "echo"]', body)).describe()
    assert told.tools is None
    assert told.tools_breakdown is not None
    assert (told.tools_breakdown.code, told.tools_breakdown.message) == (code, message)


def test_a_backend_that_does_not_import_is_an_oracle_error_with_its_place(packs):
    oracle = packs.oracle("import os\n\nraise RuntimeError(f'cannot read {os.path.dirname(__file__)}/x.csv')\n")
    told = oracle.describe().backend_breakdown
    assert told is not None
    assert (told.code, told.message, told.where) == (
        "backend_import_failed",
        "RuntimeError: cannot read x.csv",
        "backend.py:3",
    )
    with pytest.raises(OracleError) as caught:
        oracle.run([plan()])
    assert str(caught.value) == "backend.py:3: backend_import_failed: RuntimeError: cannot read x.csv"


def test_a_syntax_error_is_placed_in_the_helper_that_holds_it(packs):
    told = packs.oracle("import helper\n", helper="x = 1\ndef (:\n").describe().backend_breakdown
    assert told is not None
    assert (told.code, told.message, told.where) == (
        "backend_import_failed",
        "SyntaxError: invalid syntax",
        "helper.py:2",
    )


def test_assertions_that_do_not_import_leave_the_backend_usable(packs):
    oracle = packs.oracle(KEEPER, "import backend\nbackend.nothing\n")
    told = oracle.describe()
    assert told.backend_breakdown is None
    assert told.tools == ("add", "find", "echo")
    assert told.assertions_breakdown is not None
    assert told.assertions_breakdown.code == "assertions_import_failed"
    assert told.assertions_breakdown.where == "assertions.py:2"
    (result,) = oracle.run([plan(call("echo"), assertions=("assert_x",))])
    assert result.breakdown is None
    assert result.assertions[0].detail == (
        "assertions could not be imported: AttributeError: module 'backend' has no attribute 'nothing'"
    )


def test_pack_helpers_are_found_beside_the_module_and_in_the_pack_root(packs):
    view = packs.view("import helper, near\n" + KEEPER, helper="x = 1", near="y = 2")
    outside = view.parent / "declared"
    outside.mkdir()
    for name in ("backend", "near"):
        (view / f"{name}.py").rename(outside / f"{name}.py")
    spec = packs.spec(view)
    oracle = packs.oracle(KEEPER)
    declared = type(oracle)(
        type(spec)(**{**{f: getattr(spec, f) for f in spec.__slots__}, "backend": str(outside / "backend.py")})
    )
    with declared:
        assert declared.run([plan(call("echo"))])[0].breakdown is None


def test_no_bytecode_is_left_in_the_view_or_beside_declared_files(packs):
    view = packs.view("import helper\n" + KEEPER, helper="x = 1")
    oracle = packs.oracle(KEEPER)
    with type(oracle)(packs.spec(view)) as opened:
        assert opened.run([plan(call("echo"))])[0].breakdown is None
    assert sorted(path.name for path in view.rglob("*")) == ["assertions.py", "backend.py", "helper.py"]


def test_bytecode_beside_the_pack_is_not_believed(packs):
    import py_compile

    view = packs.view("import helper\n" + KEEPER.replace('"ctx": [', '"x": helper.X, "ctx": ['), helper="X = 1")
    helper = view / "helper.py"
    helper.write_text("X = 2")
    cached = Path(py_compile.compile(str(helper), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH))
    assert cached.exists()
    helper.write_text("X = 1")
    oracle = packs.oracle(KEEPER)
    with type(oracle)(packs.spec(view)) as opened:
        assert json.loads(opened.run([plan(call("echo"))])[0].results[0])["x"] == 1


def test_isolation_tells_the_level_reached(keeper):
    level = keeper.isolation()
    assert sorted(level) == ["landlock", "network_namespace", "rlimits"]
    assert level["rlimits"] is True


def test_close_removes_every_temporary_directory_and_a_later_call_starts_anew(packs, tmp_path):
    oracle = packs.oracle(KEEPER)
    for _ in range(2):
        oracle.replay([plan(call("echo"))])
        assert list((tmp_path / "temporary").iterdir()) != []
        oracle.close()
        assert list((tmp_path / "temporary").iterdir()) == []


def test_a_request_beyond_the_message_limit_breaks_its_own_episode_only(keeper):
    large, small = keeper.run([plan(call("echo", {"text": "x" * 11_000_000})), plan(call("echo"))])
    assert large.breakdown is not None
    assert large.breakdown.code == "worker_message_too_large"
    assert large.breakdown.message.endswith("more than the 10485760 of a message")
    assert small.breakdown is None


GIVEN = Given(trace='[{"arguments":{},"result":{"x":"Đặng"},"tool":"never"}]', state='{"rows":[7]}')


def test_given_trace_and_state_are_judged_without_reset_call_or_reading_of_state(packs):
    backend = "\n".join(
        ["def list_tools(): return []"]
        + [f"def {name}(*_, **__): raise RuntimeError('called')" for name in ("reset", "call_tool", "get_state")]
    )
    judges = """
    def assert_given(*, state, trace, task, ctx):
        assert (trace, state) == ([{"tool": "never", "arguments": {}, "result": {"x": "Đặng"}}], {"rows": [7]})
        assert task == {"task_id": "t"} and ctx.seed == 7
    def assert_rows(*, state, trace, task, ctx):
        assert not state["rows"], "rows are left"
    """
    names = ("assert_given", "assert_rows")
    (result,) = packs.oracle(backend, judges).run([plan(assertions=names, task={"task_id": "t"}, given=GIVEN)])
    assert result.breakdown is None
    assert (result.results, result.arguments, result.states) == ((), (), ())
    assert result.assertions == (
        AssertionOutcome(name="assert_given", status="passed"),
        AssertionOutcome(name="assert_rows", status="failed", detail="rows are left"),
    )


def test_given_trace_is_judged_under_the_deadline_of_assertions(packs):
    judges = """
    import time
    def assert_long(*, state, trace, task, ctx):
        while True: time.sleep(1)
    """
    oracle = packs.oracle(KEEPER, judges, assertion_s=0.2)
    (result,) = oracle.run([plan(assertions=("assert_long",), given=GIVEN)])
    assert result.breakdown is not None
    assert (result.breakdown.code, result.breakdown.phase) == ("assertion_timeout", "assertion")
    assert result.breakdown.message == "assertion `assert_long` did not return within 0.2 s"
