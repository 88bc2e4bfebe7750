"""Conversations as lists of messages: what can be sent, what is mended, what is left out, what another model may be told. Pure."""

from wire.history.hand_over import hand_over as hand_over
