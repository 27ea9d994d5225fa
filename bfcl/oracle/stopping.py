"""Which signals end a command in good order, with its processes ended and its temporary directories gone?"""

from __future__ import annotations

import signal
import threading
from typing import Final

_POLITE: Final = ("SIGTERM", "SIGHUP")
"""What build systems cancel by, and what a terminal sends that is closed."""


def stop_in_order() -> None:
    """From here on a polite signal interrupts like Ctrl-C. One that the caller has ignored, as `nohup` does, stays so.

    Does nothing outside the main thread, which is the only one that signals reach.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (getattr(signal, name) for name in _POLITE if hasattr(signal, name)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
