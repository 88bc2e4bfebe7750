# Written by `python -m tests.faces`.
from wire.auth.callback import Callback as Callback
from wire.auth.credential import Bearer as Bearer
from wire.auth.credential import Credential as Credential
from wire.auth.credential import HeaderKey as HeaderKey
from wire.auth.credential import SigV4 as SigV4
