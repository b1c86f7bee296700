"""What sequences share at their beginning, and which are computed together."""

from envace.prefix import alike, runs, shared


def test_shared_counts_leading_ids_only():
    assert shared((1, 2, 3, 9), (1, 2, 4, 9)) == 2
    assert shared((1, 2), (1, 2, 3)) == 2
    assert shared((), (1,)) == 0


def test_runs_are_sorted_and_cut_where_joins_says_no():
    sequences = [(5, 1), (1, 2), (5, 0), (1, 2, 3)]
    same_start = runs(sequences, lambda run, following: run[0][0] == following[0])
    assert same_start == [[1, 3], [2, 0]]


def test_every_sequence_is_in_exactly_one_run():
    sequences = [(3,), (1,), (2,), (1,), (3,)]
    assert runs(sequences, lambda run, following: False) == [[1], [3], [2], [0], [4]]
    assert runs([], lambda run, following: True) == []


def test_alike_sequences_share_enough_of_the_next_and_are_not_too_many():
    joins = alike(least=0.5, most=2)
    assert joins([(1, 2, 3)], (1, 2, 8, 9))
    assert not joins([(1, 2, 3)], (1, 7, 8, 9))
    assert not joins([(1, 2), (1, 2)], (1, 2))
