"""A credential is read at need, shown to nobody, and refused where no header could carry it."""

from __future__ import annotations

import pytest

from bfcl.errors import ModelError
from bfcl.modelio.credential import Credential


def test_credential_reads_its_variable_at_each_need_and_shows_nothing() -> None:
    environment: dict[str, str] = {}
    credential = Credential("VENDOR_KEY", environment)
    assert credential.fault() == "is not set"
    environment["VENDOR_KEY"] = "hunter2"
    assert credential.fault() is None
    assert credential.reveal() == "hunter2"
    environment["VENDOR_KEY"] = "hunter3"
    assert credential.reveal() == "hunter3"
    assert repr(credential) == str(credential) == "Credential(VENDOR_KEY=<redacted>)"


@pytest.mark.parametrize("value", [None, "", "  "])
def test_unset_or_blank_variable_is_refused(value: str | None) -> None:
    with pytest.raises(ModelError) as caught:
        Credential("VENDOR_KEY", {} if value is None else {"VENDOR_KEY": value}).reveal()
    assert str(caught.value) == (
        "model_credential_missing: VENDOR_KEY: the environment variable that the registry names is not set\n"
        "  fix: export VENDOR_KEY with the provider's key, then run the same command again"
    )


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "schlüssel", "a\x00b", " hunter2", "hunter2\n"])
def test_value_that_no_header_can_carry_is_refused_unechoed(value: str) -> None:
    with pytest.raises(ModelError) as caught:
        Credential("VENDOR_KEY", {"VENDOR_KEY": value}).reveal()
    assert "that the registry names holds what no HTTP header can carry\n" in str(caught.value)
    assert value not in str(caught.value)
