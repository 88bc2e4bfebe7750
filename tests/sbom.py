"""`make sbom`: the bill of materials of the wheel, as CycloneDX JSON, of the metadata alone.

It has what an installation of the wheel needs, and what its extras add (scope `optional`), in the
versions of this environment. A dependency whose marker does not hold here is not installed, and not
listed; an extra that is not installed is a property of the bill. It has no time and no number of
its own: the same environment has the same bill.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

NAME = "wire-llm"
DIST = Path(__file__).parent.parent / "dist"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"""\bextra\s*==\s*['"]([^'"]+)['"]""")
_NOT_INSTALLED_BY_USERS = frozenset({"dev", "docs", "release"})


def needs(found: Distribution) -> Iterator[tuple[str, str]]:
    """What a distribution needs: names in their one spelling, each with its extra or nothing."""
    for each in found.requires or ():
        name, _, marker = each.partition(";")
        match, extra = _NAME.match(name), _EXTRA.search(marker)
        assert match is not None
        yield re.sub(r"[-_.]+", "-", match[0]).lower(), extra[1] if extra else ""


def bill(name: str = NAME) -> dict[str, Any]:
    """The bill of a distribution that is installed."""
    root = distribution(name)
    required = _reached([each for each, extra in needs(root) if not extra])
    extras = [each for each, extra in needs(root) if extra and extra not in _NOT_INSTALLED_BY_USERS]
    optional = _reached(extras) | required
    absent = sorted({each for each in extras if each not in optional and each != NAME})
    components = [
        _component(found, "library", scope="required" if each in required else "optional")
        for each, found in sorted(optional.items())
    ]
    own = [name for name in sorted({each for each, _ in needs(root)}) if name in optional]
    graph = [{"ref": _ref(root), "dependsOn": [_ref(optional[each]) for each in own]}]
    for _, found in sorted(optional.items()):
        below = sorted({each for each, extra in needs(found) if not extra and each in optional})
        graph.append({"ref": _ref(found), "dependsOn": [_ref(optional[each]) for each in below]})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": _component(root, "library"),
            "properties": [{"name": "wire:extra-not-installed", "value": each} for each in absent],
        },
        "components": components,
        "dependencies": graph,
    }


def _reached(names: list[str]) -> dict[str, Distribution]:
    """The installed distributions of these names, and what they need themselves."""
    found: dict[str, Distribution] = {}
    names = list(names)
    while names:
        name = names.pop()
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # its marker does not hold here, or its extra is not installed
            continue
        names += [each for each, extra in needs(found[name]) if not extra]
    found.pop(NAME, None)
    return found


def _ref(found: Distribution) -> str:
    name = re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower()
    return f"pkg:pypi/{name}@{found.version}"


def _component(found: Distribution, kind: str, **more: str) -> dict[str, Any]:
    """One component, with its licence as its metadata has it."""
    metadata = found.metadata
    expression = metadata.get("License-Expression")
    names = [
        each.rpartition(" :: ")[2]
        for each in metadata.get_all("Classifier") or ()
        if each.startswith("License :: ")
    ] or [each for each in (metadata.get("License"),) if each and len(each) < 100]
    licenses: list[dict[str, Any]] = [{"license": {"name": each}} for each in names]
    if expression:
        licenses = [{"expression": expression}]
    return {
        "type": kind,
        "bom-ref": _ref(found),
        "name": metadata["Name"],
        "version": found.version,
        "purl": _ref(found),
        **({"licenses": licenses} if licenses else {}),
        **more,
    }


def main() -> None:
    """Writes the bill to `dist/`, or to the file that is named."""
    made = bill()
    version = made["metadata"]["component"]["version"]
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DIST / f"wire_llm-{version}.sbom.cdx.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made, indent=2) + "\n", "utf-8")
    required = sum(each["scope"] == "required" for each in made["components"])
    print(f"{path.name}: {required} packages, and {len(made['components']) - required} of extras")


if __name__ == "__main__":
    main()
