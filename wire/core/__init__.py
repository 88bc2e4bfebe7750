"""One exchange with a server: values, rules and state machines, without a vendor and without a
socket.
"""
