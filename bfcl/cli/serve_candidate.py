"""`bfcl serve-candidate`: can a benchmark be evaluated before there is a model, or a key?"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Final

import click

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.cli.place import meant_run, project_root
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.errors import ConfigError, Problem, visible
from bfcl.evaluate.scripted.behaviours import BEHAVIOURS, FLAKY, FLAKY_SUMMARY
from bfcl.evaluate.scripted.candidate import ScriptedCandidate
from bfcl.evaluate.scripted.load import published_rows
from bfcl.evaluate.scripted.server import Conduct, Serving, serve
from bfcl.files import storage
from bfcl.modelio.credential import Credential
from bfcl.pack.layout import shown
from bfcl.release.verify import verify_release

_ENDING: Final = ("SIGINT", "SIGTERM", "SIGHUP")
_SHOWN: Final = 3


def _print_list(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    known = {**{name: one.summary for name, one in BEHAVIOURS.items()}, FLAKY: FLAKY_SUMMARY}
    if as_json(context.params["format_"]):
        behaviours: Json = [{"model": name, "summary": summary} for name, summary in known.items()]
        print_json({"schema_version": "1.0", "behaviours": behaviours})
    else:
        width = max(map(len, known))
        for name, summary in known.items():
            click.echo(f"{name:<{width}}  {summary}")
    context.exit()


@click.command("serve-candidate")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--allow-remote", is_flag=True, help="Allow a --host that other machines reach: the answers are open.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen at (default: one that is free).")
@click.option("--require-key", metavar="ENV", help="Ask for the bearer value that this environment variable holds.")
@click.option("--latency-ms", type=click.IntRange(0, 600_000), default=0, help="Wait before every completion.")
@click.option(
    "--log",
    "log_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File that gets the body of every request for a completion, one JSON line each; no headers.",
)
@click.option(
    "--list", is_flag=True, expose_value=False, callback=_print_list, help="List the models and how each answers."
)
@format_option()
def serve_candidate(
    run_dir: Path,
    host: str,
    allow_remote: bool,
    port: int,
    require_key: str | None,
    latency_ms: int,
    log_file: Path | None,
    format_: Format,
) -> None:
    """Serve scripted answers to a published run.

    An OpenAI-compatible endpoint (POST /v1/chat/completions, GET /v1/models, GET /healthz) on loopback. The model name
    of a request chooses how it is answered: `scripted-gold` is always right, each of the others departs from it in one
    way, most of them wrong and some still right (see --list). The run is verified first. The address goes to stdout
    once it listens; Ctrl-C or SIGTERM ends it with status 0. RUN_DIR may also be the name of a run of the project, or
    its run id.

    \b
    Example:
      bfcl serve-candidate --list
      bfcl serve-candidate build/runs/tiny --port 8001
    """
    if not allow_remote and not _is_loopback(host):
        raise click.UsageError(f"--host {host} is not loopback; give --allow-remote to open the answers to others")
    key = None if require_key is None else _key(require_key)
    run = meant_run(run_dir, project_root(Path.cwd()))
    candidate = ScriptedCandidate(published_rows(verify_release(run)))
    warn(candidate)
    greeting = _Greeting(shown(run), candidate.size, json=as_json(format_))
    with ExitStack() as stack:
        log = None if log_file is None else stack.enter_context(_Log(log_file))
        conduct = Conduct(
            host=host,
            key=key,
            latency_s=latency_ms / 1000,
            record=None if log is None else log.record,
        )
        asyncio.run(_listen(candidate, port, conduct, greeting))


class _Greeting:
    """What is told once the server listens."""

    def __init__(self, run: str, tasks: int, *, json: bool) -> None:
        self._run = run
        self._tasks = tasks
        self._json = json

    def print(self, serving: Serving, host: str) -> None:
        """One line on stdout, or two for people."""
        if self._json:
            told: Json = {
                "schema_version": "1.0",
                "status": "serving",
                "run": self._run,
                "tasks": self._tasks,
                "base_url": serving.base_url,
                "host": host,
                "port": serving.port,
            }
            click.echo(canonical_text(told))
        else:
            click.echo(visible(f"serving {self._run}, {self._tasks} tasks, at {serving.base_url}"))
            click.echo("  the model name says how it answers, see --list; Ctrl-C ends it")


async def _listen(candidate: ScriptedCandidate, port: int, conduct: Conduct, greeting: _Greeting) -> None:
    """Serve until a signal asks to end, or something breaks."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (getattr(signal, name) for name in _ENDING if hasattr(signal, name)):
        # Whoever started us under `nohup` wants us to stay.
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, ended.set)
    async with AsyncExitStack() as stack:
        try:
            serving = await stack.enter_async_context(serve(candidate, port, conduct=conduct))
        except OSError as error:
            raise ConfigError(_unavailable(conduct.host, port, error)) from None
        greeting.print(serving, conduct.host)
        waiting = [loop.create_task(ended.wait()), loop.create_task(serving.failed())]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        # What broke, if anything did, is raised as the server is left.
        await asyncio.gather(*waiting, return_exceptions=True)


class _Log:
    """A file that request bodies are appended to; nobody else may read it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with storage(path):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def record(self, body: Mapping[str, Json]) -> None:
        """One line at once. Raises: StageError `storage_failed`."""
        left = memoryview(canonical_json(body) + b"\n")
        with storage(self._path):
            while left:
                left = left[os.write(self._file, left) :]


def warn(candidate: ScriptedCandidate) -> None:
    """Say on stderr which tasks no candidate can tell apart."""
    found = candidate.contradictions()
    for ids in found[:_SHOWN]:
        click.echo(visible(f"cannot be told apart, the first is answered: {', '.join(ids)}"), err=True)
    if len(found) > _SHOWN:
        click.echo(f"and {len(found) - _SHOWN} more such groups of tasks", err=True)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _key(variable: str) -> str:
    """The value to ask for. Raises: ConfigError `serve_key_missing`."""
    credential = Credential(variable, os.environ)
    fault = credential.fault()
    if fault is None:
        return credential.reveal()
    message = f"the environment variable that --require-key names {fault}"
    fix = f"export {variable} with the value that clients are to send, then run the same command again"
    raise ConfigError(Problem(code="serve_key_missing", subject=visible(variable), message=message, fix=fix))


def _unavailable(host: str, port: int, error: OSError) -> Problem:
    return Problem(
        code="serve_address_unavailable",
        subject=f"{host}:{port}",
        message=f"cannot listen there: {error.strerror or error}",
        fix="give another --port, or none to take one that is free; --host has to be an address of this machine",
    )
