"""Images as calls: bodies and forms, what hosts refuse, streams that are whole or an error."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from wire.core.facts import facts_of
from wire.core.limits import Limits
from wire.core.memory import encode
from wire.errors import APIError, ConfigurationError, RuleError, StreamIncomplete
from wire.openai import (
    GeneratedImage,
    ImageList,
    ImageReference,
    ImageRequest,
    edit_images,
    generate_images,
    stream_image_edits,
    stream_images,
)
from wire.openai.common.media_streams import ImageReader, fold_images
from wire.providers import PROVIDERS

PNG = b"\x89PNG\r\n\x1a\npixels"
PACKED = base64.b64encode(PNG).decode()
CAT = ImageRequest(model="gpt-image-2", prompt="A cat")


def frames(*events: Any) -> bytes:
    return b"".join(b"data: " + msgspec.json.encode(each) + b"\n\n" for each in events)


def partial(number: int) -> dict[str, Any]:
    return {
        "type": "image_generation.partial_image",
        "b64_json": PACKED,
        "partial_image_index": number,
    }


COMPLETED = {"type": "image_generation.completed", "b64_json": PACKED, "created_at": 7}


# --- requests -------------------------------------------------------------------------------------


def test_an_edit_is_a_form_with_its_fields_before_its_files() -> None:
    request = ImageRequest(model="gpt-image-2", prompt="Blue", n=2)
    call = edit_images(request, [PNG, b"GIF89a"], mask=PNG, boundary="b")
    body = b"".join(call.form or ())
    lines = [line for line in body.split(b"\r\n") if line.startswith(b"Content-Disposition")]
    assert lines == [
        b'Content-Disposition: form-data; name="prompt"',
        b'Content-Disposition: form-data; name="model"',
        b'Content-Disposition: form-data; name="n"',
        b'Content-Disposition: form-data; name="image[]"; filename="image.png"',
        b'Content-Disposition: form-data; name="image[]"; filename="image.gif"',
        b'Content-Disposition: form-data; name="mask"; filename="mask.png"',
    ]
    assert b"Content-Type: image/gif\r\n\r\nGIF89a\r\n" in body
    assert call.headers == {"content-type": "multipart/form-data; boundary=b"}
    assert len(call.form or ()) == len(body)


def test_one_picture_is_no_list() -> None:
    call = edit_images(ImageRequest(model="gpt-image-2", prompt="Blue"), PNG, boundary="b")
    assert b'name="image"; filename="image.png"' in b"".join(call.form or ())


def test_an_edit_of_urls_is_json() -> None:
    reference = ImageReference(image_url="https://example.com/a.png")
    call = edit_images(ImageRequest(model="gpt-image-2", prompt="Blue", images=[reference]))
    assert (call.form, call.path) == (None, "/images/edits")
    assert json.loads(call.body)["images"] == [{"image_url": "https://example.com/a.png"}]


def test_an_edit_needs_a_picture_and_a_mask_goes_with_files() -> None:
    with pytest.raises(RuleError, match=r"^pictures: expected at least one picture to edit$"):
        edit_images(CAT)
    reference = ImageReference(image_url="https://example.com/a.png")
    request = ImageRequest(model="gpt-image-2", prompt="Blue", images=[reference])
    with pytest.raises(RuleError, match=r"^mask: a file goes with uploaded pictures"):
        edit_images(request, mask=PNG)


def test_a_file_whose_type_nobody_knows_needs_a_name() -> None:
    with pytest.raises(RuleError, match=r"^filename: required"):
        edit_images(CAT, b"no picture")


def test_a_call_that_does_not_stream_refuses_a_stream() -> None:
    request = ImageRequest(model="gpt-image-2", prompt="A cat", stream=True)
    with pytest.raises(RuleError, match=r"stream: this call does not stream \(use stream_images"):
        generate_images(request)
    assert json.loads(stream_images(CAT).body)["stream"] is True
    assert json.loads(stream_images(CAT).body)["prompt"] == "A cat"


@pytest.mark.parametrize(
    ("provider", "path"),
    [
        ("openai", "/images/generations"),
        ("azure", "/images/generations"),
        ("openrouter", "/images"),
        ("together", "/images/generations"),
    ],
)
def test_the_path_is_that_of_the_host(provider: str, path: str) -> None:
    assert generate_images(CAT).judge(PROVIDERS[provider]).path == path


def test_a_host_without_images_is_refused_with_those_that_have_them() -> None:
    with pytest.raises(ConfigurationError, match=r"call: this host makes no images; these do: ope"):
        generate_images(CAT).judge(PROVIDERS["groq"])
    with pytest.raises(ConfigurationError, match=r"call: this host edits no pictures"):
        edit_images(CAT, PNG).judge(PROVIDERS["together"])


# --- what hosts refuse ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        # Recorded refusals of OpenAI.
        (
            {"prompt": ""},
            "prompt: Invalid 'prompt': empty string. Expected a string with minimum length 1, "
            "but got an empty string instead.",
        ),
        (
            {"model": "gpt-image-1-mini", "size": "3x3"},
            "size: Invalid size '3x3'. Supported sizes are 1024x1024, 1024x1536, 1536x1024, "
            "and auto.",
        ),
        (
            {"model": "gpt-image-1-mini", "output_format": "bmp"},
            "output_format: Invalid value: 'bmp'. Supported values are: 'png', 'webp', and 'jpeg'.",
        ),
        # Reported refusals.
        ({"response_format": "url"}, "response_format: Unknown parameter: 'response_format'."),
        # By the SDK's words.
        (
            {"n": 11},
            "n: Invalid 'n': integer above maximum value. Expected a value <= 10, but got 11 "
            "instead.",
        ),
        (
            {"prompt": "a" * 32_001},
            "prompt: Invalid 'prompt': string too long. Expected a string with maximum length "
            "32000, but got a string with length 32001 instead.",
        ),
        ({"aspect_ratio": "1:1"}, "aspect_ratio: Unknown parameter: 'aspect_ratio'."),
        (
            {"partial_images": 2},
            "partial_images: 'partial_images' is only supported when 'stream' is true.",
        ),
        (
            {"background": "transparent", "output_format": "jpeg"},
            "background: Transparent background is not supported for 'jpeg' output format.",
        ),
        (
            {"quality": "best"},
            "quality: Invalid value: 'best'. Supported values are: 'low', 'medium', 'high', and "
            "'auto'.",
        ),
    ],
)
def test_what_openai_refuses_is_told_before_sending(fields: dict[str, Any], refused: str) -> None:
    call = generate_images(msgspec.structs.replace(CAT, **fields))
    with pytest.raises(RuleError) as caught:
        call.judge(PROVIDERS["openai"])
    assert [str(each) for each in caught.value.violations] == [refused]
    unchecked = generate_images(msgspec.structs.replace(CAT, **fields), checked=False)
    assert unchecked.judge(PROVIDERS["openai"]).body == call.body


def test_a_model_without_a_row_is_not_judged_by_one() -> None:
    request = ImageRequest(model="gpt-image-9", prompt="A cat", quality="best", size="1x1", n=99)
    assert generate_images(request).judge(PROVIDERS["openai"]).path == "/images/generations"


def test_more_pictures_than_openai_takes() -> None:
    with pytest.raises(RuleError, match="maximum length 16, but got an array with length 17"):
        edit_images(CAT, [PNG] * 17).judge(PROVIDERS["openai"])


def test_other_hosts_have_their_own_words() -> None:
    request = ImageRequest(model="grok-imagine-image", prompt="A cat", aspect_ratio="5:1")
    with pytest.raises(RuleError, match=r"aspect_ratio: Invalid value: '5:1'"):
        generate_images(request).judge(PROVIDERS["xai@chat"])
    sized = ImageRequest(model="black-forest-labs/FLUX.2-dev", prompt="A cat", width=64, height=64)
    assert generate_images(sized).judge(PROVIDERS["together"]).body


# --- responses ------------------------------------------------------------------------------------


def test_a_response_keeps_its_bytes_and_its_unknown_keys() -> None:
    body = b'{"created": 7, "data": [{"b64_json": "aGk=", "mood": "calm"}]}'
    images = generate_images(CAT).parse(body)
    assert images == ImageList(created=7, data=[GeneratedImage(b64_json="aGk=")])
    assert bytes(images.raw or b"") == body


def test_an_error_in_a_200_is_one() -> None:
    with pytest.raises(APIError, match="No credit"):
        generate_images(CAT).parse(b'{"error": {"message": "No credit", "code": 402}}')


def test_ticks_of_xai_are_the_price() -> None:
    body = b'{"data": [{"url": "https://x"}], "usage": {"cost_in_usd_ticks": 200000000}}'
    vendor = generate_images(CAT).parse(body).charges().vendor
    assert vendor is not None
    assert str(vendor.total) == "0.0200000000"


# --- streams --------------------------------------------------------------------------------------


def read(body: bytes, asked: int = 1) -> tuple[ImageReader, list[Any]]:
    reader = ImageReader(Limits(), asked)
    chunks = [*reader.feed(body), *reader.close()]
    return reader, chunks


def test_a_stream_folds_to_the_whole_response() -> None:
    usage = {"input_tokens": 2, "output_tokens": 272, "total_tokens": 274}
    completed = {**COMPLETED, "quality": "low", "usage": usage, "mood": "calm"}
    reader, chunks = read(frames(partial(0), partial(1), completed))
    assert reader.error is None
    assert [each.partial_image_index for each in chunks] == [0, 1, None]
    images = fold_images([msgspec.Raw(encode(each)) for each in chunks])
    assert (images.created, images.quality) == (7, "low")
    assert [each.b64_json for each in images.data or ()] == [PACKED]
    assert images.usage is not None
    assert images.usage.total_tokens == 274
    assert json.loads(images.raw or b"")["mood"] == "calm"


def test_each_cut_before_the_image_is_an_error() -> None:
    body = frames(partial(0), COMPLETED)
    end = body.rindex(b"data:")
    for cut in range(end):
        reader, _ = read(body[:cut])
        assert isinstance(reader.error, StreamIncomplete), cut
    reader, _ = read(body)
    assert reader.error is None


def test_fewer_images_than_asked_for_are_whole_at_the_end_and_not_when_the_stream_breaks() -> None:
    reader, chunks = read(frames(COMPLETED), asked=2)
    assert (reader.error, reader.finished, len(chunks)) == (None, False, 1)
    reader, _ = read(frames(COMPLETED, COMPLETED), asked=2)
    assert reader.finished


def test_an_error_event_ends_the_stream() -> None:
    told = {"type": "error", "error": {"message": "Blocked.", "code": "moderation_blocked"}}
    reader, _ = read(frames(partial(0), told))
    assert isinstance(reader.error, APIError)
    assert (reader.error.message, reader.error.code) == ("Blocked.", "moderation_blocked")


def test_a_whole_response_in_place_of_events() -> None:
    reader, chunks = read(b'{"created": 7, "data": [{"b64_json": "aGk="}]}')
    assert reader.error is None
    images = fold_images([msgspec.Raw(encode(each)) for each in chunks])
    assert images.data == [GeneratedImage(b64_json="aGk=")]


def test_the_partial_of_a_broken_stream_is_the_last_partial_image() -> None:
    _, chunks = read(frames(partial(0)))
    images = fold_images([msgspec.Raw(encode(each)) for each in chunks])
    assert [each.b64_json for each in images.data or ()] == [PACKED]


def test_streams_of_edits_are_forms() -> None:
    call = stream_image_edits(CAT, PNG, boundary="b")
    assert b'name="stream"\r\n\r\ntrue\r\n' in b"".join(call.form or ())


# --- fields ---------------------------------------------------------------------------------------

# openai 3.57.0, types/image_generate_params.py and image_edit_params.py.
OPENAI = {
    "background",
    "complexity",
    "frame_count",
    "frame_duration_ms",
    "input_fidelity",
    "mask",
    "model",
    "moderation",
    "n",
    "output_compression",
    "output_format",
    "partial_images",
    "prompt",
    "quality",
    "response_format",
    "safety_identifier",
    "size",
    "stream",
    "style",
    "svg",
    "user",
    "images",
}
OTHERS = {
    "xai": {"aspect_ratio", "resolution", "image"},
    "openrouter": {
        *("aspect_ratio", "resolution", "input_references", "provider", "seed"),
        *("session_id", "trace"),
    },
    "together": {
        *("disable_safety_checker", "guidance_scale", "height", "image_loras", "image_url"),
        *("negative_prompt", "reference_images", "seed", "steps", "width"),
    },
}


def test_the_fields_are_those_of_the_sdks() -> None:
    hosts = {name: set(facts.hosts) for name, facts in facts_of(ImageRequest).items()}
    assert {name for name, found in hosts.items() if not found} == OPENAI
    for host, names in OTHERS.items():
        assert {name for name, found in hosts.items() if host in found} == names
