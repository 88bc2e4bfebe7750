import pytest

from tests.http.drive import EVERY, Drive


@pytest.fixture(params=EVERY)
def drive(request: pytest.FixtureRequest) -> Drive:
    found: Drive = request.param
    return found
