"""A hostile server on loopback, and what each client makes of what it sends.

`families.py` is the table of faults, `pieces.py` how each wire spells them. `server.py` plays them
in a process of its own, `clients.py` has the clients, `verdicts.py` judges what they did, `page.py`
writes `docs/reliability.md`. `make faults` runs all of it (`python -m tests.faults`), `make soak`
runs `soak.py`.
"""
