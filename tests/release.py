"""What a release is checked for: `make release-check`, which runs `python -m tests.release`.

It builds the sdist and the wheel in `dist/`, and a wheel from the sdist, which has the same bytes.
twine reads their metadata. The wheel is installed with nothing else in an empty environment, where
the samples of README run in an empty folder, the command answers, and import time and size are
measured. pip-audit looks for known vulnerabilities in what was installed, and the list of it is
written to `dist/` as CycloneDX JSON.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
MAX_WHEEL_BYTES = 2_500_000
"""Tables of facts about models, hosts, settings and stop words are in it, with their sources."""
MAX_INSTALLED_BYTES = 19_000_000
"""Of this package alone, with the bytecode that pip compiles."""
MAX_IMPORT_RATIO = 1.5
"""CPU time of a client to that of `import httpx, msgspec`."""

SAMPLES = """
import doctest, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r"^```python\\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
test = doctest.DocTestParser().get_doctest("\\n".join(blocks), {}, "README", "README.md", 0)
result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
print(f"{result.attempted} examples of README, {result.failed} failed")
sys.exit(result.failed > 0 or result.attempted < 10)
"""

COST = """
import resource, subprocess, sys
def seconds(code):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
ratios = []
for _ in range(7):
    bare = seconds("pass")
    client = seconds("from wire import Client, gemini; Client('gemini')") - bare
    ratios.append(client / (seconds("import httpx, msgspec") - bare))
print(sorted(ratios)[3])
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """The output of a command. Raises `SystemExit` with it if the command fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def built(source: Path, target: str, folder: Path) -> Path:
    """Builds an sdist or a wheel of a source folder in another folder."""
    run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder, cwd=source)
    (made,) = folder.glob("*.tar.gz" if target == "sdist" else "*.whl")
    return made


def main() -> None:
    """Raises `SystemExit` with the reason at the first check that fails."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist = built(ROOT, "sdist", DIST)
        wheel = built(ROOT, "wheel", DIST)
        with tarfile.open(sdist) as archive:
            archive.extractall(folder / "sdist", filter="data")
        (source,) = (folder / "sdist").iterdir()
        again = built(source, "wheel", folder / "again")
        check("the wheel of the sdist is the same", wheel.read_bytes() == again.read_bytes())
        size = wheel.stat().st_size
        check(f"the wheel has {size:,} bytes", size <= MAX_WHEEL_BYTES)
        run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
        check("twine reads the metadata", True)
        installed(wheel, folder)


def installed(wheel: Path, folder: Path) -> None:
    """Checks the wheel in an environment that has nothing else."""
    run(sys.executable, "-m", "venv", folder / "empty")
    python = folder / "empty" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    work = folder / "work"
    work.mkdir()
    in_work: Callable[..., str] = lambda *code: run(python, *code, cwd=work)  # noqa: E731
    version = in_work("-m", "wire", "--version").strip()
    check(
        f"`python -m wire --version` prints {version}",
        version == f"wire {wheel.name.split('-')[1]}",
    )
    check(in_work("-c", SAMPLES, ROOT / "README.md").strip(), True)
    package = Path(in_work("-c", "import wire; print(wire.__path__[0])").strip())
    sizes = {each: each.stat().st_size for each in package.rglob("*") if each.is_file()}
    compiled = sum(size for each, size in sizes.items() if each.suffix == ".pyc")
    total = sum(sizes.values())
    check(
        f"the package has {total:,} bytes on disk, {compiled:,} of them bytecode",
        total <= MAX_INSTALLED_BYTES,
    )
    if sys.platform != "win32":
        ratio = float(in_work("-c", COST))
        check(f"a client costs {ratio:.2f} times its libraries", ratio <= MAX_IMPORT_RATIO)
    # pip itself is no dependency of the package.
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
    requirements = folder / "requirements.txt"
    listed = in_work("-c", LISTED)
    requirements.write_text(listed, "utf-8")
    run(sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "-r", requirements)
    check(f"pip-audit knows no vulnerability of {len(listed.splitlines())} distributions", True)
    bill = DIST / f"{wheel.stem.split('-py3')[0]}.cdx.json"
    run(sys.executable, "-m", "cyclonedx_py", "environment", "-o", bill, python)
    check(f"the bill of materials is {bill.name}", bill.stat().st_size > 1000)


LISTED = """
from importlib.metadata import distributions
for each in sorted(distributions(), key=lambda each: each.name):
    if each.name != "wire-llm":
        print(f"{each.name}=={each.version}")
"""


def check(what: str, holds: bool) -> None:
    """Prints what holds. Raises `SystemExit` otherwise."""
    if not holds:
        raise SystemExit(f"failed: {what}")
    print(f"ok: {what}", flush=True)


if __name__ == "__main__":
    main()
