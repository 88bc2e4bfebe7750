"""The neutral `effort` as a word that the model has."""

from __future__ import annotations

from wire.catalogue.facts import facts, nearest
from wire.core.memory import Note
from wire.core.provider import Provider


def effort_for(
    effort: str | None, model: str, row: Provider, notes: list[Note], *, on_chat: bool
) -> str | None:
    """Return the effort to send: the model's own word that is nearest to the wanted one.

    Each change is added to `notes`. At a host other than the model's vendor the word stays.

    >>> from wire.openai.common.rows import provider_row
    >>> notes = []
    >>> effort_for("none", "gpt-6.1-sol", provider_row("openai"), notes, on_chat=True), len(notes)
    ('low', 1)
    """
    known = facts(model)
    accepted = known.chat_efforts() if on_chat else known.efforts
    if effort is None or accepted is None or known.vendor != row.family:
        return effort
    word = effort.lower()
    if not accepted:
        if word != "none":
            notes.append(Note("effort", "not sent: this model has no efforts"))
        elif known.off == "refused":
            notes.append(Note("effort", "not sent: this model cannot turn thinking off"))
        return None
    sent = nearest(word, accepted)
    if sent != word:
        reason = "it cannot turn thinking off" if word == "none" else f"it has no effort {word}"
        notes.append(Note("effort", f"changed to {sent} for {model}: {reason}"))
    return sent
