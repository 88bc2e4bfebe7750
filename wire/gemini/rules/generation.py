"""What the server refuses in the generation config, beside a cache, in media and in the model's
name (G56 to G66, G79 to G82).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from wire.errors import Violation
from wire.gemini.families import NO_LOGPROBS, REFUSED_LEVELS, UNLISTED_LEVELS, budget
from wire.gemini.rules.rule_input import Plain, RuleInput

Found = Iterator[Violation]


def json_beside_tools(asked: RuleInput) -> Found:
    """G56: before 3."""
    if (
        asked.family.before(3)
        and asked.config.get("responseMimeType") == "application/json"
        and (asked.declared or asked.built_in)
    ):
        yield asked.refused(
            "G56" if asked.declared else "G56 tool", "generationConfig.responseMimeType"
        )


# --- thinking -------------------------------------------------------------------------------------

_LEVELS = ("THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH")


def _thinking(asked: RuleInput) -> Plain:
    return asked.config.get("thinkingConfig") or {}


def _level(asked: RuleInput) -> str:
    """The level by its name, however it is spelled."""
    level = _thinking(asked).get("thinkingLevel")
    if level is None:
        return ""
    if isinstance(level, int):
        level = _LEVELS[level] if 0 <= level < len(_LEVELS) else str(level)
    return str(level).upper().removeprefix("THINKING_LEVEL_")


def thinking_is_in_range(asked: RuleInput) -> Found:
    """G57: the budgets of 2.5; 3.x takes any, as far as recorded."""
    tokens, range_ = _thinking(asked).get("thinkingBudget"), budget(asked.family)
    if tokens is None or range_ is None or range_.takes(int(tokens)):
        return
    path = "generationConfig.thinkingConfig.thinkingBudget"
    if int(tokens) == 0:
        yield asked.refused("G57 off", path)
    else:
        yield asked.refused("G57", path, budget=tokens)


def one_thinking_control(asked: RuleInput) -> Found:
    """G58."""
    if _thinking(asked).get("thinkingBudget") is not None and _level(asked):
        yield asked.refused("G58", "generationConfig.thinkingConfig")


def level_is_known(asked: RuleInput) -> Found:
    """G59: a level on 2.5; one that a model of 3.x lacks."""
    level, family = _level(asked), asked.family
    if not level:
        return
    path = "generationConfig.thinkingConfig.thinkingLevel"
    if family.within((2, 5), (3, 0)):
        yield asked.refused("G59", path)
    elif family.version and level in REFUSED_LEVELS.get((family.version, family.variant), ()):
        yield asked.refused("G59 level", path, level=level)
    elif family.version and level in UNLISTED_LEVELS.get((family.version, family.variant), ()):
        yield asked.refused("G59 level", path, severity="warning", level=level)


# --- sampling -------------------------------------------------------------------------------------


def one_candidate(asked: RuleInput) -> Found:
    """G60: 3.x."""
    if asked.family.since(3) and int(asked.config.get("candidateCount") or 1) > 1:
        yield asked.refused("G60", "generationConfig.candidateCount")


def no_penalties(asked: RuleInput) -> Found:
    """G61: from 2.5 on, the Gemini API."""
    for name in ("frequencyPenalty", "presencePenalty"):
        if asked.gemini and asked.family.since(2, 5) and asked.config.get(name):
            yield asked.refused("G61", f"generationConfig.{name}", model=asked.model_name)


def log_probabilities(asked: RuleInput) -> Found:
    """G79, G80: not in a stream, and not of every model; the Gemini API."""
    name = next((name for name in ("responseLogprobs", "logprobs") if asked.config.get(name)), None)
    if name is None or not asked.gemini:
        return
    if asked.endpoint == "streamGenerateContent":
        yield asked.refused("G80", f"generationConfig.{name}")
    elif asked.model.rpartition("/")[2] in NO_LOGPROBS:
        yield asked.refused("G79", f"generationConfig.{name}")


def temperature_is_in_range(asked: RuleInput) -> Found:
    """G82: Vertex."""
    temperature = asked.config.get("temperature")
    if asked.vertex and temperature is not None and not 0 <= float(temperature) < 2.0001:
        temperature = int(temperature) if float(temperature).is_integer() else temperature
        yield asked.refused("G82", "generationConfig.temperature", temperature=temperature)


def cache_holds_the_rest(asked: RuleInput) -> Found:
    """G62."""
    if asked.plain.get("cachedContent") is None:
        return
    for name in ("systemInstruction", "tools", "toolConfig"):
        if asked.plain.get(name) is not None:
            yield asked.refused(
                "G62", name, "what cached content holds cannot stand in the request too"
            )


# --- the model's name -----------------------------------------------------------------------------

_MODEL = re.compile(r"[A-Za-z0-9_.@:/<>-]+")


def model_is_a_name(asked: RuleInput) -> Found:
    """G81: a space or another odd character."""
    if asked.gemini and asked.model and not _MODEL.fullmatch(asked.model):
        yield asked.refused("G81", "model", f"{asked.model!r} is no model name")


# --- media ----------------------------------------------------------------------------------------

_MIME = re.compile(r"[\w.+-]+/[\w.+-]+\s*(;.*)?")
_UNSUPPORTED = frozenset({"image/jpg", "image/svg+xml"})
_UNSUPPORTED_WITHOUT_A_WORD = frozenset({"image/bmp", "image/tiff"})
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*")


def media_are_of_a_type(asked: RuleInput) -> Found:
    """G64: a type that is none, and those that were seen to be refused; which others are is not
    told.
    """
    for path, mime, _ in asked.media:
        if mime in _UNSUPPORTED_WITHOUT_A_WORD:
            yield asked.refused("G64 bare", f"{path}.mimeType", f"{mime} is not read")
        elif mime and (mime in _UNSUPPORTED or not _MIME.fullmatch(mime)):
            yield asked.refused("G64", f"{path}.mimeType", mime=mime)


def images_are_images(asked: RuleInput) -> Found:
    """G66: by the first bytes."""
    for path, mime, data in asked.media:
        if data and mime.startswith("image/") and mime not in _UNSUPPORTED and not _is_image(data):
            yield asked.refused("G66", f"{path}.data")


def _is_image(data: str) -> bool:
    try:
        head = base64.b64decode(
            re.sub(r"\s", "", data[:64]).translate(_STANDARD)[:20] + "==", validate=False
        )
    except (ValueError, binascii.Error):
        return True  # the parser has said so
    return head.startswith(_IMAGES) or head[4:8] == b"ftyp"


_STANDARD = str.maketrans("-_", "+/")
