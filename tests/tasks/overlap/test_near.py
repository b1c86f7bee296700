import pytest

from envace.tasks.overlap.near import Near, rows, shingles, similarity, sketch

WORDS = "please book a table for two in the quiet corner of the old harbour restaurant tonight"


@pytest.fixture
def asking(make_task):
    """A task whose user says this; its call is always the same, but for the hour."""

    def build(text, hour=12):
        return make_task(
            conversation=[
                {"role": "user", "content": text},
                {"role": "assistant", "calls": [{"name": "add_event", "arguments": {"h": hour}}]},
                {"role": "tool", "name": "add_event", "content": "{}"},
                {"role": "assistant", "content": "Done."},
            ],
            checklists=(),
        )

    return build


def test_shingles_are_three_words_and_a_short_text_is_one():
    assert shingles(["One two, three FOUR"]) == ["one two three", "two three four"]
    assert shingles(["hello there"]) == ["hello there"]


def test_a_sketch_has_one_length_and_depends_on_words_and_calls(asking):
    one, other, later = asking(WORDS), asking(WORDS + " thanks"), asking(WORDS, hour=13)
    assert {len(sketch(task)) for task in (one, other, later)} == {264}
    assert sketch(one) == sketch(asking(WORDS.upper()))
    assert len({sketch(task) for task in (one, other, later)}) == 3


def test_the_estimate_is_near_the_jaccard_similarity(asking):
    # 16 words are 14 shingles. One more word: 14 of 15 shared, 0.933. Another last word: 13 of 15.
    text = asking(WORDS)
    for other, exact in ((f"{WORDS} now", 14 / 15), (WORDS.replace("tonight", "now"), 13 / 15)):
        found = similarity(sketch(text), sketch(asking(other)))
        assert found == pytest.approx(exact, abs=3 * (exact * (1 - exact) / 128) ** 0.5)
    assert similarity(sketch(text), sketch(asking("cancel my order"))) < 0.1


def test_nearly_the_same_words_with_the_same_calls_are_one_task(asking):
    near = Near(0.8)
    assert near.seen("a", sketch(asking(WORDS))) is None
    assert near.seen("b", sketch(asking(f"{WORDS} now"))) == "a"
    assert near.seen("c", sketch(asking("cancel my order"))) is None


def test_the_same_words_with_another_call_are_another_task(asking):
    near = Near(0.8)
    assert near.seen("a", sketch(asking(WORDS, hour=12))) is None
    assert near.seen("b", sketch(asking(WORDS, hour=13))) is None
    assert near.seen("c", sketch(asking(WORDS, hour=13))) == "b"


def test_what_was_dropped_keeps_nothing_out(asking):
    # b is near a and is dropped; c is near b alone, so it stays.
    words = WORDS.split()
    texts = [" ".join(words), " ".join([*words[2:], "x", "y"]), " ".join([*words[4:], *"xyzw"])]
    near = Near(0.7)
    assert [near.seen(str(n), sketch(asking(text))) for n, text in enumerate(texts)] == [
        None, "0", None
    ]  # fmt: skip


def test_bands_are_as_wide_as_leave_a_pair_at_the_threshold_its_chance():
    # 8 bands of r values find a pair of similarity t with 1 - (1 - t^r)^8.
    for threshold in (0.7, 0.8, 0.9):
        found = rows(threshold)
        assert 1 - (1 - threshold**found) ** 8 >= 0.99 > 1 - (1 - threshold ** (found + 1)) ** 8
    assert rows(1) == 16
