"""What does a fresh interpreter do to become a world? Run by path, never imported by the pipeline. Rule: pack.md §7.

Its standard input brings the start order and then requests, its standard output takes reports and answers; both move to
private descriptors before pack code runs, and the pack's own input is empty and its output discarded.
"""

# pathlib and what it imports would make every fork dearer.
from __future__ import annotations

import gc
import os
import signal
import sys
import time
from types import ModuleType
from typing import Any, NoReturn

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
_ADDED = _ROOT not in sys.path
if _ADDED:
    sys.path.insert(0, _ROOT)

from bfcl.oracle import clocks, deepcopies, isolation, packcode, wire, zygote  # noqa: E402 - the path above finds it
from bfcl.oracle.ambient import Guard  # noqa: E402
from bfcl.oracle.deadlines import Limits  # noqa: E402
from bfcl.oracle.episode import Stage  # noqa: E402
from bfcl.oracle.exact import decode  # noqa: E402
from bfcl.oracle.packcode import Locator  # noqa: E402
from bfcl.oracle.pages import PageWatch  # noqa: E402
from bfcl.oracle.scratch import Scratch  # noqa: E402

if _ADDED:
    sys.path.remove(_ROOT)


def _import_time_machine() -> Any:
    """The module that shifts the clock, without what only its test decorators need.

    Every page of memory a world holds makes each fork dearer: what hangs on `unittest` and `inspect` is a fifth of it.
    """
    unittest = ModuleType("unittest")
    unittest.TestCase = type("TestCase", (), {})  # type: ignore[attr-defined]
    stand_ins: dict[str, Any] = {"unittest": unittest, "inspect": ModuleType("inspect")}
    stand_ins.update(dict.fromkeys(("pytest", "dateutil", "dateutil.parser")))
    absent = [name for name in stand_ins if name not in sys.modules]
    sys.modules.update({name: stand_ins[name] for name in absent})
    try:
        import time_machine
    finally:
        for name in absent:
            del sys.modules[name]
    return time_machine


def _private_channel() -> zygote.Channel:
    """Take descriptors 0 and 1 for the channel and leave the null device in their place."""
    channel = zygote.Channel(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return channel


def _discard_errors() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    os.close(null)


def _directories(order: Any) -> list[str]:
    """Where the pack's files lie: the view, and whatever holds a module outside it."""
    return list(dict.fromkeys([order["view"], *(os.path.dirname(order[name]) for name in packcode.MODULES)]))


def _travel(time_machine: Any, order: Any) -> None:
    """Let every clock of this process show what the order says."""
    wall_s = order["timestamp"] - time.time()
    time_machine.travel(order["timestamp"], tick=True).start()
    clocks.shift(ticks_s=order["tick_shift_s"], wall_s=wall_s)


def _import_pack(order: Any, world: zygote.World, guard: Guard, locator: Locator) -> None:
    """Import what the order does not skip, reporting after each module."""
    interpreter, stage = list(sys.path), world.stage
    packcode.read_no_bytecode(_directories(order))
    stage.assertions_problem = order["skip"].get("assertions")
    paths = [packcode.search_path(order[name], order["view"], interpreter) for name in packcode.MODULES]
    for name, search in zip(packcode.MODULES, paths, strict=True):
        if name in order["skip"]:
            continue
        sys.path[:] = search
        guard.trusted = False
        module, failure = packcode.import_pack_module(name, order[name], locator, guard.violations)
        guard.trusted = True
        if name == "backend":
            stage.backend = module
        elif module is not None:
            world.assertions = module
            stage.assertions = packcode.exported_assertions(module)
        else:
            stage.assertions_problem = f"assertions could not be imported: {failure and failure['message']}"
        world.channel.report(imported=name, breakdown=failure)
    sys.path[:] = dict.fromkeys([*paths[0][:1], *paths[1]])


def _settle(world: zygote.World, *, forks: bool) -> None:
    """Undo what pack code may have armed in this process, and make forks cheap.

    A world whose parent is gone is told by SIGCONT: that reaches it even while it is stopped, and unlike SIGKILL leaves
    it the time to kill what its episode forked away. Without forks pack code runs here and could swallow the news.
    """
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)

    def parent_gone(*_: object) -> NoReturn:
        raise zygote.ParentGone

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, or handled by the pack, it hides how an episode ended
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if forks:
        for number in zygote.PARENT_GONE:
            signal.signal(number, parent_gone)
        isolation.die_with_parent(signal.SIGCONT)
    zygote.empty(world.private)
    deepcopies.quicken()
    gc.collect()
    gc.freeze()


def main() -> NoReturn:
    """Become a world and serve until the parent closes the channel."""
    channel = _private_channel()
    payload = channel.receive()
    if payload is None:
        os._exit(0)
    order = decode(payload.decode())
    isolation.die_with_parent()
    if os.getppid() != order["parent"]:
        os._exit(0)
    os.chdir(order["private"])
    scratch = Scratch(order["scratch"])
    os.close(order["scratch"])
    time_machine = _import_time_machine()
    isolation.adopt_orphans()
    children = zygote.open_children_list()
    locator = Locator(order["view"], [order["backend"], order["assertions"]], order["private"])
    pages = PageWatch(tuple(_directories(order)), scratch.note_page)
    guard = Guard(order["private"], locator.of_frame, pages)
    stage = Stage(
        scratch=scratch,
        limits=Limits(order["limits"]),
        guard=guard,
        locator=locator,
        clock=order["clock"],
        fixtures=order["fixtures"],
    )
    level = isolation.shut_in(readable=_directories(order), writable=order["private"], host_name=order["host_name"])
    guard.install()
    pages.watch_stat()
    world = zygote.World(channel, stage, order["private"], children)
    _travel(time_machine, order)
    channel.report(started=level)
    _discard_errors()
    _import_pack(order, world, guard, locator)
    _settle(world, forks=order["fork"])
    channel.report(ready=True)
    guard.trusted = False
    if order["fork"]:
        world.serve()
    world.serve_one()


if __name__ == "__main__":
    try:
        main()
    except wire.Closed:
        os._exit(0)
    except BaseException:  # noqa: BLE001 - told on the error stream, then out: the pack's exit handlers must not run
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(70)
