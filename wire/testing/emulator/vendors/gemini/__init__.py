"""Gemini, on the Gemini API and on Vertex."""
