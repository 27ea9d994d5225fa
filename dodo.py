"""The doit tasks of this project: `doit list` shows them, `doit generate` builds the benchmark."""

from bfcl.graph.tasks import DOIT_CONFIG, task_pipeline

__all__ = ["DOIT_CONFIG", "task_pipeline"]
