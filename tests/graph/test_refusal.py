"""Refusals as a person reads them: with commands that can be pasted."""

from __future__ import annotations

import pytest

from bfcl.errors import Problem
from bfcl.graph.refusal import pasteable


@pytest.mark.parametrize(
    ("fix", "told"),
    [
        ("run `doit prepare`", "run `doit prepare config=configs/b.yaml`"),
        ("`doit clean publish` withdraws it", "`doit clean publish config=configs/b.yaml` withdraws it"),
        ("or all with `doit clean -a`", "or all with `doit clean -a config=configs/b.yaml`"),
        ("run `doit all skip_until=render`", "run `doit all skip_until=render config=configs/b.yaml`"),
        ("run `doit generate config=x.yaml`", "run `doit generate config=x.yaml`"),
        ("`doit validate pack=packs/x` says more", "`doit validate pack=packs/x` says more"),
        ("set it to `false`", "set it to `false`"),
    ],
)
def test_commands_name_the_configuration_of_the_command_line(fix: str, told: str) -> None:
    problem = Problem(code="c", subject="s", message="m", fix=fix)
    assert pasteable(problem, {"config": "configs/b.yaml", "jobs": "2"}).fix == told
    assert pasteable(problem, {"jobs": "2"}) is problem


def test_a_path_with_a_space_is_quoted_and_a_problem_without_a_fix_stays() -> None:
    problem = Problem(code="c", subject="s", message="m", fix="run `doit generate`")
    assert pasteable(problem, {"config": "my configs/b.yaml"}).fix == "run `doit generate 'config=my configs/b.yaml'`"
    bare = Problem(code="c", subject="s", message="m")
    assert pasteable(bare, {"config": "b.yaml"}) is bare
