"""What every test of this room needs: no proxy, no certificate file and no registry of the machine it runs on."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """For a server on the loopback whose certificate the environment trusts."""
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return context
