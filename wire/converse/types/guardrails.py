"""What guardrails found, as answers with `trace` have it."""

from __future__ import annotations

from wire.converse.types.base import ConverseStruct


class GuardrailTraceAssessment(ConverseStruct, frozen=True, kw_only=True):
    """What a guardrail found in request and answer."""

    model_output: list[str] | None = None
    """The answer of the model as it was before the guardrail."""
    input_assessment: dict[str, GuardrailAssessment] | None = None
    """Id of a guardrail to what it found in the request."""
    output_assessments: dict[str, list[GuardrailAssessment]] | None = None
    """Id of a guardrail to what it found in the answer."""
    action_reason: str | None = None


class GuardrailAssessment(ConverseStruct, frozen=True, kw_only=True):
    """What the policies of a guardrail found."""

    topic_policy: GuardrailPolicyAssessment | None = None
    content_policy: GuardrailPolicyAssessment | None = None
    word_policy: GuardrailPolicyAssessment | None = None
    sensitive_information_policy: GuardrailPolicyAssessment | None = None
    contextual_grounding_policy: GuardrailPolicyAssessment | None = None
    automated_reasoning_policy: GuardrailPolicyAssessment | None = None
    invocation_metrics: GuardrailInvocationMetrics | None = None
    applied_guardrail_details: AppliedGuardrailDetails | None = None


class GuardrailPolicyAssessment(ConverseStruct, frozen=True, kw_only=True):
    """What one policy found. Each policy has one or two of the lists."""

    topics: list[GuardrailFinding] | None = None
    filters: list[GuardrailFinding] | None = None
    custom_words: list[GuardrailFinding] | None = None
    managed_word_lists: list[GuardrailFinding] | None = None
    pii_entities: list[GuardrailFinding] | None = None
    regexes: list[GuardrailFinding] | None = None
    findings: list[GuardrailReasoningFindings] | None = None


class GuardrailFinding(ConverseStruct, frozen=True, kw_only=True):
    """One thing that a filter found: a topic, a word, personal data, or a score."""

    name: str | None = None
    type: str | None = None
    """Kind of the filter: `DENY`, `PROFANITY`, `HATE`, `PROMPT_ATTACK`, `GROUNDING`, `EMAIL` and
    many others.
    """
    action: str | None = None
    """`BLOCKED`, `ANONYMIZED`, `NONE`."""
    detected: bool | None = None
    confidence: str | None = None
    """`NONE`, `LOW`, `MEDIUM`, `HIGH`."""
    filter_strength: str | None = None
    """`NONE`, `LOW`, `MEDIUM`, `HIGH`."""
    match: str | None = None
    regex: str | None = None
    threshold: float | None = None
    score: float | None = None


class GuardrailReasoningFindings(ConverseStruct, frozen=True, kw_only=True):
    """What automated reasoning found: an object with one key, the verdict."""

    valid: GuardrailReasoningFinding | None = None
    invalid: GuardrailReasoningFinding | None = None
    satisfiable: GuardrailReasoningFinding | None = None
    impossible: GuardrailReasoningFinding | None = None
    translation_ambiguous: GuardrailReasoningFinding | None = None
    too_complex: GuardrailReasoningFinding | None = None
    no_translations: GuardrailReasoningFinding | None = None


class GuardrailReasoningFinding(ConverseStruct, frozen=True, kw_only=True):
    """The grounds of a verdict."""

    translation: GuardrailTranslation | None = None
    claims_true_scenario: GuardrailScenario | None = None
    supporting_rules: list[GuardrailRule] | None = None
    logic_warning: GuardrailLogicWarning | None = None
    contradicting_rules: list[GuardrailRule] | None = None
    claims_false_scenario: GuardrailScenario | None = None
    options: list[GuardrailTranslationOption] | None = None
    difference_scenarios: list[GuardrailScenario] | None = None


class GuardrailTranslation(ConverseStruct, frozen=True, kw_only=True):
    """A text as statements of logic."""

    premises: list[GuardrailStatement] | None = None
    claims: list[GuardrailStatement] | None = None
    untranslated_premises: list[GuardrailStatement] | None = None
    untranslated_claims: list[GuardrailStatement] | None = None
    confidence: float | None = None


class GuardrailTranslationOption(ConverseStruct, frozen=True, kw_only=True):
    """One way to read a text."""

    translations: list[GuardrailTranslation] | None = None


class GuardrailStatement(ConverseStruct, frozen=True, kw_only=True):
    """A statement, or a text that could not be made one."""

    logic: str | None = None
    natural_language: str | None = None
    text: str | None = None


class GuardrailScenario(ConverseStruct, frozen=True, kw_only=True):
    """A case in which claims hold, or do not."""

    statements: list[GuardrailStatement] | None = None


class GuardrailRule(ConverseStruct, frozen=True, kw_only=True):
    """A rule of a policy."""

    identifier: str | None = None
    policy_version_arn: str | None = None


class GuardrailLogicWarning(ConverseStruct, frozen=True, kw_only=True):
    """Statements that say nothing."""

    type: str | None = None
    """`ALWAYS_FALSE`, `ALWAYS_TRUE`."""
    premises: list[GuardrailStatement] | None = None
    claims: list[GuardrailStatement] | None = None


class GuardrailInvocationMetrics(ConverseStruct, frozen=True, kw_only=True):
    """Time and units that an assessment took."""

    guardrail_processing_latency: int | None = None
    """Milliseconds."""
    usage: GuardrailUsage | None = None
    guardrail_coverage: GuardrailCoverage | None = None


class GuardrailUsage(ConverseStruct, frozen=True, kw_only=True):
    """Units that are charged, by policy."""

    topic_policy_units: int | None = None
    content_policy_units: int | None = None
    word_policy_units: int | None = None
    sensitive_information_policy_units: int | None = None
    sensitive_information_policy_free_units: int | None = None
    contextual_grounding_policy_units: int | None = None
    content_policy_image_units: int | None = None
    automated_reasoning_policy_units: int | None = None
    automated_reasoning_policies: int | None = None


class GuardrailCoverage(ConverseStruct, frozen=True, kw_only=True):
    """How much of the content was assessed."""

    text_characters: GuardrailCounts | None = None
    images: GuardrailCounts | None = None


class GuardrailCounts(ConverseStruct, frozen=True, kw_only=True):
    """Characters or images."""

    guarded: int | None = None
    total: int | None = None


class AppliedGuardrailDetails(ConverseStruct, frozen=True, kw_only=True):
    """The guardrail that assessed."""

    guardrail_id: str | None = None
    guardrail_version: str | None = None
    guardrail_arn: str | None = None
    guardrail_origin: list[str] | None = None
    """`REQUEST`, `ACCOUNT_ENFORCED`, `ORGANIZATION_ENFORCED`."""
    guardrail_ownership: str | None = None
    """`SELF`, `CROSS_ACCOUNT`."""
