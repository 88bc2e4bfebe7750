"""One conversation for all vendors: messages, requests, replies and their events."""
