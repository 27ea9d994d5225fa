"""A scripted candidate that listens, for tests that are not asynchronous themselves.

with served(rows) as serving:
    ... serving.base_url ...
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from bfcl.evaluate.scripted.candidate import ScriptedCandidate
from bfcl.evaluate.scripted.server import Conduct, Serving, serve
from bfcl.exports.row import ExportRow


@contextmanager
def served(rows: Iterable[ExportRow] | ScriptedCandidate, *, conduct: Conduct | None = None) -> Iterator[Serving]:
    """Serve from another thread while the block runs; raises behind it what broke the server."""
    started: SimpleQueue[Serving | BaseException] = SimpleQueue()
    broke: list[BaseException] = []
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def listen() -> None:
        async with serve(rows, conduct=conduct) as serving:
            started.put(serving)
            await ended.wait()

    def run() -> None:
        try:
            loop.run_until_complete(listen())
        except BaseException as error:  # noqa: BLE001 the test's thread raises it
            broke.append(error)
            started.put(error)
        finally:
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    first = started.get()
    try:
        if isinstance(first, Serving):
            yield first
    finally:
        if isinstance(first, Serving) and thread.is_alive():
            loop.call_soon_threadsafe(ended.set)
        thread.join()
    if broke:
        raise broke[0]
