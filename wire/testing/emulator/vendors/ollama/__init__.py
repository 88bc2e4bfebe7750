"""Ollama's server, emulated."""
