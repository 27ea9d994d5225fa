"""`bfcl report`: what is in a published run, as one page for a browser?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from bfcl.cli.page_place import page_option, write_page
from bfcl.cli.place import meant_run, project_root, run_of_config, searched_runs
from bfcl.cli.replay_seconds import replay_timing
from bfcl.cli.show import Format, format_option, print_json
from bfcl.digest import sha256_hex
from bfcl.errors import ConfigError, Problem, visible
from bfcl.graph.known_runs import SOUGHT
from bfcl.graph.layout import BuildTree
from bfcl.pack.layout import shown
from bfcl.release.document.libraries import require_libraries
from bfcl.release.report.page import report_page
from bfcl.release.verify import verify_release


@click.command
@click.argument("run_dir", type=click.Path(path_type=Path), required=False)
@click.option("--run", "directory", type=click.Path(path_type=Path), help="The same as RUN_DIR.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration of the run, instead of its directory.")
@page_option(
    "build/report/<name of the run>.html in the project; for a run that does not lie directly in build/runs, the name "
    "goes on with a digest of the run's place"
)
@format_option(auto="the page's path, to a terminal and to a script alike")
def report(
    run_dir: Path | None, directory: Path | None, config: Path | None, output: Path | None, format_: Format
) -> None:
    """Make one HTML page of a published run.

    The run is verified first, as `bfcl verify` does. The page holds everything it shows and loads nothing: what became
    of the tasks, of which kinds they are, assertions, replay times as far as the build log still has them, every
    conversation with its calls and results, and where it all comes from. The path of the page goes to stdout. Without
    RUN_DIR, --run and --config the only published run that the project leads to is taken, and named on stderr.

    \b
    Example:
      bfcl report build/runs/tiny
      bfcl report --config configs/mine.yaml --output mine.html
    """
    given = [each for each in (run_dir, directory, config) if each is not None]
    if len(given) > 1:
        raise click.UsageError("give one of RUN_DIR, --run and --config")
    require_libraries()
    project = project_root(Path.cwd())
    if config is not None:
        run = run_of_config(config, project).root
    else:
        run = meant_run(given[0], project) if given else _only_run(project)
    release = verify_release(run)
    page = report_page(release, replay_timing(BuildTree(project).log, release.manifest))
    place = write_page(page.html, output, _page_name(run, project))
    if format_ == "json":
        print_json(
            {
                "schema_version": "1.0",
                "page": place,
                "run": shown(run),
                "run_id": release.manifest["run_id"],
                "size_bytes": len(page.html),
                "tasks": page.tasks,
                "conversations": page.conversations,
            }
        )
    else:
        # Not before: where the run is refused, stderr holds the refusal alone.
        if not given:
            click.echo(visible(f"run: {shown(run)} ({_SOUGHT})"), err=True)
        click.echo(place)


_SOUGHT: Final = f"none was named; the only published one in {SOUGHT}"


def _page_name(run: Path, project: Path) -> str:
    """A name that no other run of the project has: outside `build/runs`, of two runs of one name each keeps its page.

    Their digest is over the place in the project, so a project that is moved keeps the names; outside it, over the
    absolute path. Of a run that is a link the link's own place counts.
    """
    # `x/..` and `.` have no name of their own.
    place = run.resolve() if run.name in {"", ".."} else run.parent.resolve() / run.name
    root = project.resolve()
    if place.parent == (BuildTree(project).root / "runs").resolve():
        return f"{place.name}.html"
    where = place.relative_to(root) if place.is_relative_to(root) else place
    return f"{place.name}-{sha256_hex(os.fsencode(where.as_posix()))[:12]}.html"


def _only_run(project: Path) -> Path:
    """The published run of a project that has no other. Raises ConfigError `run_not_found`, `run_ambiguous`."""
    found = [run.root for run in searched_runs(project) if run.manifest.is_file()]
    if len(found) == 1:
        return found[0]
    names = [shown(run) for run in found]
    if not found:
        message = f"no run of this project is published; looked for in {SOUGHT}"
        fix = "run `doit generate` first, or name the directory of a run"
        raise ConfigError(Problem(code="run_not_found", subject=shown(project), message=message, fix=fix))
    message = f"{len(names)} published runs are there: {', '.join(names)}; expected one"
    raise ConfigError(
        Problem(code="run_ambiguous", message=message, fix=f"choose one, such as `bfcl report {names[0]}`")
    )
