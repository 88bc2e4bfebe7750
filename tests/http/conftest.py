import shutil
import subprocess
from pathlib import Path

import pytest

from tests.http.drive import EVERY, Drive


@pytest.fixture(params=EVERY)
def drive(request: pytest.FixtureRequest) -> Drive:
    found: Drive = request.param
    return found


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
