"""Cassettes: recorded traffic as files, the transports that write and play them, and what reads
them for people.
"""
