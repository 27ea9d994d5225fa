"""Whether a candidate is the model that had a hand in the benchmark."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.evaluate.source.exposures import Exposure
from bfcl.evaluate.source.verdict import judge, normalised
from tests.evaluate.source.builder import candidate

A, B = "a" * 64, "b" * 64
REVISION, OTHER = "1" * 40, "2" * 40


def exposure(**edits: Any) -> Exposure:
    good: dict[str, Any] = {
        "role": "paraphrase",
        "canonical_id": "elsewhere:another@provider_managed",
        "provider": "vendor",
        "source": "hub",
        "model": "org/helper",
        "revision": None,
        "weights_digest": None,
        "task_ids": ("t1", "t2"),
    }
    return Exposure(**{**good, **edits})


@pytest.mark.parametrize(
    ("ours", "theirs", "answer", "evidence"),
    [
        # Equal bodies match whatever the scheme is called, and before any name is looked at.
        (f"sha256:{A}", f"sha256:{A}", "match", "weights_digest"),
        (f"sha256:{A}", f"SHA256:{A.upper()}", "match", "weights_digest"),
        (f"sha256:{A}", f"bfcl-weight-manifest-v1:{A}", "match", "weights_digest"),
        (f"sha256:{A}", f"sha256:{B}", "different", "weights_digest"),
        # These say nothing about each other, so that names decide.
        (f"sha256:{A}", f"blake3:{B}", "different", "names"),
        (f"sha256:{A}", f"sha256:{B[:40]}", "different", "names"),
        (f"bfcl-weight-manifest-v1:{A}", f"bfcl-weight-manifest-v1:{B}", "different", "names"),
        (f"bfcl-weight-manifest-v1:{A}", f"sha256:{B}", "different", "names"),
        (f"sha256:{A}", None, "different", "names"),
        (None, f"sha256:{A}", "different", "names"),
    ],
)
def test_judge_believes_digests_first(ours: str | None, theirs: str | None, answer: str, evidence: str) -> None:
    verdict = judge(candidate(weights_digest=ours), exposure(weights_digest=theirs))
    assert (verdict.answer, verdict.evidence) == (answer, evidence)


@pytest.mark.parametrize(
    ("ours", "theirs", "answer", "evidence"),
    [
        # The same canonical label, in any case.
        (
            candidate(source="hub", model="org/x", revision=REVISION),
            exposure(canonical_id=f"HUB:org/X@{REVISION}", model="org/unrelated"),
            "match",
            "canonical_id",
        ),
        # The same served model, unless both providers are known and differ.
        (candidate(model="org/helper"), exposure(), "match", "served_model"),
        (candidate(model="ORG/Helper"), exposure(provider=None), "match", "served_model"),
        (candidate(model="org/helper", revision=REVISION), exposure(revision=OTHER), "match", "served_model"),
        # A shared name alone: sources, then revisions.
        (candidate(model="org/helper", provider="another"), exposure(), "unknown", "name"),
        (candidate(model="Helper"), exposure(), "unknown", "name"),
        (candidate(model="mirror/HEL-per"), exposure(), "unknown", "name"),
        (candidate(model="helper", source="local"), exposure(), "unknown", "sources"),
        (
            candidate(model="helper", source="local", revision=REVISION),
            exposure(revision=OTHER),
            "unknown",
            "sources",
        ),
        (candidate(model="helper", revision=REVISION), exposure(revision=REVISION), "match", "revision"),
        (candidate(model="helper", revision=REVISION), exposure(revision=OTHER), "different", "revision"),
        (candidate(model="helper", revision=REVISION), exposure(), "unknown", "name"),
        (candidate(model="helper"), exposure(revision=OTHER, source=None), "unknown", "name"),
        # No shared name, or none at all.
        (candidate(model="org/small"), exposure(), "different", "names"),
        (candidate(model="--", served="--"), exposure(), "unknown", "names"),
        (candidate(model="org/small"), exposure(model="--"), "unknown", "names"),
    ],
)
def test_judge_goes_from_strong_evidence_to_weak(ours: Any, theirs: Exposure, answer: str, evidence: str) -> None:
    verdict = judge(ours, theirs)
    assert (verdict.answer, verdict.evidence) == (answer, evidence)


@pytest.mark.parametrize(("served", "answer"), [("deploy/helper", "unknown"), ("deploy/unlike", "different")])
def test_judge_looks_at_the_served_name_and_at_that_of_the_weights(served: str, answer: str) -> None:
    ours = candidate(served=served, provider="another", model="org/own")
    assert judge(ours, exposure()).answer == answer
    theirs = candidate(served="deploy/own", provider="another", model=served)
    assert judge(theirs, exposure()).answer == answer


def test_verdict_says_who_was_held_against_what() -> None:
    assert judge(candidate(), exposure()).to_json() == {
        "candidate_alias": "small",
        "candidate_canonical_id": "hub:org/small@provider_managed",
        "role": "paraphrase",
        "exposed_model": "elsewhere:another@provider_managed",
        "verdict": "different",
        "evidence": "names",
        "task_count": 2,
        "task_ids_hash": exposure().task_ids_hash,
    }


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("Org/Potter-7B", "potter7b"), ("potter_7b", "potter7b"), ("a/b/C.d", "cd"), ("org/x/", "x"), ("--", "")],
)
def test_normalised_keeps_letters_and_digits_of_the_last_segment(name: str, wanted: str) -> None:
    assert normalised(name) == wanted


DIGESTS = st.sampled_from([None, f"sha256:{A}", f"sha256:{B}", f"bfcl-weight-manifest-v1:{A}", f"blake3:{B}"])
NAMES = st.sampled_from(["org/helper", "mirror/Helper", "org/small", "--"])
PINS = st.sampled_from([None, REVISION, OTHER])
WHO = st.sampled_from(["hub", "local"])


@given(names=NAMES, digest=DIGESTS, revision=PINS, source=WHO, provider=WHO)
def test_a_model_always_matches_itself(
    names: str, digest: str | None, revision: str | None, source: str, provider: str
) -> None:
    ours = candidate(model=names, weights_digest=digest, revision=revision, source=source, provider=provider)
    same = exposure(
        canonical_id=ours.canonical_id,
        model=names,
        weights_digest=digest,
        revision=revision,
        source=source,
        provider=provider,
    )
    assert judge(ours, same).answer == "match"


@given(ours=DIGESTS, theirs=DIGESTS, one=NAMES, other=NAMES, pins=st.tuples(PINS, PINS), who=st.tuples(WHO, WHO))
def test_a_verdict_is_the_same_from_both_sides(
    ours: str | None,
    theirs: str | None,
    one: str,
    other: str,
    pins: tuple[str | None, str | None],
    who: tuple[str, str],
) -> None:
    def held(sides: list[tuple[str, str | None, str | None, str]]) -> str:
        (name, digest, pin, where), (its_name, its_digest, its_pin, its_where) = sides
        left = candidate(model=name, weights_digest=digest, revision=pin, source=where, provider=where)
        right = candidate(
            model=its_name, weights_digest=its_digest, revision=its_pin, source=its_where, provider=its_where
        )
        return judge(
            left,
            exposure(
                canonical_id=right.canonical_id,
                model=its_name,
                weights_digest=its_digest,
                revision=its_pin,
                source=its_where,
                provider=its_where,
            ),
        ).answer

    sides = [(one, ours, pins[0], who[0]), (other, theirs, pins[1], who[1])]
    assert held(sides) == held(sides[::-1])
