"""C-15: keys of all vendors are found in each place where files have them, and none in real texts.

The keys are made of what vendors tell (`vendor_keys`), the real texts are recorded exchanges and
what is installed. Each test prints its figures: `pytest -m slow -rP`.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from urllib.parse import quote

import pytest

from tests.testing.cassette.vendor_keys import nameless_keys, vendor_keys
from wire.core.credentials import without_known
from wire.testing.cassette.checks.scan import scan, text_of

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


NAMED: dict[str, Callable[[str], str]] = {
    ".env": lambda key: f"DEBUG=1\nOPENAI_API_KEY={key}\n",
    "a shell's export": lambda key: f"export SERVICE_TOKEN={key}\n./run\n",
    "a header of curl": lambda key: f'curl -H "x-api-key: {key}" https://llm.example/v1\n',
    "YAML": lambda key: f"service:\n  api_key: {key}\n  model: m\n",
    "TOML": lambda key: f'[service]\napi_key = "{key}"\n',
    "JSON": lambda key: json.dumps({"model": "m", "auth": {"api_key": key}}),
    "JSON in JSON": lambda key: json.dumps({"body": json.dumps({"client_secret": key, "n": 1})}),
    "the query of a URL": lambda key: (
        f"GET https://llm.example/v1?alt=sse&api_key={quote(key, safe='')}&x=1\n"
    ),
    "the password of a URL": lambda key: f"https://user:{quote(key, safe='')}@llm.example/v1\n",
    "base64": lambda key: json.dumps({"data": _base64(json.dumps({"api_key": key}))}),
    "a cookie": lambda key: f"Cookie: theme=dark; session={key}; lang=en\n",
    "Basic": lambda key: f"Authorization: Basic {_base64('user:' + key)}\n",
    "Python": lambda key: f"client = Client('openai', api_key={key!r}, retry=None)\n",
}
"""Places that tell a key of any form."""
BARE: dict[str, Callable[[str], str]] = {
    "Bearer": lambda key: f"Authorization: Bearer {key}\n",
    "the path of a URL": lambda key: f"see https://llm.example/hook/{key}/v1 for\n",
    "the user of a URL": lambda key: f"https://{quote(key, safe='')}@llm.example/v1\n",
    "after a dash": lambda key: f"it is config-{key}\n",
    "after an underscore": lambda key: f"it is prod_{key}\n",
    "a text": lambda key: f"the key is {key}, as of today\n",
}
"""Places where only its form tells a key."""


def _found(seeds: int) -> tuple[int, list[str]]:
    """How many keys were looked for, and those that were not found."""
    count, missed = 0, list[str]()
    for seed in range(seeds):
        dice = random.Random(seed)
        keys, nameless = vendor_keys(dice), nameless_keys(dice)
        cases = [(name, key, place) for name, key in keys.items() for place in (*NAMED, *BARE)]
        cases += [(name, key, place) for name, key in nameless.items() for place in NAMED]
        count += len(cases)
        missed += [
            f"{name} in {place}"
            for name, key, place in cases
            if not scan((NAMED | BARE)[place](key))
        ]
    return count, missed


@pytest.mark.row("C-15")
@pytest.mark.parametrize("seeds", [1, pytest.param(40, marks=pytest.mark.slow)])
def test_keys_of_all_vendors_are_found_in_each_place(seeds: int) -> None:
    assert len(vendor_keys(random.Random(1))) > 130
    count, missed = _found(seeds)
    told = Counter(missed).most_common(9)
    print(f"{count} keys of {len(NAMED | BARE)} places, {len(missed)} not found: {told}")
    assert count > 2600 * seeds
    assert len(missed) < count / 100, told
    worst = Counter(each.rpartition(" in ")[2] for each in missed).most_common(1)
    assert all(number < count / len(NAMED | BARE) / 50 for _, number in worst), worst


def test_keys_of_all_vendors_are_hidden_in_texts() -> None:
    for name, key in vendor_keys(random.Random(5)).items():
        shown = without_known(f"no such key: '{key}'")
        assert "***" in shown, name
        assert key[-8:] not in shown, name


def _recorded(largest: int) -> Iterator[str]:
    """The recorded exchanges in files of at most so many bytes."""
    for path in sorted(CORPUS.glob("*.jsonl.gz")):
        if path.stat().st_size <= largest:
            with gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="\n") as lines:
                yield from lines


TEXTS = (
    ".py", ".pyi", ".md", ".rst", ".txt", ".json", ".toml", ".yaml", ".yml", ".cfg", ".js",
    ".html", ".css", ".c", ".h", ".ini",
)  # fmt: skip
TESTS = frozenset({"test", "tests", "testing", "idle_test"})
"""Folders that are left out: tests of other projects have keys that look real."""


def _installed() -> Iterator[str]:
    """The library of Python and what is installed: sources, pages, JSON."""
    for name in ("stdlib", "purelib"):
        root = Path(sysconfig.get_paths()[name])
        for path in sorted(root.rglob("*")):
            inside = path.relative_to(root).parts
            if not TESTS.isdisjoint(inside) or (name == "stdlib" and "site-packages" in inside):
                continue
            if path.suffix in TEXTS and path.is_file() and path.stat().st_size < 1_000_000:
                yield text_of(path.read_bytes())


@pytest.mark.row("C-15")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("texts", "least"),
    [
        pytest.param(lambda: _recorded(100_000), 100, id="some recorded"),
        pytest.param(lambda: _recorded(1 << 30), 7000, id="recorded", marks=pytest.mark.slow),
        pytest.param(_installed, 3000, id="installed", marks=pytest.mark.slow),
    ],
)
def test_real_texts_have_no_false_alarm(texts: Callable[[], Iterator[str]], least: int) -> None:
    if texts is not _installed and not CORPUS.exists():
        pytest.skip("the corpus is not beside this checkout")
    count, found = 0, list[str]()
    for text in texts():
        count += 1
        if hits := scan(text):
            found.append(hits[0].kind)
    print(f"{count} texts, {len(found)} of them with alarms: {Counter(found)}")
    assert count >= least
    assert len(found) < max(count / 1000, 1), Counter(found)


def _many(text: str) -> Callable[[int], str]:
    return lambda count: text * count


SHAPES: dict[str, Callable[[int], str]] = {
    **{
        each: _many(each)
        for each in (
            "sk-", "token=", "api_key:", 'api_key="', "-----BEGIN PRIVATE KEY-----", "eyJ", "eyJh.",
            "-_", "aA-", "://a:", "cookie: a=b;", "?key=a", "my-secret-token-key-", "Bearer ",
            "12345678:AA", "a8Q~", "ghp_" + "a1B2" * 9 + " ", "API_KEY=" + "a1B2" * 8 + chr(10),
        )
    },
    "a long value": lambda count: "api_key=" + "a1B2" * count,
    "base64 in base64": lambda count: _base64(_base64("api_key='a1B2c3D4e5F6g7H8' " * count)),
}  # fmt: skip
"""Texts that a careless search would read again and again."""


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_scan_takes_time_linear_in_the_text(shape: str) -> None:
    def seconds(count: int) -> float:
        text = SHAPES[shape](count)
        times = []
        for _ in range(3):
            begin = process_time()
            scan(text)
            times.append(process_time() - begin)
        return min(times)

    seconds(10)
    small, large = seconds(3000), seconds(24_000)
    print(f"{small:.3f} s, eight times as much {large:.3f} s")
    assert large < 20 * small + 0.2  # quadratic, 64 times
