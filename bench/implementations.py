"""What is measured, and the environment that each runs in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / ".venv-bench"

REQUIREMENTS = {
    "bare": ["-e", str(ROOT)],
    "wire": ["-e", f"{ROOT}[fast]", "httpx-sse==0.4.3"],
    "dask": ["-e", f"{ROOT}[fast,dask]"],
    "google-genai": ["google-genai==3.6.1"],
    "openai": ["openai==3.57.0"],
    "anthropic": ["anthropic==2.14.0"],
    "litellm": ["litellm==1.110.2"],
    "pydantic-ai": ["pydantic-ai-slim[google,openai,anthropic]==2.68.0"],
}
"""Name of an environment to what pip installs there."""
OWN = ("bare", "wire", "dask")
"""Environments with this library."""

LIMIT = "raw"
PLAIN = "httpx-lines"
"""The plain loop over the lines of a stream; all else it does as `httpx`."""


class NotInstalled(Exception):
    """An environment cannot be made here."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """A client, as `bench.client` runs it."""

    name: str
    about: str
    environment: str
    module: str
    """Of `bench.adapters`."""
    kind: str
    """Name of its class there."""
    http: str = ""
    """`http=` of a client of `wire`."""

    @property
    def is_peer(self) -> bool:
        """Whether it is another library; it takes part in fewer rounds, since most are slow."""
        return self.environment not in OWN

    @property
    def on_threads(self) -> bool:
        """Whether it is a client for threads, which has no streams at once on one loop."""
        return self.kind == "Threads"


def _wires() -> list[Implementation]:
    """As it is installed, with the connections of httpx, and with the extra `[fast]`."""
    return [
        Implementation(
            name=f"wire{door}{threads}{variant}",
            about=f"`{client}`, `http={http!r}`",
            environment=environment,
            module=module,
            kind=kind,
            http=http,
        )
        for http, variant, environment in (
            ("auto", "", "bare"),
            ("httpx", "-httpx", "wire"),
            ("direct", "-fast", "wire"),
        )
        for kind, threads in (("Asyncio", ""), ("Threads", "-threads"))
        for door, module, client in (
            ("", "wire_raw", "AsyncClient" if kind == "Asyncio" else "Client"),
            ("-neutral", "wire_neutral", "AsyncChat" if kind == "Asyncio" else "Chat"),
        )
    ]


IMPLEMENTATIONS = {
    each.name: each
    for each in [
        Implementation("raw", "a socket and msgspec, by hand: the limit", "wire", "raw", "Raw"),
        Implementation("httpx", "httpx and httpx-sse with msgspec", "wire", "httpx_sse", "Httpx"),
        Implementation(PLAIN, "httpx's `aiter_lines` with msgspec", "wire", "httpx_sse", "Lines"),
        *_wires(),
        *(
            Implementation(name, f"the library {name}", name, name.replace("-", "_"), "Sdk")
            for name in REQUIREMENTS
            if name not in OWN
        ),
    ]
}


def chosen(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The names that a pattern such as `wire*` fits, or all.

    Raises `SystemExit` for a pattern that fits nothing.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise SystemExit(f"{pattern}: expected {', '.join(names)}")
    fits = [name for name in names if any(fnmatchcase(name, each) for each in patterns)]
    return fits if patterns else list(names)


def python_of(environment: str) -> str:
    """The interpreter of an environment, which is made on first use and when its list changes.

    Raises `NotInstalled`.
    """
    folder = ENVIRONMENTS / environment
    python, ready = folder / "bin" / "python", folder / ".ready"
    requirements = REQUIREMENTS[environment]
    wanted = "\n".join(requirements)
    if environment in OWN:
        wanted += (ROOT / "pyproject.toml").read_text("utf-8")  # its dependencies
    if not ready.exists() or ready.read_text("utf-8") != wanted:
        print(f"Installing {' '.join(requirements)}", file=sys.stderr)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            subprocess.run([*install, *requirements], check=True)
        except subprocess.CalledProcessError as error:  # such as without a network
            raise NotInstalled(f"pip cannot install {' '.join(requirements)}") from error
        ready.write_text(wanted, "utf-8")
    return str(python)
