"""What every test may use: Hypothesis without a deadline (the machines are shared), and no key of the environment."""

import pytest
from hypothesis import HealthCheck, settings

from wire.providers import PROVIDERS

settings.register_profile("wire", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wire")


@pytest.fixture(autouse=True)
def _no_environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and proxies of the machine decide nothing here; the live tests alone see them."""
    if "live" in request.keywords:
        return
    keys = {row.key_variable for row in PROVIDERS.values()}
    for name in (*keys, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
