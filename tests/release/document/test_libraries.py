"""The refusal of an installation without the page's libraries."""

from __future__ import annotations

import pytest

from bfcl.errors import ConfigError
from bfcl.release.document.libraries import require_libraries


def test_missing_libraries_are_named_with_the_extra() -> None:
    with pytest.raises(ConfigError) as refused:
        require_libraries(("json", "not_a_library", "nor_this"))
    (problem,) = refused.value.problems
    assert problem.code == "extra_not_installed"
    assert str(problem) == (
        "extra_not_installed: the page needs not_a_library, nor_this, which are not installed\n"
        "  fix: pip install 'bfcl-build[report]'"
    )


def test_libraries_that_are_there_are_no_problem() -> None:
    assert require_libraries(("json",)) is None
