"""What every test of this room needs: no proxy, no certificate file and no registry of the machine it runs on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bfcl.modelio.transport import HttpTransport

_FOREIGN = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def _own_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _FOREIGN:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def transport() -> Iterator[HttpTransport]:
    with HttpTransport() as opened:
        yield opened
