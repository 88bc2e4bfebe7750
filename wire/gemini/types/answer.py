"""Responses: candidates, usage, feedback, grounding, citations, log probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from wire.core.facts import SDK, TRAFFIC, Facts
from wire.gemini.types.base import GEMINI, VERTEX, GeminiStruct, OpenEnum, OpenFloat
from wire.gemini.types.content import Content, FunctionCall, Part
from wire.gemini.types.status import Status

if TYPE_CHECKING:
    from wire.catalogue.cost import Charges

_AUDIO = ("AUDIO", 4)  # its name, and its number if the query asks for numbers


class GenerateContentResponse(GeminiStruct, frozen=True, kw_only=True):
    """A response, or one chunk of a stream."""

    candidates: list[Candidate] | None = None
    """Absent if the prompt was blocked, and in chunks that have usage only."""
    prompt_feedback: PromptFeedback | None = None
    usage_metadata: UsageMetadata | None = None
    """Every chunk of a stream has it, and the last one counts; never sum. Output only."""
    model_version: str | None = None
    """Output only."""
    response_id: str | None = None
    """The same in all chunks. Output only."""
    model_status: Annotated[ModelStatus | None, Facts(hosts=GEMINI)] = None
    """Output only."""
    create_time: Annotated[str | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None
    """Timestamp."""
    error: Annotated[Status | None, Facts(source=TRAFFIC)] = None
    """An error in a response of status 200, in place of all other fields (G76). Clients raise it.
    """
    turn_token: Annotated[str | None, Facts(hosts=GEMINI, source=TRAFFIC)] = None
    """Opaque text that begins with `v1:`; in every chunk."""

    @property
    def text(self) -> str:
        """Text of the first candidate without thoughts; `""` if it has none.

        >>> content = Content(parts=[Part(text="Hm.", thought=True), Part(text="Hi.")])
        >>> GenerateContentResponse(candidates=[Candidate(content=content)]).text
        'Hi.'
        """
        parts = self._parts()
        if len(parts) == 1:  # nearly every chunk of a stream
            part = parts[0]
            return part.text if part.text and not part.thought else ""
        return "".join(part.text for part in parts if part.text and not part.thought)

    def charges(self) -> Charges:
        """Return the facts of the response, besides its token counts, that decide its price.

        Google charges searches beyond a number that is free each day, which no response knows.
        """
        from wire.catalogue.cost import SEARCHES_UNCOUNTED, Charges

        usage = self.usage_metadata or UsageMetadata()
        first = self._first()
        grounded = first.grounding_metadata if first is not None else None
        searched = grounded is not None and bool(
            grounded.web_search_queries or grounded.image_search_queries
        )
        cached = usage.cache_tokens_details
        audio = [each.token_count or 0 for each in cached or () if each.modality in _AUDIO]
        tier = usage.service_tier or str(usage.traffic_type or "").removeprefix("ON_DEMAND")
        return Charges(
            tier=str(tier).strip("_"),
            cached_audio=None if cached is None else sum(audio),
            unpriced=SEARCHES_UNCOUNTED if searched else "",
        )

    @property
    def function_calls(self) -> list[FunctionCall]:
        """Calls of the first candidate, in order.

        Pieces of the streamed arguments of Vertex have no name and are left out.
        """
        return [
            part.function_call
            for part in self._parts()
            if part.function_call is not None and part.function_call.name
        ]

    @property
    def finish_reason(self) -> OpenEnum | None:
        """Why the first candidate ended; `None` if it has not ended or does not exist."""
        first = self._first()
        return first.finish_reason if first is not None else None

    def _first(self) -> Candidate | None:
        """Return the candidate of index 0.

        A chunk of a stream may have any of several candidates.
        """
        for candidate in self.candidates or ():
            if not candidate.index:
                return candidate
        return None

    def _parts(self) -> list[Part]:
        first = self._first()
        return (
            (first.content.parts or []) if first is not None and first.content is not None else []
        )


class Candidate(GeminiStruct, frozen=True, kw_only=True):
    """One of the model's answers."""

    content: Content | None = None
    """Output only.

    Absent, or without parts, if the answer was blocked, if a call was malformed, or if thinking
    used all tokens.
    """
    finish_reason: OpenEnum | None = None
    """`FinishReason`, output only.

    In a stream only the last chunk has it. A stream without it was cut off.
    """
    finish_message: str | None = None
    """Output only. Ordinary tool calls have one too; it does not mean an error."""
    index: int | None = None
    """Output only. Often absent for the first."""
    safety_ratings: list[SafetyRating] | None = None
    citation_metadata: CitationMetadata | None = None
    """Output only."""
    token_count: int | None = None
    """Output only."""
    avg_logprobs: OpenFloat | None = None
    """Output only. Recorded as `"Infinity"` too."""
    logprobs_result: LogprobsResult | None = None
    """Output only."""
    grounding_attributions: list[GroundingAttribution] | None = None
    """Output only."""
    grounding_metadata: GroundingMetadata | None = None
    """Output only. May be `{}` in a stream."""
    url_context_metadata: UrlContextMetadata | None = None
    """Output only."""
    continuation_token: Annotated[str | None, Facts(source=SDK, base64=True)] = None
    """Base64. Comes with `FinishReason.CONTINUATION`, and in a stream at any place before: the same
    request with `continuation_token` goes on there."""
    score: Annotated[float | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None


class PromptFeedback(GeminiStruct, frozen=True, kw_only=True):
    """Results of the safety filters for the prompt."""

    block_reason: OpenEnum | None = None
    """`BlockReason`. If it is set, the response has no candidates; its HTTP status is still 200."""
    safety_ratings: list[SafetyRating] | None = None
    block_reason_message: Annotated[str | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None


class SafetyRating(GeminiStruct, frozen=True, kw_only=True):
    """Result of one safety filter."""

    category: OpenEnum | None = None
    """`HarmCategory`."""
    probability: OpenEnum | None = None
    """`HarmProbability`."""
    blocked: bool | None = None
    probability_score: Annotated[float | None, Facts(hosts=VERTEX, source=SDK)] = None
    severity: Annotated[OpenEnum | None, Facts(hosts=VERTEX, source=SDK)] = None
    """`HarmSeverity`."""
    severity_score: Annotated[float | None, Facts(hosts=VERTEX, source=SDK)] = None
    overwritten_threshold: Annotated[OpenEnum | None, Facts(hosts=VERTEX, source=SDK)] = None
    """`HarmBlockThreshold`."""


class UsageMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Token counts. `total_token_count` is the sum of prompt, candidates, thoughts and tool use."""

    prompt_token_count: int | None = None
    """Includes cached tokens. May be larger in the last chunk."""
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    """Without thoughts. Absent if nothing was generated. May decrease within a stream."""
    thoughts_token_count: int | None = None
    """Output only. Billed as output tokens."""
    tool_use_prompt_token_count: int | None = None
    """Tokens that built-in tools added; not part of `prompt_token_count`. Output only."""
    total_token_count: int | None = None
    prompt_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    cache_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    candidates_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    tool_use_prompt_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    response_token_count: Annotated[int | None, Facts(since="2026-03-30")] = None
    """Output only."""
    response_tokens_details: Annotated[
        list[ModalityTokenCount] | None, Facts(since="2026-03-30")
    ] = None
    """Output only."""
    service_tier: Annotated[OpenEnum | None, Facts(hosts=GEMINI, since="2026-05-06")] = None
    """`ServiceTier`, output only."""
    traffic_type: Annotated[OpenEnum | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None
    """`TrafficType`."""
    billable_prompt_usage: Annotated[
        BillablePromptUsage | None, Facts(hosts=VERTEX, source=TRAFFIC)
    ] = None


class ModalityTokenCount(GeminiStruct, frozen=True, kw_only=True):
    """Tokens of one modality."""

    modality: OpenEnum | None = None
    """`Modality`."""
    token_count: int | None = None
    """Absent if it is 0."""


class BillablePromptUsage(GeminiStruct, frozen=True, kw_only=True):
    """The billed part of a prompt."""

    text_count: int | None = None
    """Characters without white space, those of the tools included."""


class ModelStatus(GeminiStruct, frozen=True, kw_only=True):
    """Life-cycle stage of the model."""

    model_stage: OpenEnum | None = None
    """`ModelStage`."""
    retirement_time: str | None = None
    """Timestamp."""
    message: str | None = None


class CitationMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Sources that the text quotes. Each host has its own field."""

    citation_sources: Annotated[list[CitationSource] | None, Facts(hosts=GEMINI)] = None
    citations: Annotated[list[Citation] | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None


class CitationSource(GeminiStruct, frozen=True, kw_only=True):
    """One source. Indices count bytes of UTF-8; ends are exclusive, and a start of 0 is absent."""

    start_index: int | None = None
    end_index: int | None = None
    uri: str | None = None
    license: str | None = None


class Citation(GeminiStruct, frozen=True, kw_only=True):
    """One source, with more fields than `CitationSource`."""

    start_index: int | None = None
    end_index: int | None = None
    uri: str | None = None
    title: str | None = None
    license: str | None = None
    publication_date: Date | None = None


class Date(GeminiStruct, frozen=True, kw_only=True):
    """A date. A field that is absent or 0 is unknown."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


class LogprobsResult(GeminiStruct, frozen=True, kw_only=True):
    """Log probabilities of each token."""

    chosen_candidates: list[LogprobsResultCandidate] | None = None
    """One entry for each token; it need not be one of the top candidates."""
    top_candidates: list[TopCandidates] | None = None
    """One entry for each token."""
    log_probability_sum: OpenFloat | None = None


class TopCandidates(GeminiStruct, frozen=True, kw_only=True):
    """The most likely tokens of one step, in descending order."""

    candidates: list[LogprobsResultCandidate] | None = None


class LogprobsResultCandidate(GeminiStruct, frozen=True, kw_only=True):
    """A token and its log probability."""

    token: str | None = None
    token_id: int | None = None
    log_probability: OpenFloat | None = None


class GroundingAttribution(GeminiStruct, frozen=True, kw_only=True):
    """A source of an attributed answer."""

    content: Content | None = None
    source_id: AttributionSourceId | None = None
    """Output only."""


class AttributionSourceId(GeminiStruct, frozen=True, kw_only=True):
    """Identifies an attributed source."""

    grounding_passage: Annotated[GroundingPassageId | None, Facts(one_of="source")] = None
    semantic_retriever_chunk: Annotated[SemanticRetrieverChunk | None, Facts(one_of="source")] = (
        None
    )


class GroundingPassageId(GeminiStruct, frozen=True, kw_only=True):
    """A passage that the request contained."""

    passage_id: str | None = None
    """Output only."""
    part_index: int | None = None
    """Output only."""


class SemanticRetrieverChunk(GeminiStruct, frozen=True, kw_only=True):
    """A chunk that the semantic retriever returned."""

    source: str | None = None
    """Output only. Name of the source in the request."""
    chunk: str | None = None
    """Output only. Resource name."""


class GroundingMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Results of Search, Maps and file search, and the parts of the text that rely on them."""

    grounding_chunks: list[GroundingChunk] | None = None
    grounding_supports: list[GroundingSupport] | None = None
    web_search_queries: list[str] | None = None
    image_search_queries: list[str] | None = None
    search_entry_point: SearchEntryPoint | None = None
    """Google's terms of service require that it is displayed."""
    retrieval_metadata: RetrievalMetadata | None = None
    google_maps_widget_context_token: str | None = None
    retrieval_queries: Annotated[list[str] | None, Facts(hosts=VERTEX, source=SDK)] = None
    source_flagging_uris: Annotated[
        list[SourceFlaggingUri] | None, Facts(hosts=VERTEX, source=SDK)
    ] = None


class GroundingChunk(GeminiStruct, frozen=True, kw_only=True):
    """One source."""

    web: Annotated[Web | None, Facts(one_of="chunk_type")] = None
    image: Annotated[Image | None, Facts(one_of="chunk_type")] = None
    maps: Annotated[Maps | None, Facts(one_of="chunk_type")] = None
    retrieved_context: Annotated[RetrievedContext | None, Facts(one_of="chunk_type")] = None


class Web(GeminiStruct, frozen=True, kw_only=True):
    """A web page."""

    uri: str | None = None
    """Output only. Often a redirect URL of Google."""
    title: str | None = None
    """Output only."""
    domain: Annotated[str | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None


class Image(GeminiStruct, frozen=True, kw_only=True):
    """An image that a search returned."""

    image_uri: str | None = None
    source_uri: str | None = None
    """URL of the page that has the image."""
    title: str | None = None
    domain: str | None = None


class Maps(GeminiStruct, frozen=True, kw_only=True):
    """A place."""

    place_id: str | None = None
    """`places/ID`."""
    title: str | None = None
    uri: str | None = None
    text: str | None = None
    place_answer_sources: PlaceAnswerSources | None = None


class PlaceAnswerSources(GeminiStruct, frozen=True, kw_only=True):
    """Sources of an answer about a place."""

    review_snippets: list[ReviewSnippet] | None = None


class ReviewSnippet(GeminiStruct, frozen=True, kw_only=True):
    """Part of a review of a place."""

    title: str | None = None
    review_id: str | None = None
    google_maps_uri: str | None = None


class RetrievedContext(GeminiStruct, frozen=True, kw_only=True):
    """Part of a document that file search or retrieval returned."""

    uri: str | None = None
    title: str | None = None
    text: str | None = None
    file_search_store: str | None = None
    """`fileSearchStores/ID`."""
    custom_metadata: list[GroundingChunkCustomMetadata] | None = None
    page_number: Annotated[int | None, Facts(since="2026-04-14")] = None
    media_id: Annotated[str | None, Facts(since="2026-04-23")] = None
    """`fileSearchStores/ID/media/ID`."""


class GroundingChunkCustomMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Metadata that the owner attached to a document: a key and one value."""

    key: str | None = None
    string_value: Annotated[str | None, Facts(one_of="value")] = None
    string_list_value: Annotated[GroundingChunkStringList | None, Facts(one_of="value")] = None
    numeric_value: Annotated[float | None, Facts(one_of="value")] = None


class GroundingChunkStringList(GeminiStruct, frozen=True, kw_only=True):
    """A list of texts."""

    values: list[str] | None = None


class GroundingSupport(GeminiStruct, frozen=True, kw_only=True):
    """A segment of the answer, and the chunks that support it."""

    segment: Segment | None = None
    grounding_chunk_indices: list[int] | None = None
    """Indices into `grounding_chunks`."""
    confidence_scores: list[float] | None = None
    """0 to 1, one for each index. Newer models send none."""
    rendered_parts: list[int] | None = None
    """Output only."""


class Segment(GeminiStruct, frozen=True, kw_only=True):
    """A segment of a part's text. Indices count bytes of UTF-8, the end is exclusive, and an index
    of 0 is absent.
    """

    part_index: int | None = None
    start_index: int | None = None
    end_index: int | None = None
    text: str | None = None


class SearchEntryPoint(GeminiStruct, frozen=True, kw_only=True):
    """Suggestions for further searches, to be displayed."""

    rendered_content: str | None = None
    """HTML with CSS."""
    sdk_blob: Annotated[str | None, Facts(base64=True)] = None
    """Base64 of a JSON array of pairs: search term and URL."""


class RetrievalMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Decision of dynamic retrieval."""

    google_search_dynamic_retrieval_score: float | None = None
    """0 to 1: how likely a search improves the answer."""


class SourceFlaggingUri(GeminiStruct, frozen=True, kw_only=True):
    """Where to report a place or a review."""

    source_id: str | None = None
    flag_content_uri: str | None = None


class UrlContextMetadata(GeminiStruct, frozen=True, kw_only=True):
    """URLs that the tool `UrlContext` fetched."""

    url_metadata: list[UrlMetadata] | None = None


class UrlMetadata(GeminiStruct, frozen=True, kw_only=True):
    """One fetched URL."""

    retrieved_url: str | None = None
    url_retrieval_status: OpenEnum | None = None
    """`UrlRetrievalStatus`."""
