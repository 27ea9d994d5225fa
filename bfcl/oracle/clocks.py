"""Which clocks does pack code see beside those that time-machine shifts? Rule: ruling 6.

time-machine moves `time.time`, `datetime` and CLOCK_REALTIME. This module moves the other clocks of `time`, and lets
the time functions of SQLite ask Python. Runs in the world beside pack code: standard library only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

_NS = 1_000_000_000
_TICKS = {1, 4, 6, 7, 9}  # MONOTONIC, its RAW and COARSE forms, BOOTTIME and its ALARM form
_WALL = {5, 8, 11}  # REALTIME_COARSE, REALTIME_ALARM, TAI
_SQL_FUNCTIONS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff")
_SQL_CONSTANTS = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}
_FACTORY_AT = 5
"""Where the factory stands among the positional arguments of `sqlite3.connect`."""
_WITHOUT_MOMENT = {"strftime": 1}
"""How many arguments come before the moment, where any do; a function left without one means now."""

# Bound before pack code could replace them; time-machine changes these very functions.
_strftime, _gmtime, _seconds = time.strftime, time.gmtime, time.time


def shift(*, ticks_s: float, wall_s: float) -> None:
    """Move what time-machine leaves alone: ticking clocks by `ticks_s`, wall clocks by `wall_s` from the machine's.

    Called once time-machine runs: it finds the functions of `time` by the names replaced here.
    """
    if ticks_s:
        for name in ("monotonic", "perf_counter"):
            _replace(name, ticks_s)
            _replace(f"{name}_ns", round(ticks_s * _NS))
    _replace_clock("clock_gettime", ticks_s, wall_s)
    _replace_clock("clock_gettime_ns", round(ticks_s * _NS), round(wall_s * _NS))
    _let_sql_ask()


def _replace(name: str, amount: float) -> None:
    real = getattr(time, name)

    def shifted() -> Any:
        return real() + amount

    shifted.__name__ = shifted.__qualname__ = name
    setattr(time, name, shifted)


def _replace_clock(name: str, ticks: float, wall: float) -> None:
    real = getattr(time, name, None)
    if real is None:
        return
    amounts = {**dict.fromkeys(_TICKS, ticks), **dict.fromkeys(_WALL, wall)}

    def shifted(clk_id: int, /) -> Any:
        return real(clk_id) + amounts.get(clk_id, 0)

    shifted.__name__ = shifted.__qualname__ = name
    setattr(time, name, shifted)


def _let_sql_ask() -> None:
    """From here on SQL's time functions show the clock of this process, in every connection to SQLite."""
    met = False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal met
        if event == "import" and arguments[0] == "_sqlite3" and not met:
            met = True
            _replace_connections()

    sys.addaudithook(hook)


def _replace_connections() -> None:
    """Before anybody has its names, let SQLite's module offer connections with time functions of our own."""
    import _sqlite3  # no world without a database needs it

    real_connect, real = _sqlite3.connect, _sqlite3.Connection
    clock = _DatabaseClock(real_connect(":memory:", check_same_thread=False, isolation_level=None))

    class Connection(real):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            clock.attach(partial(real.create_function, self, deterministic=True))

    @wraps(real_connect)
    def connect(*given: Any, **named: Any) -> Any:
        if len(given) <= _FACTORY_AT:
            named.setdefault("factory", Connection)
        return real_connect(*given, **named)

    Connection.__module__, Connection.__qualname__, Connection.__doc__ = "sqlite3", "Connection", real.__doc__
    vars(_sqlite3).update(connect=connect, Connection=Connection)


class _DatabaseClock:
    """Time functions for a connection of the pack. A private database computes; only `now` is filled in before."""

    def __init__(self, private: Any) -> None:
        self._private = private
        self._functions = [name for name in _SQL_FUNCTIONS if self._is_there(name)]

    def attach(self, define: Callable[..., None]) -> None:
        """`define(name, number of arguments, function)` replaces a function of a connection.

        It is deterministic in SQLite's sense, as SQLite's own: allowed in indexes and checks, constant in a statement.
        """
        for name in self._functions:
            define(name, -1, partial(self._compute, name))
        for name, function in _SQL_CONSTANTS.items():
            define(name, 0, partial(self._compute, function))

    def _is_there(self, name: str) -> bool:
        """Which functions there are depends on SQLite's version."""
        try:
            self._private.execute(f"SELECT {name}(NULL, NULL)").fetchall()
        except self._private.OperationalError:
            return False
        return True

    def _compute(self, name: str, *given: Any) -> Any:
        before = _WITHOUT_MOMENT.get(name, 0)
        arguments = [_filled(argument) for argument in given]
        if len(arguments) == before and name != "timediff":
            arguments.append(_now())
        elif len(arguments) > before and _is(arguments[before], "subsec", "subsecond"):
            arguments.insert(before, _now())
        marks = ",".join("?" * len(arguments))
        return self._private.execute(f"SELECT {name}({marks})", arguments).fetchone()[0]


def _is(argument: Any, *words: str) -> bool:
    return isinstance(argument, str) and argument.lower() in words


def _filled(argument: Any) -> Any:
    return _now() if _is(argument, "now") else argument


def _now() -> str:
    moment = _seconds()
    whole = int(moment // 1)
    return f"{_strftime('%Y-%m-%d %H:%M:%S', _gmtime(whole))}.{int((moment - whole) * 1000):03d}"
