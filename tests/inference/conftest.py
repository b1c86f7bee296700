"""A random two-layer Llama and a renderer over single bytes."""

import pytest

from tests.fixtures.tiny import renderer_of, tiny_llama


@pytest.fixture(scope="session")
def llama():
    return tiny_llama()


@pytest.fixture
def renderer():
    return renderer_of()
