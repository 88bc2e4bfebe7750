"""Images: generated, edited, streamed.

Sources: openai 3.57.0, types/image*.py; together 3.1.1, types/image*.py; openrouter 1.3.84,
components/imagegeneration*.py; recorded traffic of OpenAI, xAI and Together; read on 2026-11-29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from wire.core.facts import SDK, TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIRequestStruct, OpenAIStruct

if TYPE_CHECKING:
    from wire.catalogue.cost import Charges

_TOGETHER = Facts(hosts=("together",), source=SDK)
_ROUTER = Facts(hosts=("openrouter",), source=SDK)
_SHAPED = Facts(hosts=("openrouter", "xai"), source=SDK)


class ImageRequest(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Body of image generation, and of edits; the fields of the form of edits.

    Each host has some of the fields only.
    """

    prompt: str | None = None
    model: str | None = None
    """`gpt-image-2`."""
    images: list[ImageReference] | None = None
    """Of edits without uploads: the pictures to edit."""
    mask: ImageReference | None = None
    """Of edits without uploads: where the first picture is edited, by transparent areas."""
    n: int | None = None
    """How many images: 1 to 10."""
    size: str | None = None
    """`auto`, or `WIDTHxHEIGHT`."""
    quality: str | None = None
    """`auto`, `low`, `medium`, `high`; of some models also `xhigh` and `max`."""
    background: str | None = None
    """`auto`, `opaque`, `transparent`."""
    output_format: str | None = None
    """`png`, `jpeg`, `webp`; of some models `gif` and `svg`."""
    output_compression: int | None = None
    """0 to 100, of `jpeg` and `webp`."""
    moderation: str | None = None
    """`auto`, `low`."""
    input_fidelity: str | None = None
    """Of edits: how closely the features of the pictures are kept, `low` or `high`."""
    complexity: str | None = None
    """How much the image is planned: `low`, `medium`, `high`."""
    frame_count: int | None = None
    """Of `gif`: 2 to 16."""
    frame_duration_ms: int | None = None
    """Of `gif`."""
    svg: dict[str, Any] | None = None
    """Of `svg`: who writes it, `model` and `reasoning.effort`."""
    stream: bool | None = None
    partial_images: int | None = None
    """Of a stream: how many images before the last one, 0 to 3."""
    response_format: str | None = None
    """Of hosts that send URLs: `url`, or `b64_json`; at Together `base64`."""
    style: str | None = None
    """Of DALL-E 3: `vivid`, `natural`."""
    safety_identifier: str | None = None
    """A stable id of the user, without personal data."""
    user: str | None = None
    """The older name of `safety_identifier`."""
    aspect_ratio: Annotated[str | None, _SHAPED] = None
    """`16:9`."""
    resolution: Annotated[str | None, _SHAPED] = None
    """`1K`, `2K`, `4K`."""
    image: Annotated[ImageReference | None, Facts(hosts=("xai",), source=SDK)] = None
    """The one picture to edit."""
    input_references: Annotated[list[ImagePart] | None, _ROUTER] = None
    """Pictures that guide the image."""
    provider: Annotated[dict[str, Any] | None, _ROUTER] = None
    """As `ChatCompletionRequest.provider`."""
    session_id: Annotated[str | None, _ROUTER] = None
    trace: Annotated[dict[str, Any] | None, _ROUTER] = None
    seed: Annotated[int | None, Facts(hosts=("openrouter", "together"), source=TRAFFIC)] = None
    width: Annotated[int | None, _TOGETHER] = None
    height: Annotated[int | None, _TOGETHER] = None
    steps: Annotated[int | None, _TOGETHER] = None
    guidance_scale: Annotated[float | None, _TOGETHER] = None
    negative_prompt: Annotated[str | None, _TOGETHER] = None
    image_url: Annotated[str | None, _TOGETHER] = None
    """The picture to begin with."""
    reference_images: Annotated[list[str] | None, _TOGETHER] = None
    """URLs of pictures that guide the image."""
    image_loras: Annotated[list[dict[str, Any]] | None, _TOGETHER] = None
    disable_safety_checker: Annotated[bool | None, _TOGETHER] = None


