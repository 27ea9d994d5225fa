"""`bfcl eval-leaderboard`: who does best on one benchmark?"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from bfcl.cli.eval_command import EvalCommand
from bfcl.cli.eval_source import pack_option, run_dir_option
from bfcl.cli.grid import aligned
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.evaluate.after.leaderboard import Leaderboard, leaderboard
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.score.intervals import Interval

_WIDEST: Final = 200
"""Terminal columns of a model's name: one that is cut pins nothing."""


@click.command("eval-leaderboard", cls=EvalCommand)
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@run_dir_option
@pack_option()
@format_option()
def eval_leaderboard(
    *, directories: tuple[Path, ...], run_dir: Path | None, pack: Path | None, format_: Format
) -> None:
    """Rank the candidates of finished evaluations by task success.

    Only results that may be published, and that were measured alike, stand on one board; others are refused by name.
    Candidates that cannot be told apart share a rank.

    \b
    Example:
      bfcl eval-leaderboard results/small results/large
    """
    board = leaderboard(directories, Whereabouts(run_dir=run_dir, pack=pack))
    if as_json(format_):
        print_json(board.to_json())
    else:
        _sheet(board).print()


def _sheet(board: Leaderboard) -> Sheet:
    sheet = Sheet()
    rows = [["rank", "candidate", "model", "success", "tasks", "stopped", "95 %", "by template"]]
    for one in board.standings:
        measured = one.side.measured
        tasks = f"{measured.successful_tasks}/{measured.task_count}"
        model = measured.canonical_id
        stops = str(measured.non_candidate_stops)
        intervals = [_told(one.interval), _told(one.clustered)]
        rows.append([str(one.rank), measured.alias, model, f"{one.rate:.3f}", tasks, stops, *intervals])
    for line in aligned(rows, widest=_WIDEST):
        sheet.line(line)
    for note in board.notes:
        sheet.line(note)
    return sheet


def _told(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval.low:.3f}-{interval.high:.3f}"
