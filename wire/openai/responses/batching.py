"""Batches and uploaded files of the neutral door."""

from __future__ import annotations

from wire.core.flow import Flow
from wire.core.provider import Provider
from wire.neutral.batches import Upload
from wire.neutral.messages import Media
from wire.openai.common.batching import MAX_BYTES as MAX_BYTES
from wire.openai.common.batching import MAX_REQUESTS as MAX_REQUESTS
from wire.openai.common.batching import batch_results as batch_results
from wire.openai.common.batching import cancel_batch as cancel_batch
from wire.openai.common.batching import create_batch as create_batch
from wire.openai.common.batching import delete_file as delete_file
from wire.openai.common.batching import file_reference as file_reference
from wire.openai.common.batching import find_batch as find_batch
from wire.openai.common.batching import get_batch as get_batch
from wire.openai.common.batching import newest_batch as newest_batch
from wire.openai.common.batching import refused_type, uploaded
from wire.openai.responses.rendering import reply_call as reply_call


def upload(upload: Upload, model: str, row: Provider) -> Flow[Media]:
    """Return a flow that uploads a file and returns media that refer to it.

    Raises `RuleError` for sound and video, which Responses do not have.
    """
    if upload.media_type.startswith(("audio/", "video/")):
        raise refused_type(f"expected an image or a document, not {upload.media_type}")
    purpose = "vision" if upload.media_type.startswith("image/") else "user_data"
    return (yield from uploaded(upload, purpose))
