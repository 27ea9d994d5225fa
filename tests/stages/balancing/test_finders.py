"""Which finder a configuration names, and what is said when nobody answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from bfcl.errors import StageError
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.finder import Finder, Found, embedding_signature
from bfcl.stages.balancing.finders import finder_for
from bfcl.stages.balancing.lexical import LexicalFinder


@dataclass(frozen=True)
class Remote:
    """A finder of another kind, as an installed one would be."""

    model: str
    version: str = "1"

    @property
    def identifier(self) -> str:
        return f"endpoint:{self.model}"

    def find(self, texts: Mapping[TaskId, str], partitions: int) -> Found:
        return Found(embedding_signature=embedding_signature([]), embedded=tuple(texts), matches={})


def _refusal(identifier: str, *kinds: str) -> str:
    with pytest.raises(StageError) as caught:
        finder_for(identifier, dict.fromkeys(kinds, Remote))
    (problem,) = caught.value.problems
    assert problem.code == "dedup_backend_unavailable"
    return str(problem)


def test_lexical_finder_is_built_in_and_tells_its_libraries() -> None:
    finder = finder_for("lexical:char-ngram-v1")
    assert isinstance(finder, LexicalFinder)
    assert finder.identifier == "lexical:char-ngram-v1"
    assert [part.split()[0] for part in finder.version.split(", ")] == ["scikit-learn", "scipy", "numpy"]


def test_installed_kind_is_made_of_what_follows_the_colon() -> None:
    found: Finder = finder_for("endpoint:vendor/model:v2", {"endpoint": Remote})
    assert found == Remote("vendor/model:v2")


def test_unknown_identifier_is_refused_and_never_replaced() -> None:
    place = "dedup_backend_unavailable: semantic_deduplication_config.model_identifier: "
    assert _refusal("BAAI/bge-m3") == (
        f"{place}no finder of near-duplicates answers to `BAAI/bge-m3`; expected lexical:char-ngram-v1\n"
        "  fix: name `lexical:char-ngram-v1`, or install the finder you mean"
    )
    assert _refusal("lexical:char-ngram-v2", "endpoint") == (
        f"{place}no finder of near-duplicates answers to `lexical:char-ngram-v2`;"
        " expected lexical:char-ngram-v1 or endpoint:<model>\n"
        "  fix: did you mean `lexical:char-ngram-v1`?"
    )


@pytest.mark.parametrize("identifier", ["endpoint", "endpoint:", "other:model", ""])
def test_kind_without_a_model_or_not_installed_is_refused(identifier: str) -> None:
    assert f"answers to `{identifier}`" in _refusal(identifier, "endpoint")


def test_lexical_finder_without_scikit_learn_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert _refusal("lexical:char-ngram-v1") == (
        "dedup_backend_unavailable: semantic_deduplication_config.model_identifier: `lexical:char-ngram-v1` cannot be"
        " used: scikit-learn is not installed\n  fix: pip install 'bfcl-build[balance]'"
    )


def test_scikit_learn_that_does_not_load_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = LexicalFinder()
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(StageError) as caught:
        finder.find({TaskId("a"): "one", TaskId("b"): "two"}, 1)
    (problem,) = caught.value.problems
    assert (problem.code, problem.fix) == ("dedup_backend_unavailable", "pip install 'bfcl-build[balance]'")
    assert problem.message.startswith("`lexical:char-ngram-v1` cannot be used: scikit-learn cannot be loaded: ")


def test_naming_a_finder_loads_no_heavy_library() -> None:
    script = (
        "import sys; from bfcl.stages.balancing.finders import finder_for; finder_for('lexical:char-ngram-v1').version;"
        "import bfcl.stages.balancing.partition, bfcl.stages.balancing.survivor;"
        "print(sorted({'numpy', 'scipy', 'sklearn'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert shown.stdout == "[]\n"
