"""Which files make a new user project? Rule: spec README, ruling 10.

The starter pack and its configuration are the repository's own, shipped in the wheel below `bfcl/cli/starter/`; the
rest is written here. Bytes depend on this version alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bfcl.errors import ConfigError, Problem

CONFIG: Final = "configs/tiny.yaml"
PACK: Final = "packs/tiny_oracle_pack"
EVALUATION: Final = ("configs/eval.cli.yaml", "configs/eval.default.yaml", "configs/eval.tiny.yaml")

_INSTALLED: Final = Path(__file__).resolve().parent / "starter"
_CHECKOUT: Final = Path(__file__).resolve().parents[2]

DODO: Final = '''\
"""Names the doit tasks of this project: try `doit list`, then `doit generate`."""

from bfcl.graph.tasks import DOIT_CONFIG, task_pipeline

__all__ = ["DOIT_CONFIG", "task_pipeline"]
'''

GITIGNORE: Final = (
    "/build/\n# What packs publish under their own validate.yaml.\n/packs/*_output/\n/packs/*_runs/\n/packs/.bfcl/\n"
)

README: Final = """\
# A benchmark project

This project builds a verified function-calling benchmark from an oracle pack: tools with schemas, code that answers
them, conversation templates and assertions. No model is called; every expected call is executed twice.

| path | what it is |
|---|---|
| `packs/tiny_oracle_pack/` | a small complete pack to read, run and copy; start with its README |
| `configs/tiny.yaml` | one run: which pack, how many tasks, where the result goes |
| `configs/eval.tiny.yaml` | scores a scripted candidate on that run; `eval.default.yaml` is the template |
| `dodo.py` | the doit tasks |
| `build/` | output: stored results, logs, published runs; not for git, safe to cache |
| `.github/workflows/benchmark.yml` | an example for CI that keeps `build/` between runs |

## Run it

`bfcl-build` is on no package index yet. Until a release exists, install it from a checkout of its repository, or from
your own copy of that by `git+` and its URL:

    pip install PATH_OF_THE_CHECKOUT
    doit generate

The last line printed is the path of `benchmark.parquet`. Run it again and nothing is recomputed; reword one template
and only its tasks are. Every key of the configuration and every field of a template is explained in the documentation
of `bfcl-build`, in the directory `docs/` of its repository.

    doit list              # the stages
    doit validate          # every check on the pack, nothing built: run it while you edit
    bfcl build-report      # what the last run computed and reused
    bfcl trace TASK_ID     # one task through every stage, and why it was dropped
    bfcl verify RUN_DIR    # hash a published run again
    bfcl report RUN_DIR    # one HTML page of a run (extra `report`)
    bfcl gc --dry-run      # which stored results nothing names any more

`bfcl` writes text on a terminal and JSON into a pipe or a file; `--format text` keeps the text.

Is another program called `bfcl` installed? `python -m bfcl` always works.

## Add your own pack

1. `bfcl scaffold-oracle-pack --domain "My Desk" --target packs/my_pack` writes one that is Gold at once, with a
   `validate.yaml` of its own. (Or copy `packs/tiny_oracle_pack/` and change `pack_id` in its `manifest.yaml`.)
2. Copy `configs/tiny.yaml` to `configs/my.yaml`; change `expt_name` and the pack's path.
3. Templates of one category share `tasks_per_category`: raise it when you add to a category more templates than that.
4. Run `doit validate config=configs/my.yaml` after every edit: each problem is printed with its file, line and a fix,
   and only the checks that read what you edited run again. Before there is a configuration,
   `doit validate pack=packs/my_pack` does with sensible settings.
5. Run `doit generate config=configs/my.yaml`.

Every file below a pack's directory is part of its identity: keep notes beside it, not in it.

## When it grows

Extras bring the libraries that some of this needs, all or those you want:

    pip install 'PATH_OF_THE_CHECKOUT[balance,report,cache,distributed]'

