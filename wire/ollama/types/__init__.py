"""The messages of Ollama's own API, token counts and errors as structs.

Sources: `api/types.go` and `docs/` of ollama/ollama @fb30760 (August 2026), called the reference
here; ollama 0.6.3 of PyPI; recorded traffic.

Rules of this folder:

- snake_case on the wire and here. Fields are keyword-only and optional: `None` is not sent; `0`,
  `False`, `""` and `[]` are sent. `null` is decoded as `None`.
- A line of a stream has the form of a whole answer, so both are one struct.
- Enums are text, so that unknown values can be read; docstrings list the known values.
- base64 is text and is not decoded.
"""

from wire.ollama.types.answer import (
    ChatResponse,
    DeleteResponse,
    EmbedResponse,
    GenerateResponse,
    ListedModel,
    Logprob,
    ModelDetails,
    Progress,
    PsResponse,
    RunningModel,
    ShowResponse,
    TagsResponse,
    TokenLogprob,
    VersionResponse,
)
from wire.ollama.types.base import (
    OllamaStruct,
)
from wire.ollama.types.content import (
    Message,
    Tool,
    ToolCall,
    ToolCallFunction,
    ToolFunction,
)
from wire.ollama.types.errors import (
    ErrorBody,
    ErrorObject,
)
from wire.ollama.types.request import (
    ChatRequest,
    DeleteRequest,
    EmbedRequest,
    GenerateRequest,
    Options,
    PullRequest,
    ShowRequest,
)

__all__ = [
    "ChatRequest",
    "ChatResponse",
    "DeleteRequest",
    "DeleteResponse",
    "EmbedRequest",
    "EmbedResponse",
    "ErrorBody",
    "ErrorObject",
    "GenerateRequest",
    "GenerateResponse",
    "ListedModel",
    "Logprob",
    "Message",
    "ModelDetails",
    "OllamaStruct",
    "Options",
    "Progress",
    "PsResponse",
    "PullRequest",
    "RunningModel",
    "ShowRequest",
    "ShowResponse",
    "TagsResponse",
    "TokenLogprob",
    "Tool",
    "ToolCall",
    "ToolCallFunction",
    "ToolFunction",
    "VersionResponse",
]
