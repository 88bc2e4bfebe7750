import pytest

from tests.http.drive import EVERY, Drive
from tests.testing.ways import EVERY_WAY, Way


@pytest.fixture(params=EVERY_WAY)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture(params=EVERY)
def drive(request: pytest.FixtureRequest) -> Drive:
    found: Drive = request.param
    return found