class ImageReference(OpenAIStruct, frozen=True, kw_only=True):
    """A picture to edit that is not uploaded with the request."""

    image_url: str | None = None
    """An http(s) URL, or a data URL."""
    file_id: str | None = None
    """A file that was uploaded before."""
    type: Annotated[str | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    """`image_url`."""
    url: Annotated[str | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    """xAI's name of `image_url`."""


class ImagePart(OpenAIStruct, frozen=True, kw_only=True):
    """A picture as a part of a message has it."""

    type: str | None = None
    """`image_url`."""
    image_url: dict[str, Any] | None = None
    """`url`: an http(s) URL, or a data URL."""


class ImageList(OpenAIStruct, frozen=True, kw_only=True):
    """Response of image generation and of edits."""

    created: int | None = None
    """Unix time."""
    data: list[GeneratedImage] | None = None
    background: str | None = None
    """`opaque`, `transparent`."""
    output_format: str | None = None
    quality: str | None = None
    size: str | None = None
    """`WIDTHxHEIGHT`."""
    usage: ImageUsage | None = None
    svg_usage: dict[str, Any] | None = None
    """Tokens of the author of an SVG."""
    safety_identifier: str | None = None
    id: Annotated[str | None, Facts(hosts=("together",), source=TRAFFIC)] = None
    model: Annotated[str | None, Facts(hosts=("together",), source=TRAFFIC)] = None
    object: Annotated[str | None, Facts(hosts=("together",), source=TRAFFIC)] = None
    """`list`."""

    def charges(self) -> Charges:
        """Return the facts of the response, besides its token counts, that decide its price."""
        from wire.catalogue.cost import Charges, vendor_figure

        usage = self.usage or ImageUsage()
        return Charges(vendor=vendor_figure(usage.cost, ticks=usage.cost_in_usd_ticks))


class GeneratedImage(OpenAIStruct, frozen=True, kw_only=True):
    """One image, as base64 or as a URL."""

    b64_json: str | None = None
    url: str | None = None
    """OpenAI's end after an hour."""
    revised_prompt: str | None = None
    """The prompt that was drawn, of models that change it."""
    mime_type: Annotated[str | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    media_type: Annotated[str | None, _ROUTER] = None
    index: Annotated[int | None, Facts(hosts=("together",), source=TRAFFIC)] = None
    type: Annotated[str | None, _TOGETHER] = None
    """`b64_json`, `url`."""
    timings: Annotated[dict[str, Any] | None, Facts(hosts=("together",), source=TRAFFIC)] = None


class ImageUsage(OpenAIStruct, frozen=True, kw_only=True):
    """Token counts, or the price."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    input_tokens_details: ImageTokens | None = None
    output_tokens_details: ImageTokens | None = None
    cost_in_usd_ticks: Annotated[int | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    """10^10 ticks are one USD."""
    prompt_tokens: Annotated[int | None, _ROUTER] = None
    """OpenRouter's name of `input_tokens`."""
    completion_tokens: Annotated[int | None, _ROUTER] = None
    """OpenRouter's name of `output_tokens`."""
    cost: Annotated[float | None, _ROUTER] = None
    """In USD."""


class ImageTokens(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens by kind of media."""

    image_tokens: int | None = None
    text_tokens: int | None = None


class ImageEvent(OpenAIStruct, frozen=True, kw_only=True):
    """An event of a stream."""

    type: str | None = None
    """`image_generation.partial_image`, `image_generation.completed`, and the same of
    `image_edit`; `image_generation.text_chunk` at OpenRouter. Absent in a whole response that came
    in place of events."""
    b64_json: str | None = None
    partial_image_index: int | None = None
    """Number of a partial image, from 0 on."""
    created_at: int | None = None
    """Unix time."""
    created: Annotated[int | None, _ROUTER] = None
    """OpenRouter's name of `created_at`."""
    background: str | None = None
    output_format: str | None = None
    quality: str | None = None
    size: str | None = None
    usage: ImageUsage | None = None
    """Of the last event."""
    safety_identifier: str | None = None
    media_type: Annotated[str | None, _ROUTER] = None
    phase: Annotated[str | None, _ROUTER] = None
    """Of a text: `content`, `reasoning`, `draft`."""
    text: Annotated[str | None, _ROUTER] = None
    """A piece of an image that is a text, such as SVG."""
    data: list[GeneratedImage] | None = None
    """Of a whole response."""
