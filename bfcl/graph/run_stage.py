"""How does any stage run as a task: taken from the chain that a run resumes, or run and checkpointed?"""

from __future__ import annotations

from bfcl.graph.late import late
from bfcl.graph.session import Session
from bfcl.stages import Stage


def run_stage(session: Session, stage: Stage) -> None:
    """Run the stage and leave its checkpoint; the last stage's comes just before the manifest.

    A stage before the one that `skip_until=` names is not run: its result was verified and restored.
    """
    if session.chain.holds(stage):
        session.evidence.add(stage.name, None, session.result(stage.name).fp, "verified")
        return
    late("sharded" if stage.sharded else stage.name)(session, stage)
    if stage != session.stages[-1]:
        session.chain.ended(stage)
