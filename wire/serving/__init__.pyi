# Written by `python -m tests.faces`.
from wire.serving.gateway import Gateway as Gateway
from wire.serving.server import GatewayServer as GatewayServer
from wire.serving.server import serve as serve
