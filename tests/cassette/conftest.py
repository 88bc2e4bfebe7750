import pytest

from tests.cassette.ways import EVERY_WAY, Way
from tests.cli.conftest import wire as wire
from tests.http.drive import EVERY, Drive


@pytest.fixture(params=EVERY_WAY)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture(params=EVERY)
def drive(request: pytest.FixtureRequest) -> Drive:
    found: Drive = request.param
    return found
