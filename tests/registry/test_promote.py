import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from envace.errors import RegistryError
from envace.registry.gate import Decision, Outcome, Rules, decide
from envace.registry.models import Version
from envace.registry.promote import (
    Ledger,
    Reference,
    decision_json,
    decision_page,
    promote,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


class MemoryRegistry:
    """Aliases in a dict."""

    def __init__(self, champion: int | None = None) -> None:
        self.champion = champion

    def alias(self, alias: str) -> Version | None:
        return None if self.champion is None else version(self.champion)

    def set_alias(self, alias: str, number: int) -> Version:
        self.champion = number
        return version(number)


FIRST = Reference("warmstart", "digest0")
"""What a candidate is compared with while there is no champion."""


def champion(number: int) -> Reference:
    return Reference("champion", f"digest{number}")


def version(number: int) -> Version:
    return Version(number, f"digest{number}", Path("/store"))


def decision(passed: bool = True) -> Decision:
    """98 items, of which the candidate lost 20 if it is not to pass."""
    lost = 0 if passed else 20
    ours = [Outcome(str(n), "all", n >= lost) for n in range(98)]
    theirs = [Outcome(str(n), "all", True) for n in range(98)]
    return decide(ours, theirs, Rules(margin=0.1))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "decisions" / "log.jsonl", NOON)


def lines(ledger: Ledger) -> list[dict[str, object]]:
    return [json.loads(line) for line in ledger.log.read_text().splitlines()]


def leave_lease(ledger: Ledger, until: datetime) -> Path:
    lock = ledger.log.with_name("log.jsonl.lock")
    lock.parent.mkdir()
    lock.write_text(json.dumps({"holder": "other, process 7", "until": until.isoformat()}))
    return lock


def test_a_pass_moves_the_alias_and_leaves_a_line(ledger):
    registry = MemoryRegistry(champion=1)
    promotion = promote(registry, version(2), decision(), champion(1), ledger)
    assert (registry.champion, promotion.promoted, promotion.previous) == (2, True, 1)
    (line,) = lines(ledger)
    assert (line["at"], line["version"], line["verdict"]) == (NOON.isoformat(), 2, "PASS")
    assert line["digest"] == "digest2"


def test_the_first_champion_has_no_previous(ledger):
    registry = MemoryRegistry()
    assert promote(registry, version(1), decision(), FIRST, ledger).previous is None
    assert registry.champion == 1


def test_what_did_not_pass_leaves_a_line_and_the_alias_alone(ledger):
    registry = MemoryRegistry(champion=1)
    promotion = promote(registry, version(2), decision(passed=False), champion(1), ledger)
    assert (registry.champion, promotion.promoted) == (1, False)
    assert [line["verdict"] for line in lines(ledger)] == ["FAIL"]


def test_a_champion_that_changed_since_the_comparison_stops_the_promotion(ledger):
    registry = MemoryRegistry(champion=3)
    said = r"champion is version 3 \(digest3\), but version 2 .* digest1; run 'dvc repro -f -s eval"
    with pytest.raises(RegistryError, match=said):
        promote(registry, version(2), decision(), champion(1), ledger)
    assert registry.champion == 3
    assert not ledger.log.exists()


def test_a_comparison_with_the_warm_start_does_not_count_once_there_is_a_champion(ledger):
    registry = MemoryRegistry(champion=3)
    with pytest.raises(RegistryError, match=r"champion is version 3 .* the warmstart digest0"):
        promote(registry, version(2), decision(), FIRST, ledger)
    assert registry.champion == 3


def test_a_comparison_with_a_champion_that_is_no_more_does_not_count(ledger):
    with pytest.raises(RegistryError, match="champion is nothing, but version 2"):
        promote(MemoryRegistry(), version(2), decision(), champion(1), ledger)


def test_the_line_is_there_before_the_alias_moves(ledger):
    class Dead(MemoryRegistry):
        def set_alias(self, alias: str, number: int) -> Version:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        promote(Dead(), version(1), decision(), FIRST, ledger)
    assert [line["promoted"] for line in lines(ledger)] == [True]


def test_promoting_the_champion_again_changes_nothing(ledger):
    registry = MemoryRegistry(champion=2)
    assert promote(registry, version(2), decision(), champion(1), ledger).promoted
    assert registry.champion == 2


def test_decisions_are_appended(ledger):
    registry = MemoryRegistry()
    promote(registry, version(1), decision(), FIRST, ledger)
    promote(registry, version(2), decision(passed=False), champion(1), ledger)
    assert [line["version"] for line in lines(ledger)] == [1, 2]


def test_a_lease_that_somebody_holds_stops_the_promotion_and_names_the_holder(ledger):
    registry = MemoryRegistry()
    lock = leave_lease(ledger, NOON + timedelta(seconds=1))
    with pytest.raises(RegistryError, match="other, process 7 is promoting until"):
        promote(registry, version(1), decision(), FIRST, ledger)
    assert registry.champion is None
    assert lock.exists()


def test_an_expired_lease_is_taken_over_and_given_back(ledger):
    leave_lease(ledger, NOON)
    assert promote(MemoryRegistry(), version(1), decision(), FIRST, ledger).promoted
    assert [path.name for path in ledger.log.parent.iterdir()] == ["log.jsonl"]


def test_the_lease_is_given_back_when_the_promotion_is_refused(ledger):
    with pytest.raises(RegistryError):
        promote(MemoryRegistry(champion=3), version(2), decision(), champion(1), ledger)
    assert list(ledger.log.parent.iterdir()) == []


def test_the_decision_is_json_with_its_rules_and_what_was_compared(ledger):
    promotion = promote(MemoryRegistry(champion=1), version(2), decision(), champion(1), ledger)
    found = json.loads(decision_json(decision(), promotion))
    assert (found["verdict"], found["paired"]["n"], found["rules"]["margin"]) == ("PASS", 98, 0.1)
    assert (found["version"], found["digest"], found["promoted"]) == (2, "digest2", True)
    assert (found["reference"], found["previous"]) == ({"name": "champion", "digest": "digest1"}, 1)


def test_the_page_shows_the_verdict_and_every_finding():
    page = decision_page(decision(passed=False), "version 2", "version 1")
    assert page.startswith("# FAIL: version 2 against version 1\n")
    assert "| all | 98 | 78 | 98 |" in page
    assert page.count("| PASS |") == 6