- **Balancing** (extra `balance`) drops near-duplicates and publishes the best selection of more tasks than you want, in
  the mix you ask for. `docs/balancing.md` has the settings to copy.
- **Exports**: `exports: {inspect_ai: true}` writes the rows for another tool too; also `bfcl_json`,
  `nemo_evaluator_bundle`, `openai_chat_jsonl`, `hugging_face`. `docs/exports.md`.
- **A shared cache** (extra `cache`): `doit generate cache=URL` takes results from other machines and gives its own.
- **A cluster** (extra `distributed`): `doit generate executor=dask:HOST:PORT` lets its workers run the oracle.
- **Late stages again**: `doit generate skip_until=render` verifies what the last run left before that stage and
  computes the rest anew.
- **Cleaning**: `bfcl gc --config configs` keeps what the configurations there need. `doit clean -a config=FILE` removes
  what one configuration left, without `config=` that of `configs/tiny.yaml`.
"""

WORKFLOW: Final = """\
# Builds the benchmark on every push and keeps build/ between runs, so that only what changed is computed.
name: benchmark

on:
  push:
  pull_request:

permissions:
  contents: read

jobs:
  generate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      # `bfcl-build` is on no package index yet. Until a release exists, set the repository variable BFCL_BUILD to what
      # pip is to install: `git+` and the URL of your own copy, at a commit you reviewed.
      - run: pip install "${BFCL_BUILD:?set this repository variable to the source of bfcl-build}"
        env:
          BFCL_BUILD: ${{ vars.BFCL_BUILD }}
      # Stored results are checked against their digests whenever they are used. That finds accidents, not forgers: if
      # a cache may come from a branch you do not trust, release with `doit generate replay=full`.
      - uses: actions/cache/restore@v4
        with:
          path: build
          key: benchmark-${{ runner.os }}-${{ github.run_id }}-${{ github.run_attempt }}
          restore-keys: benchmark-${{ runner.os }}-
      - run: doit generate
      - run: bfcl build-report --format text
        if: always()
      # Without this the cache grows with every edit: what no configuration's newest results name is removed. Not after
      # a failure, when finished results wait for the next run to name them.
      - run: bfcl gc --config configs
      # Saved after a failure too: what was finished need not be computed again.
      - uses: actions/cache/save@v4
        if: always()
        with:
          path: build
          key: benchmark-${{ runner.os }}-${{ github.run_id }}-${{ github.run_attempt }}
      - uses: actions/upload-artifact@v4
        with:
          name: benchmark
          path: build/runs
"""


def project_files() -> dict[str, bytes]:
    """Relative POSIX path to content, sorted by path.

    Raises: ConfigError `starter_missing` where the installation lacks the starter pack.
    """
    files = {
        ".github/workflows/benchmark.yml": WORKFLOW.encode(),
        ".gitignore": GITIGNORE.encode(),
        "README.md": README.encode(),
        "dodo.py": DODO.encode(),
        **dict(_starter(_INSTALLED if _INSTALLED.is_dir() else _CHECKOUT)),
    }
    return dict(sorted(files.items()))


def _starter(root: Path) -> Iterator[tuple[str, bytes]]:
    pack = root / PACK
    needed = (*(root / name for name in (CONFIG, *EVALUATION)), pack / "manifest.yaml")
    missing = [path for path in needed if not path.is_file()]
    if missing:
        raise ConfigError(
            Problem(
                code="starter_missing",
                message=f"this installation lacks {', '.join(map(str, missing))}",
                fix="install `bfcl-build` again",
            )
        )
    for name in (CONFIG, *EVALUATION):
        yield name, (root / name).read_bytes()
    for path in pack.rglob("*"):
        # Installers compile every module of a wheel, the pack's too.
        if path.is_file() and "__pycache__" not in path.relative_to(pack).parts:
            yield path.relative_to(root).as_posix(), path.read_bytes()
