"""Problems as text, and refusals that carry all of them."""

from __future__ import annotations

import pickle

import pytest

from bfcl.errors import (
    BfclError,
    ConfigError,
    DriftError,
    PackError,
    Problem,
    closest,
    did_you_mean,
    raise_all,
    visible,
)


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (
            Problem(code="bad", message="seen this; expected that", path="a.yaml", line=3, column=9, fix="write that"),
            "a.yaml:3: bad: seen this; expected that\n  fix: write that",
        ),
        (Problem(code="bad", message="why", path="a.yaml", subject="x"), "a.yaml: bad: why"),
        (Problem(code="bad", message="why", subject="run.key"), "bad: run.key: why"),
        (Problem(code="bad", message="why", line=4), "bad: why"),
    ],
    ids=["placed", "file without line", "subject", "neither"],
)
def test_problem_reads_as_one_block(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_text_of_others_cannot_steer_a_terminal() -> None:
    assert visible("\x1b[2J\x07\x9b\r\x7f é\t\n") == "\\x1b[2J\\x07\\x9b\\x0d\\x7f é\t\n"


def test_refusal_says_every_problem_in_order() -> None:
    problems = [Problem(code=code, message=code.upper()) for code in ("one", "two")]
    error = PackError(iter(problems))
    assert error.problems == tuple(problems)
    assert str(error) == "one: ONE\ntwo: TWO"
    assert error.exit_code == 1


def test_refusal_takes_a_single_problem() -> None:
    problem = Problem(code="one", message="ONE")
    assert ConfigError(problem).problems == (problem,)


def test_refusal_without_a_problem_is_a_bug() -> None:
    with pytest.raises(ValueError, match="a refusal without a problem"):
        BfclError([])


def test_refusal_survives_the_way_between_processes() -> None:
    error = DriftError(Problem(code="moved", message="why", path="a", line=1, fix="so"))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is DriftError
    assert copy.problems == error.problems


def test_raise_all_raises_only_where_there_is_something() -> None:
    raise_all(PackError, [])
    with pytest.raises(PackError, match="one: ONE"):
        raise_all(PackError, [Problem(code="one", message="ONE")])


def test_did_you_mean_names_the_closest_word_or_nothing() -> None:
    assert did_you_mean("jbos", ("config", "jobs")) == "did you mean `jobs`?"
    assert did_you_mean("zzz", ("config", "jobs")) is None
    assert closest("jbos", ("config", "jobs")) == "jobs"
    assert closest("zzz", ("config", "jobs")) is None
    assert did_you_mean("ab", {"abd", "abc"}) == did_you_mean("ab", ["abc", "abd"])


def test_problem_stays_one_block_whatever_an_author_wrote() -> None:
    problem = Problem(code="odd", message="the language `en\n` is none", subject="a\r\nb", fix="did you mean `e\nn`?")
    assert str(problem) == "odd: a\\x0d\\nb: the language `en\\n` is none\n  fix: did you mean `e\\nn`?"
