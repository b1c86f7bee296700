from collections.abc import Iterator

import pytest

from tests.fixtures.endpoint import Model, served


@pytest.fixture
def model() -> Iterator[Model]:
    with served() as model:
        yield model
