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
from envace.tasks.checks.shape import MAX_CALLS, MAX_TOOLS, MAX_TURNS
from envace.tasks.curation.config import Config
from envace.tasks.reports.frame import frame

if TYPE_CHECKING:
    from pandas import DataFrame

WEIGHTS_OFF = 1e-6
"""How far from 1 the weights of a turn may sum up to."""


@dataclass(frozen=True)
class Rule:
    """One expectation of Great Expectations, not yet run."""

    name: str
    """What it is called here."""
    kind: str
    """Its name there, without `expect_`."""
    column: str | None
    """The column that it is about; None: the table."""
    limits: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class Validation:
    """What the suite found."""

    success: bool
    n_expectations: int
    failures: tuple[str, ...]
    """One line for each expectation that failed; it begins with the rule's name."""
    page: Path
    """The Data Docs page."""


def validate(train: Path, heldout: Path, config: Config, folder: Path) -> Validation:
    """Validates both sides of the split, each in its folder; `folder` becomes the Data Docs site.

    Raises `TaskError` when a side cannot be read.
    """
    return check(frame(train, heldout), suite(config), folder)


def suite(config: Config) -> tuple[Rule, ...]:
    """What must hold of tasks that were curated so; the row counts first."""
    texts = ("source", "domain", "tier")
    limits = (
        _between("tools", "n_tools", 0, MAX_TOOLS),
        _between("turns", "n_turns", 0, MAX_TURNS),
        _between("calls", "n_calls", 0, MAX_CALLS),
    )
    return (
        Rule("tasks", "table_row_count_to_be_between", None, {"min_value": 1}),
        _holds("train_tasks", "train"),
        _holds("heldout_tasks", "heldout"),
        Rule("ids_unique", "column_values_to_be_unique", "id"),
        Rule("contents_unique", "column_values_to_be_unique", "content"),
        *(Rule(f"{n}_there", "column_values_to_not_be_null", n) for n in ("id", *texts)),
        *(
            Rule(f"{n}_said", "column_value_lengths_to_be_between", n, {"min_value": 1})
            for n in texts
        ),
        *(() if "too_many" in config.skip else limits),
        Rule("user_messages", "column_values_to_be_between", "n_turns", {"min_value": 1}),
        Rule("some_call", "column_max_to_be_between", "n_calls", {"min_value": 1}),
        _between("tokens", "n_tokens", 1, config.max_tokens),
        _between("weights", "weights_sum", 1 - WEIGHTS_OFF, 1 + WEIGHTS_OFF),
        _between("family_on_both_sides", "shared_families", 0, 0),
        _between("tool_on_both_sides", "shared_tools", 0, 0),
    )


def check(tasks: "DataFrame", rules: Sequence[Rule], folder: Path) -> Validation:
    """Checks `rules` on the frame `tasks` and puts the Data Docs site in place of `folder`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        site = Path(scratch) / "site"
        found = failures(tasks, rules, site)
        replace_folder(site, folder)
    return Validation(not found, len(rules), found, folder / "index.html")


def failures(
    tasks: "DataFrame", rules: Sequence[Rule], site: Path | None = None
) -> tuple[str, ...]:
    """One line for each of `rules` that the frame breaks; the Data Docs are built under `site`."""
    results = _run(tasks, rules, site)
    assert len(results) == len(rules), "every expectation was run"
    found = [_failure(result) for result in results if not result.success]
    if tasks.empty:
        found.insert(0, "the data set is empty")
    if not results:
        found.insert(0, "the suite is empty: it holds no expectation")
    return tuple(found)


def _holds(name: str, side: str) -> Rule:
    return Rule(name, "column_distinct_values_to_contain_set", "split", {"value_set": [side]})


def _between(name: str, column: str, low: float, high: float) -> Rule:
    limits = {"min_value": low, "max_value": high}
    return Rule(name, "column_values_to_be_between", column, limits)


def _run(tasks: "DataFrame", rules: Sequence[Rule], site: Path | None) -> list[Any]:
    """The result of each expectation, in their order."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    context.variables.data_docs_sites = {"tasks": _site(site)} if site else {}
    asset = context.data_sources.add_pandas("tasks").add_dataframe_asset("tasks")
    expectations = [
        ExpectationConfiguration(
            type=f"expect_{rule.kind}",
            kwargs={"column": rule.column, **rule.limits} if rule.column else dict(rule.limits),
            meta={"name": rule.name},
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
    if site:
        context.build_data_docs()
    return [found for run in outcome.run_results.values() for found in run.results]


def _site(folder: Path) -> dict[str, Any]:
    return {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "store_backend": {
            "class_name": "TupleFilesystemStoreBackend",
            "base_directory": str(folder.resolve()),
        },
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
    }


def _failure(result: Any) -> str:
    config = result.expectation_config
    rule = config.type.removeprefix("expect_").replace("_", " ")
    limits = {k: v for k, v in config.kwargs.items() if k not in ("batch_id", "column")}
    rule += f" {limits}" if limits else ""
    where = config.kwargs.get("column")
    found = result.result.get("partial_unexpected_list") or result.result.get("observed_value")
    got = html.unescape(str(found))[:200]
    return f"{config.meta['name']}: {f'{where}: ' if where else ''}{rule}, got {got}"
