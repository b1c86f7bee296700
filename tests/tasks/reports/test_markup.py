import re

from envace.tasks.reports.markup import MOST_ROWS, counted, histogram


def columns(figure: str, side: str) -> list[tuple[float, float, float]]:
    """Place, width and height of each column of a side."""
    found = re.findall(
        rf'class="{side}" x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="([\d.]+)"', figure
    )
    return [(float(x), float(width), float(height)) for x, width, height in found]


def test_a_histogram_has_a_column_a_value_where_there_are_few() -> None:
    figure = histogram("turns", {"train": [1, 1, 1, 3]})
    assert [height for *_, height in columns(figure, "train")] == [100, 0, 33.33]
    assert "highest column 75 %" in figure
    assert "<span>1</span>" in figure


def test_two_sides_stand_side_by_side_as_shares_of_their_own() -> None:
    figure = histogram("turns", {"train": [0, 0, 0, 0], "heldout": [1]})
    assert columns(figure, "train") == [(1.5, 22.0, 100.0), (51.5, 22.0, 0.0)]
    assert columns(figure, "heldout") == [(26.5, 22.0, 0.0), (76.5, 22.0, 100.0)]


def test_wide_values_share_columns() -> None:
    figure = histogram("tokens", {"train": range(1000)})
    heights = [height for *_, height in columns(figure, "train")]
    assert heights == [100.0] * 23 + [80.95]  # 42 values a column, 34 in the last


def test_no_values_make_no_figure() -> None:
    assert histogram("tokens", {"train": [], "heldout": []}) == ""


def test_names_are_ordered_by_count_and_the_rest_is_summed_up() -> None:
    names = {f"tool-{n:02}": 1 for n in range(MOST_ROWS + 4)} | {"<most>": 9}
    rows = re.findall(r"<tr><td>(.*?)</td><td class=\"number\">(\d+)</td>", counted("A", names, {}))
    assert rows[0] == ("&lt;most&gt;", "9")
    assert rows[-1] == ("5 more", "5")
    assert len(rows) == MOST_ROWS + 1
