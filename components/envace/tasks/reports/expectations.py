"""The data gate: one Great Expectations suite over one row a task, with its Data Docs page.

Column expectations hold for no rows at all, and so does a suite without expectations; both are
failures here. Great Expectations takes seconds to import, so nothing does before it is needed.
"""

import html
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envace.files import replace_folder
from envace.tasks.overlap.exact import content_hash
from envace.tasks.task import Task

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = {
    "id": "object",
    "source": "object",
    "domain": "object",
    "tier": "object",
    "split": "object",
    "content": "object",
    "n_tools": "int64",
    "n_turns": "int64",
    "n_calls": "int64",
    "weights_sum": "float64",
}
MAX_TOOLS, MAX_TURNS, MAX_CALLS = 128, 50, 200


@dataclass(frozen=True)
class Rule:
    """One expectation of Great Expectations, not yet run."""

    kind: str
    """Its name without `expect_`."""
    column: str | None
    """The column that it is about; None: the table."""
    limits: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class Validation:
    """What the suite found."""

    success: bool
    n_expectations: int
    failures: tuple[str, ...]
    """One line for each expectation that failed."""
    page: Path
    """The Data Docs page."""


def validate(train: Sequence[Task], heldout: Sequence[Task], folder: Path) -> Validation:
    """Validates both sides of the split; `folder` is replaced by the Data Docs site."""
    return check(frame(train, heldout), suite(), folder)


def frame(train: Sequence[Task], heldout: Sequence[Task]) -> "DataFrame":
    """One row a task."""
    import pandas as pd

    sides = [("train", task) for task in train] + [("heldout", task) for task in heldout]
    rows = [_row(task, side) for side, task in sides]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def suite() -> tuple[Rule, ...]:
    """What must hold of the tasks; the row count first."""
    texts = ("source", "domain", "tier")
    return (
        Rule("table_row_count_to_be_between", None, {"min_value": 1}),
        Rule("column_distinct_values_to_contain_set", "split", {"value_set": ["train"]}),
        Rule("column_values_to_be_unique", "id"),
        Rule("column_values_to_be_unique", "content"),
        *(Rule("column_values_to_not_be_null", name) for name in ("id", *texts)),
        *(Rule("column_value_lengths_to_be_between", name, {"min_value": 1}) for name in texts),
        _between("n_tools", 1, MAX_TOOLS),
        _between("n_turns", 1, MAX_TURNS),
        _between("n_calls", 0, MAX_CALLS),
        Rule("column_max_to_be_between", "n_calls", {"min_value": 1}),
        _between("weights_sum", 1 - 1e-6, 1 + 1e-6),
    )


def check(tasks: "DataFrame", rules: Sequence[Rule], folder: Path) -> Validation:
    """Checks `rules` on the frame `tasks` and puts the Data Docs site in place of `folder`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        site = Path(scratch) / "site"
        results = _run(tasks, rules, site)
        replace_folder(site, folder)
    failures = [_failure(result) for result in results if not result.success]
    if tasks.empty:
        failures.insert(0, "the data set is empty")
    if not results:
        failures.insert(0, "the suite is empty: it holds no expectation")
    return Validation(not failures, len(results), tuple(failures), folder / "index.html")


def _between(column: str, low: float, high: float) -> Rule:
    return Rule("column_values_to_be_between", column, {"min_value": low, "max_value": high})


def _row(task: Task, side: str) -> dict[str, object]:
    sums = [sum(item.weight for item in items) for items in task.checklists]
    return {
        # Data Docs writes values into its page as they are: untrusted text is escaped here.
        "id": html.escape(task.id),
        "source": html.escape(task.source),
        "domain": html.escape(task.domain),
        "tier": html.escape(task.tier),
        "split": side,
        "content": content_hash(task),
        "n_tools": len(task.tools),
        "n_turns": len(task.user_messages),
        "n_calls": len(task.recorded_calls),
        # The turn that is farthest from 1; none without checklists.
        "weights_sum": max(sums, key=lambda total: abs(total - 1), default=None),
    }


def _run(tasks: "DataFrame", rules: Sequence[Rule], site: Path) -> list[Any]:
    """The result of each expectation; the Data Docs are built under `site`."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    context.variables.data_docs_sites = {
        "tasks": {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "store_backend": {
                "class_name": "TupleFilesystemStoreBackend",
                "base_directory": str(site.resolve()),
            },
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        }
    }
    asset = context.data_sources.add_pandas("tasks").add_dataframe_asset("tasks")
    expectations = [
        ExpectationConfiguration(
            type=f"expect_{rule.kind}",
            kwargs={"column": rule.column, **rule.limits} if rule.column else dict(rule.limits),
        )
        for rule in rules
    ]
    definition = gx.ValidationDefinition(
        name="tasks",
        data=asset.add_batch_definition_whole_dataframe("all"),
        suite=context.suites.add(gx.ExpectationSuite("tasks", expectations=expectations)),
    )
    checkpoint = gx.Checkpoint(
        name="tasks", validation_definitions=[context.validation_definitions.add(definition)]
    )
    outcome = context.checkpoints.add(checkpoint).run(batch_parameters={"dataframe": tasks})
    context.build_data_docs()
    return [found for run in outcome.run_results.values() for found in run.results]


def _failure(result: Any) -> str:
    config = result.expectation_config
    rule = config.type.removeprefix("expect_").replace("_", " ")
    limits = {k: v for k, v in config.kwargs.items() if k not in ("batch_id", "column")}
    rule += f" {limits}" if limits else ""
    where = config.kwargs.get("column")
    found = result.result.get("partial_unexpected_list") or result.result.get("observed_value")
    return f"{f'{where}: ' if where else ''}{rule}, got {html.unescape(str(found))[:200]}"
