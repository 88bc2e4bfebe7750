"""The bill of materials: `make sbom`."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests import sbom

PROJECT = tomllib.loads((sbom.DIST.parent / "pyproject.toml").read_text("utf-8"))["project"]


def named(components: list[dict[str, Any]], scope: str) -> set[str]:
    """The names of a scope, in their one spelling."""
    refs = (each["purl"] for each in components if each["scope"] == scope)
    return {each.removeprefix("pkg:pypi/").partition("@")[0] for each in refs}


def test_the_bill_has_what_the_project_needs() -> None:
    made = sbom.bill()
    needed = {re.split(r"[<>=]", each)[0] for each in PROJECT["dependencies"]}
    assert needed == {"httpx", "msgspec", "anyio"}
    required = named(made["components"], "required")
    # With what these need themselves.
    assert required >= {*needed, "httpcore", "h11", "certifi", "idna"}
    assert "pytest" not in required | named(made["components"], "optional")
    for each in made["components"]:
        assert each["version"] == version(each["name"])
        assert (
            each["purl"] == f"pkg:pypi/{each['name'].lower().replace('_', '-')}@{each['version']}"
        )
        assert each["licenses"]


def test_extras_are_optional_or_told() -> None:
    made = sbom.bill()
    absent = {each["value"] for each in made["metadata"]["properties"]}
    extras = {
        re.split(r"[<>=]", each)[0]
        for name, all_of in PROJECT["optional-dependencies"].items()
        if name not in ("dev", "docs", "release")
        for each in all_of
    }
    found = named(made["components"], "optional") | named(made["components"], "required")
    assert extras == {each for each in extras if each in found | absent}
    assert found.isdisjoint(absent)


def test_each_reference_is_a_component() -> None:
    made = sbom.bill()
    components = [made["metadata"]["component"], *made["components"]]
    known = [each["bom-ref"] for each in components]
    assert len(known) == len(set(known))
    assert [each["ref"] for each in made["dependencies"]] == known
    graph = {each["ref"]: each["dependsOn"] for each in made["dependencies"]}
    assert {below for all_of in graph.values() for below in all_of} <= set(known)
    (httpx,) = [each for each in known if each.startswith("pkg:pypi/httpx@")]
    assert f"pkg:pypi/httpcore@{version('httpcore')}" in graph[httpx]


def test_it_is_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for name in ("a.json", "b.json"):
        monkeypatch.setattr("sys.argv", ["sbom", str(tmp_path / name)])
        sbom.main()
        texts.append((tmp_path / name).read_bytes())
    assert texts[0] == texts[1]
    made = json.loads(texts[0])
    assert (made["bomFormat"], made["specVersion"], made["version"]) == ("CycloneDX", "1.5", 1)
    assert capsys.readouterr().out.startswith("a.json: ")
