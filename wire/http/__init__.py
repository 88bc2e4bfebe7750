"""The HTTP shells: clients, transports and connection settings.

The only room that imports httpx.
"""
