# Written by `python -m tests.faces`.
from wire.serving import Gateway as Gateway
from wire.serving import GatewayServer as GatewayServer
from wire.serving import serve as serve
