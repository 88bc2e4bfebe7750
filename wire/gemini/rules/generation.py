"""Rules about the generation config, cached content, media and the name of the model (G56 to G66,
G79 to G82, G86).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from wire.catalogue.abilities import longest_output, unread
from wire.catalogue.facts import is_in, names_of
from wire.core.errors import Violation
from wire.core.lazy import lazy_pattern
from wire.gemini.families import budget
from wire.gemini.lifetimes import is_shut_down, lifetime
from wire.gemini.rules.rule_input import Plain, RuleInput

Violations = Iterator[Violation]


def json_beside_tools(request: RuleInput) -> Violations:
    """G56: models before 3 refuse JSON together with tools."""
    if (
        not request.family.takes_json_beside_tools
        and request.config.get("responseMimeType") == "application/json"
        and (request.functions or request.built_in)
    ):
        yield request.violation(
            "G56" if request.functions else "G56 tool", "generationConfig.responseMimeType"
        )


# --- thinking -------------------------------------------------------------------------------------

_LEVELS = ("THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")


def _thinking(request: RuleInput) -> Plain:
    return request.config.get("thinkingConfig") or {}


def _level(request: RuleInput) -> str:
    """Return the name of the thinking level, whatever its spelling."""
    level = _thinking(request).get("thinkingLevel")
    if level is None:
        return ""
    if isinstance(level, int):
        level = _LEVELS[level] if 0 <= level < len(_LEVELS) else str(level)
    return str(level).upper().removeprefix("THINKING_LEVEL_")


def thinking_is_in_range(request: RuleInput) -> Violations:
    """G57: the ranges of 2.5. 3.x accepts any budget that was recorded, and 4 has none."""
    tokens, range_ = _thinking(request).get("thinkingBudget"), budget(request.family)
    known, path = request.family.known, "generationConfig.thinkingConfig.thinkingBudget"
    if tokens is None:
        return
    if known.budget is False:
        yield request.violation("G57 none", path, severity=known.severity("budget"))
    elif range_ is None:
        # Vertex takes 0 for a model that cannot stop thinking, and does not think then.
        if request.gemini and int(tokens) == 0 and known.off == "refused":
            yield request.violation("G57 off", path, severity=known.severity("off"))
    elif range_.accepts(int(tokens)):
        return
    elif int(tokens) == 0:
        yield request.violation("G57 off", path)
    else:
        yield request.violation("G57", path, budget=tokens)


def one_thinking_control(request: RuleInput) -> Violations:
    """G58: a request sets a thinking budget or a thinking level, not both."""
    if _thinking(request).get("thinkingBudget") is not None and _level(request):
        yield request.violation("G58", "generationConfig.thinkingConfig")


def level_is_known(request: RuleInput) -> Violations:
    """G59: 2.5 refuses a level, and models of 3.x refuse some levels."""
    level, family = _level(request), request.family
    if not level:
        return
    path, known = "generationConfig.thinkingConfig.thinkingLevel", family.known
    if family.within((2, 5), (3, 0)):
        yield request.violation("G59", path)
    elif known.efforts and level in _LEVELS and level.lower() not in known.efforts:
        severity = known.severity("efforts")
        yield request.violation("G59 level", path, severity=severity, level=level)


# --- sampling -------------------------------------------------------------------------------------


def sampling_is_read(request: RuleInput) -> Violations:
    """G87: models since 3.6 answer, and ignore how their tokens should be drawn."""
    known = request.family.known
    for name in ("temperature", "topP", "topK") if known.sampling == "ignored" else ():
        if request.config.get(name) is not None:
            yield request.violation("G87", f"generationConfig.{name}", severity="warning")


def output_is_not_too_long(request: RuleInput) -> Violations:
    """G89: the model can write as many tokens."""
    tokens = int(request.config.get("maxOutputTokens") or 0)
    longest = longest_output("gemini", request.model, tokens)
    if longest is not None and tokens > longest:
        path = "generationConfig.maxOutputTokens"
        yield request.violation("G89", path, tokens=tokens, end=longest + 1)


def one_candidate(request: RuleInput) -> Violations:
    """G60: 3.x refuses several candidates."""
    if request.family.since(3) and int(request.config.get("candidateCount") or 1) > 1:
        yield request.violation("G60", "generationConfig.candidateCount")


def no_penalties(request: RuleInput) -> Violations:
    """G61: the Gemini API refuses penalties from 2.5 on."""
    for name in ("frequencyPenalty", "presencePenalty"):
        if request.gemini and request.family.since(2, 5) and request.config.get(name):
            yield request.violation("G61", f"generationConfig.{name}", model=request.model_name)


def log_probabilities(request: RuleInput) -> Violations:
    """G79, G80: the Gemini API refuses log probabilities in streams, and on some models."""
    name = next(
        (name for name in ("responseLogprobs", "logprobs") if request.config.get(name)), None
    )
    if name is None or not request.gemini:
        return
    if request.endpoint == "streamGenerateContent":
        yield request.violation("G80", f"generationConfig.{name}")
    elif is_in("gemini.no-logprobs", request.model.rpartition("/")[2]):
        yield request.violation("G79", f"generationConfig.{name}")


def temperature_is_in_range(request: RuleInput) -> Violations:
    """G82: Vertex refuses a temperature outside 0 to 2."""
    temperature = request.config.get("temperature")
    if request.vertex and temperature is not None and not 0 <= float(temperature) < 2.0001:
        temperature = int(temperature) if float(temperature).is_integer() else temperature
        yield request.violation("G82", "generationConfig.temperature", temperature=temperature)


def cached_content_stands_alone(request: RuleInput) -> Violations:
    """G62, G88: a request with cached content has no system instruction, tools or tool config of
    its own, and is for a model that has caches.
    """
    if request.plain.get("cachedContent") is None:
        return
    known = request.family.known
    if known.caches is False:
        severity = known.severity("caches")
        yield request.violation("G88", "cachedContent", severity=severity, model=request.model_name)
    for name in ("systemInstruction", "tools", "toolConfig"):
        if request.plain.get(name) is not None:
            yield request.violation("G62", name, "cached content excludes this field")


# --- the model's name -----------------------------------------------------------------------------

_MODEL = lazy_pattern(r"[A-Za-z0-9_.@:/<>-]+")


def model_is_a_name(request: RuleInput) -> Violations:
    """G81: a space or another character that no model name has."""
    if request.gemini and request.model and not _MODEL().fullmatch(request.model):
        yield request.violation("G81", "model", f"{request.model!r} is not a model name")


def model_is_served(request: RuleInput) -> Violations:
    """G86: the model generates contents, and has not been shut down.

    A shutdown is a warning: its day is documented, and answers from before that day were recorded.
    Vertex has other days.
    """
    name = request.model.removeprefix("models/")
    if not request.gemini or "/" in name:  # a tuned model may have any name
        return
    days = lifetime(name)
    if names_of("gemini.no-contents").fullmatch(name):
        yield request.violation(
            "G86", "model", model=name, version=request.version, method="generateContent"
        )
    elif is_shut_down(name) and not days.routed:
        yield request.violation(
            "G86",
            "model",
            f"models/{name} was shut down on {days.end()}; Google recommends {days.successor}",
            "warning",
            model=name,
            version=request.version,
            method="generateContent",
        )


# --- media ----------------------------------------------------------------------------------------

_MIME = lazy_pattern(r"[\w.+-]+/[\w.+-]+\s*(;.*)?")
# Types that were refused in recorded traffic: with the text of G64, and with a text that names no
# type.
_UNSUPPORTED = frozenset({"image/jpg", "image/svg+xml"})
_UNSUPPORTED_WITH_VAGUE_ERROR = frozenset({"image/bmp", "image/tiff"})
# First bytes of PNG, JPEG, GIF, WebP, BMP and TIFF. Those of HEIC and AVIF are checked below.
_KINDS = ("image", "audio", "video")
_IMAGE_SIGNATURES = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"BM",
    b"II*\0",
    b"MM\0*",
)


def media_are_of_a_type(request: RuleInput) -> Violations:
    """G64: malformed types, and types that were refused in recorded traffic. Google does not
    publish the list of accepted types.
    """
    for path, mime, _ in request.media:
        if mime in _UNSUPPORTED_WITH_VAGUE_ERROR:
            yield request.violation("G64 bare", f"{path}.mimeType", f"Gemini does not read {mime}")
        elif mime and (mime in _UNSUPPORTED or not _MIME().fullmatch(mime)):
            yield request.violation("G64", f"{path}.mimeType", mime=mime)


def media_are_read(request: RuleInput) -> Violations:
    """G90: (warning) the model reads the images, the sound and the videos of the contents."""
    for path, mime, _ in request.media:
        kind = mime.partition("/")[0]
        if kind in _KINDS and (problem := unread(request.model, kind, "gemini")):
            yield request.violation("G90", path, problem, "warning")


def images_are_images(request: RuleInput) -> Violations:
    """G66: the first bytes of an image must be those of an image format."""
    for path, mime, data in request.media:
        if data and mime.startswith("image/") and mime not in _UNSUPPORTED and not _is_image(data):
            yield request.violation("G66", f"{path}.data")


def _is_image(data: str) -> bool:
    """Return whether base64 data begins like an image.

    20 characters are decoded, which are 15 bytes.
    """
    try:
        head = base64.b64decode(
            re.sub(r"\s", "", data[:64]).translate(_STANDARD)[:20] + "==", validate=False
        )
    except (ValueError, binascii.Error):
        return True  # the parser reports it
    return head.startswith(_IMAGE_SIGNATURES) or head[4:8] == b"ftyp"


_STANDARD = str.maketrans("-_", "+/")  # the URL-safe alphabet of base64 -> the standard one
