# Written by `python -m tests.faces`.
from wire.wires.providers import PROVIDERS as PROVIDERS
from wire.wires.providers import Provider as Provider
from wire.wires.providers import family_of as family_of
from wire.wires.providers import model_of as model_of
from wire.wires.providers import owner_of as owner_of
from wire.wires.providers import unlisted as unlisted
