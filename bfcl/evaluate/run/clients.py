"""Who is asked, and with how many workers does an oracle answer? Rule: evaluation.md §5, §7."""

from __future__ import annotations

import os

from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.settings.model import Candidate, EvalSettings, Limits
from bfcl.modelio.chat_live import ChatClock, ChatLimits, LiveChat
from bfcl.modelio.credential import Credential


def live_chat(candidate: Candidate, limits: Limits, meter: Meter, how: How) -> LiveChat:
    """The client that reaches a candidate. Every attempt of it is on the meter."""
    return LiveChat(
        candidate,
        Credential(candidate.api_key_env, how.environment),
        ChatLimits(
            max_retries=limits.max_retries,
            timeout_s=limits.candidate_timeout_s,
            max_parallel=limits.max_parallel_tasks,
        ),
        clock=ChatClock(pause=meter.retry),
    )


def oracle_jobs(settings: EvalSettings) -> int:
    """Worker processes: no more than tasks in flight or cores can keep busy, and two for each world that runs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 2 * min(cores, settings.limits.max_parallel_tasks)
