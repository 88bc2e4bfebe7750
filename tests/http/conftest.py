import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from wire.http import network


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of loopback with its key, made for this run."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    made, key = tmp_path_factory.mktemp("tls") / "both.pem", "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=loopback", "-out", made.name, "-keyout", key]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, cwd=made.parent, check=True, capture_output=True)
    made.write_bytes(made.read_bytes() + (made.parent / key).read_bytes())
    return made


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A certificate that the lanes trust."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    network.CONTEXTS.clear()
    yield certificate
    network.CONTEXTS.clear()
