"""The docs site: Sphinx, MyST and furo. `make docs` builds it, offline."""

from __future__ import annotations

import builtins
import re
import sys
import tomllib
import typing
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import desc_annotation, index, pending_xref
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.pycode import ModuleAnalyzer

from wire.anthropic import types as anthropic
from wire.converse import types as converse
from wire.core.facts import Facts, facts_of
from wire.core.memory import WireStruct
from wire.gemini import types as gemini
from wire.gemini.interactions import types as interactions
from wire.gemini.live import types as live
from wire.ollama import types as ollama
from wire.openai.chat import types as openai
from wire.openai.realtime import types as realtime
from wire.openai.responses import types as responses

project = "wire"
version = release = version_of("wire-llm")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]
myst_heading_anchors = 4

highlight_language = "none"
pygments_dark_style = "github-dark"
smartquotes_action = "D"  # dashes alone: a quote in a text is often one of code
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"wire {version}"
html_static_path = ["_static"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_css_files = ["wire.css"]
html_use_index = html_domain_indices = False
html_copy_source = html_show_sourcelink = html_show_copyright = False

autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_display_short_literal_types = True
python_maximum_signature_line_length = 120
toc_object_entries_show_parents = "hide"

# Docstrings have names and code in single backquotes: a public name becomes a link, and everything
# else is shown as code. Names of other packages stay text, because the build uses no network.
default_role = "py:obj"
nitpick_ignore_regex = [
    ("py:obj", "(?s).*"),
    ("py:.*", r"(builtins|collections|contextlib|datetime|decimal|httpx|msgspec|os|pathlib)\..*"),
    ("py:.*", r"(random|typing|wire)\..*"),
    # Names of annotations that are imported for type checkers only, and the facts of fields.
    ("py:class", r"AroundFunction|(Async)?(HTTPClient|Transport)|Charges|Context|Facts|Headers"),
    ("py:class", r"Abstract(Async)?ContextManager|ChatState|Parts?|Readable|RequestOptions|T"),
    ("py:class", r"Histogram|Kind|Names|P|Path|R_co|Random|Spans|Syntax|Token|ToolKind|Tracer"),
    ("py:class", r"AgentOptions|AnyModel|AnyOutput|OnDelta|OptionsBesideTools|Rows|RunOptions"),
    ("py:class", r"Value|Verdict|types\.Annotated"),
    ("py:class", r"(Async)?MediaStream|(Image|Speech|Transcript)Settings|Sent|Received|Sound"),
    ("py:class", r"TranscriptEvent|LiveOptions|LiveConversation|anyio\.abc\.TaskGroup|LiveEvent"),
]

SEARCH_WORDS: dict[str, list[str]] = tomllib.loads(
    (Path(__file__).parent / "search_words.toml").read_text("utf-8")
)

ROOT_PAGES = {
    "CHANGELOG.md": "/project/changelog.md",
    "CONTRIBUTING.md": "/project/contributing.md",
    "HOUSE.md": "/project/house.md",
    "README.md": "/index.md",
    "SECURITY.md": "/project/security.md",
}
"""Pages outside of this folder -> the page that includes them."""

# Names of packages that are no module of that name; autodoc imports modules.
PACKAGES = {
    "wire.gemini.types": gemini,
    "wire.openai.types": openai,
    "wire.openai.responses.types": responses,
    "wire.anthropic.types": anthropic,
    "wire.converse.types": converse,
    "wire.ollama.types": ollama,
    "wire.gemini.interactions.types": interactions,
    "wire.gemini.live.types": live,
    "wire.openai.realtime.types": realtime,
}
SEARCHED = ("wire", "wire.errors", "wire.tools", "wire.agent", "wire.sessions", "wire.testing")
"""Packages whose names docstrings use without the package."""

LONGEST_VALUE = 1_000
"""Characters of the value of a constant that a page shows."""
UNREADABLE = re.compile(r"<\w[^<>]*>")
"""A default that has no source text: `<factory>`."""

FACTS: dict[str, Facts] = {}
"""Package of a wire, struct and field, as in `wire.gemini.types.Part.text` -> its facts."""


def facts_as_text() -> None:
    """Move the facts of fields from the annotations, where they hide the type, to `FACTS`."""
    for package, types in PACKAGES.items():
        for struct in vars(types).values():
            if isinstance(struct, type) and issubclass(struct, WireStruct):
                facts = zip(struct.__struct_fields__, facts_of(struct).values(), strict=True)
                FACTS.update({f"{package}.{struct.__name__}.{name}": each for name, each in facts})
                hints = typing.get_type_hints(struct)
                struct.__annotations__ = {name: hints[name] for name in struct.__annotations__}


def docstring(
    app: Sphinx, kind: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Complete a docstring: the hosts and the first day of a field, the text of a constant, and the
    list of arguments below `Args:`.
    """
    facts = FACTS.get(name)
    if facts and (facts.hosts or facts.since):
        while lines and not lines[-1]:
            lines.pop()
        lines += [f"Host: {' or '.join(facts.hosts)}."] if facts.hosts else []
        lines += [f"Since {facts.since}."] if facts.since else []
    if kind == "data":
        lines[:] = text_of_constant(name.rpartition(".")[2], value)
    # Not as an extension: that takes the words before a colon in the text of a field for its type.
    if kind in ("class", "exception", "function", "method"):
        lines[:] = GoogleDocstring(lines, Config(), app, kind, name, value, options).lines()
    # "`Part`s": without the escape, the code does not end before a letter.
    lines[:] = [re.sub(r"(`[^`]+`)(?=[a-z])", r"\1\\ ", line) for line in lines]


def text_of_constant(name: str, value: object) -> list[str]:
    """Find the text below an assignment.

    autodoc looks for it in the package that offers the name, and finds the docstring of the
    value's class.
    """
    for module in list(sys.modules):
        if module.startswith("wire.") and vars(sys.modules[module]).get(name) is value:
            texts = ModuleAnalyzer.for_module(sys.modules[module].__name__).find_attr_docs()
            if text := texts.get(("", name)):
                return text
    return []


def signature(
    app: Sphinx, kind: str, name: str, value: object, options: object, given: str, returned: str
) -> tuple[str, str] | None:
    """Write a default that is made for each call as `...`. The fields of a message follow below
    its name, and are no part of it.
    """
    if not given:
        return None
    if kind == "class" and name.startswith(tuple(PACKAGES)):
        return "", ""
    return UNREADABLE.sub("...", given), returned


def full_names(app: Sphinx, page: nodes.document) -> None:
    """Complete the names of classes that annotations and docstrings write without their module.

    Sphinx alone would find several classes of one name, and fields called `type` and `object`. The
    `Part` of an annotation is a union, and no struct of a vendor.
    """
    for node in list(page.findall(pending_xref)):
        target = node["reftarget"]
        if hasattr(builtins, target) or target == "Part" or is_end_of_name(node):
            node.replace_self(node.children)
        elif node["refdomain"] == "py" and (name := full_name(node)):
            node["reftarget"] = name
            node.attributes.pop("refspecific", None)


def is_end_of_name(node: pending_xref) -> bool:
    """Return whether a docstring has the end of a name that stands before it, as in `.done`."""
    return bool(
        node["reftype"] == "obj" and node.get("refspecific") and node["reftarget"].islower()
    )


def full_name(node: pending_xref) -> str:
    """Return the name under which Sphinx knows a class or its member; empty if there is none.

    A class of the page's own package comes before one of `wire`.
    """
    first, _, member = node["reftarget"].removeprefix("wire.").partition(".")
    for package in (node.get("py:module"), *SEARCHED):
        owner = getattr(sys.modules.get(package), first, None) if first[:1].isupper() else None
        if isinstance(owner, type) and member:
            return f"{package}.{first}.{member}"
        if isinstance(owner, type):
            return f"{owner.__module__}.{owner.__qualname__}"
    return ""


def short_values(app: Sphinx, page: nodes.document) -> None:
    """Leave out the values of constants that are tables: a line of 100,000 characters."""
    for node in list(page.findall(desc_annotation)):
        if len(node.astext()) > LONGEST_VALUE:
            node.parent.remove(node)


def links_to_the_root(app: Sphinx, page: str, source: list[str]) -> None:
    """Lead links to a page of the repository's root to the site's copy of it."""
    for name, copy in ROOT_PAGES.items():
        source[0] = re.sub(rf"\]\((\.\./)*{re.escape(name)}", f"]({copy}", source[0])


def links_of_the_root(app: Sphinx, path: Path, page: str, source: list[str]) -> None:
    """Lead the links of such a page, which another one includes, too."""
    links_to_the_root(app, page, source)


def search_words(app: Sphinx, page: nodes.document) -> None:
    """Let the search find a page by the words of search_words.toml."""
    words = SEARCH_WORDS.get(app.env.current_document.docname, [])
    page.insert(0, index(entries=[("single", word, "", "main", None) for word in words]))


def setup(app: Sphinx) -> None:
    """Connect the functions above; Sphinx calls this."""
    sys.modules.update(PACKAGES)
    facts_as_text()
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)
    app.connect("doctree-read", full_names)
    app.connect("doctree-read", short_values)
    app.connect("doctree-read", search_words)
    app.connect("source-read", links_to_the_root)
    app.connect("include-read", links_of_the_root)
