import pytest

from tests.cli.conftest import wire as wire
from tests.testing.cassette.ways import EVERY_WAY, Way


@pytest.fixture(params=EVERY_WAY)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found
