"""OpenAI, and other hosts of chat completions."""
