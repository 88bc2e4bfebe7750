"""Batches and uploaded files of the neutral door."""

from __future__ import annotations

from wire.core.flow import Flow
from wire.core.provider import Provider
from wire.neutral.batches import Upload
from wire.neutral.messages import Media
from wire.openai.chat.rendering import reply_call as reply_call
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


def upload(upload: Upload, model: str, row: Provider) -> Flow[Media]:
    """Return a flow that uploads a file and returns media that refer to it.

    Raises `RuleError` for another type than PDF: chat completions have an id of a file in the place
    of a document only.
    """
    if upload.media_type != "application/pdf":
        words = (
            "chat completions refer to PDF files only; Responses take images and other documents"
        )
        raise refused_type(f"{upload.media_type}: {words}")
    return (yield from uploaded(upload, "user_data"))
