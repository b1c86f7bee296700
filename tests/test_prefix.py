"""What sequences share at their beginning, and how they are laid out together."""

from envace.prefix import ancestors, runs, shared, tree


def test_shared_counts_leading_ids_only():
    assert shared((1, 2, 3, 9), (1, 2, 4, 9)) == 2
    assert shared((1, 2), (1, 2, 3)) == 2
    assert shared((), (1,)) == 0


def test_runs_are_sorted_and_cut_where_a_tree_would_grow_too_large():
    sequences = [(5, 1), (1, 2), (5, 0), (1, 2, 3)]
    assert runs(sequences, most=3) == [[1, 3], [2, 0]]  # trees of 3 tokens each
    assert runs(sequences, most=6) == [[1, 3, 2, 0]]


def test_a_sequence_that_is_too_long_has_a_run_of_its_own():
    assert runs([(3,), (1, 1, 1), (2,)], most=2) == [[1], [2, 0]]
    assert runs([], most=2) == []


def test_a_tree_holds_what_sequences_share_once():
    row = tree([(7, 8), (7, 8, 9), (7, 5)])
    assert row.ids == (7, 8, 9, 5)
    assert row.positions == (0, 1, 2, 1)
    assert row.parents == (-1, 0, 1, 0)
    assert row.paths == ((0, 1), (0, 1, 2), (0, 3))


def test_sequences_that_share_nothing_have_roots_of_their_own():
    assert tree([(1, 2), (3,)]).parents == (-1, 0, -1)


def test_a_token_sees_itself_and_its_ancestors():
    assert ancestors([-1, 0, 1, 0]).tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, False, False, True],
    ]
