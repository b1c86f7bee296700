import re

import pytest

from envace.tasks.checks.rules import RULES, Rule
from envace.tasks.reports.explain import CODES, explain


@pytest.mark.parametrize("code", CODES)
def test_an_explanation_is_one_sentence(code: str) -> None:
    assert explain(code)[0].isupper()
    assert explain(code).endswith(".")


def test_a_code_of_a_sources_own_is_explained_by_its_samples() -> None:
    assert explain("never_seen") == "Each sample says what was found."


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_code_of_a_rule_is_explained(rule: Rule) -> None:
    """A rule names its codes in the first line of its docstring."""
    first = (rule.check.__doc__ or "").splitlines()[0]
    codes = re.findall(r"`([a-z_]+)`", first)
    assert codes
    assert set(codes) <= set(CODES)
