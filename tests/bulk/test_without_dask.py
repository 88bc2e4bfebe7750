"""A run on Dask where Dask is not installed."""

from __future__ import annotations

import sys

import pytest

from wire import bulk
from wire.errors import ConfigurationError


def test_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    for name in ("executor", "scheduler", "worker"):
        monkeypatch.delitem(sys.modules, f"wire.bulk.dask_{name}", raising=False)
    with pytest.raises(ConfigurationError, match=r"on: .*pip install 'wire-llm\[dask\]'"):
        bulk.run(["x"], "openai:gpt-5.4", api_key="fake-key", on="tcp://scheduler:8786")
