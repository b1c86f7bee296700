from envace.tasks.curation.split import split_of

IDS = [f"task-{number}" for number in range(1_000)]


def test_the_share_is_met_within_chance():
    held_out = sum(split_of(name, 0.2, "s") == "heldout" for name in IDS)
    assert 162 <= held_out <= 238  # 200 ± 3 standard deviations of 12.6


def test_a_side_is_known_in_advance():
    # `printf 's\0task-0' | sha256sum` begins with a5, so 165/256 = 0.64; task-1: 29, so 0.16.
    assert split_of("task-0", 0.5, "s") == "train"
    assert split_of("task-1", 0.5, "s") == "heldout"


def test_a_larger_share_only_adds_to_the_held_out():
    small = {name for name in IDS if split_of(name, 0.1, "s") == "heldout"}
    large = {name for name in IDS if split_of(name, 0.3, "s") == "heldout"}
    assert small < large


def test_nothing_is_held_out_at_share_zero_and_the_salt_redraws():
    assert all(split_of(name, 0.0, "s") == "train" for name in IDS)
    assert [split_of(n, 0.5, "s") for n in IDS] != [split_of(n, 0.5, "t") for n in IDS]
