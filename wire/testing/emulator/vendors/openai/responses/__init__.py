"""OpenAI's Responses API and conversations, and the hosts that speak it."""
