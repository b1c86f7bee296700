"""What a run maximises, by which dials, and what it will take: what is known before it starts."""

import importlib
import time
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from envace.config import Config
from envace.errors import ConfigError
from envace.grpo.formula import formula
from envace.plugins import Plugin
from envace.training.bases import scratch
from envace.training.plan import Plan, Sizes, plan
from envace.training.shape import Shape
from pipelines.params import Params

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def show(chosen: Params, console: Console) -> None:
    """Prints all of it. Raises `ConfigError` when the size of the policy is not known."""
    shape = shape_of_base(chosen)
    console.print("The objective that is maximised", style="bold")
    for line in (*formula(chosen.train.update), *equation(chosen.train.advantage)):
        console.print(f"  {line}", markup=False, highlight=False)
    console.print(dials(chosen))
    sizes = Sizes(
        chosen.train.schedule,
        chosen.train.budget,
        chosen.train.rules,
        chosen.train.update,
        BYTES[chosen.policy.engine.dtype],
        chosen.policy.engine.max_batch,
    )
    console.print(_memory(found := plan(shape, sizes), shape))
    console.print(_time(found, chosen), highlight=False)


def equation(plugin: Plugin) -> tuple[str, ...]:
    """The equation of an estimator: the indented lines of its module's docstring."""
    said = importlib.import_module(f"{plugin.package}.{plugin.name}").__doc__ or ""
    return tuple(line.strip() for line in said.splitlines() if line.startswith("    "))


def shape_of_base(chosen: Params) -> Shape:
    """The size of the policy, as it is stated or as `scratch` makes it.

    Raises `ConfigError` when it is not stated.
    """
    base, shape = chosen.policy.base.config, chosen.policy.shape
    if isinstance(base, scratch.Config):
        return scratch.shape(base)
    if shape is None:
        raise ConfigError(
            "policy.shape is not given, expected the size of the policy; write it as its "
            "config.json has it (see profiles/ for examples)."
        )
    return shape


def dials(chosen: Params) -> Table:
    """Every parameter of training that differs from its default, and those that feed the plan."""
    table = Table("dial", "value", "default", title="Dials", title_justify="left")
    for name in ("schedule", "budget", "rules", "update", "abort"):
        for key, value, default in _fields(getattr(chosen.train, name), f"train.{name}"):
            table.add_row(key, value, "" if value == default else default)
    return table


def _fields(config: Config, where: str) -> Iterator[tuple[str, str, str]]:
    for key, field in type(config).model_fields.items():
        default = field.get_default(call_default_factory=True)
        yield f"{where}.{key}", f"{getattr(config, key)}", f"{default}"


def _memory(found: Plan, shape: Shape) -> Table:
    title = f"Memory, at most ({shape.parameters / 1e6:,.0f} M parameters)"
    table = Table("part", "GiB", title=title, title_justify="left")
    table.columns[1].justify = "right"
    for part, size in found.memory.items():
        table.add_row(part, f"{size / 2**30:,.2f}")
    table.add_row("at the worst moment", f"{found.peak / 2**30:,.2f}", style="bold")
    return table


def _time(found: Plan, chosen: Params) -> str:
    steps, work = chosen.train.schedule.steps, found.flops / 1e12
    said = (
        f"A step samples at most {found.sampled_tokens:,} tokens and takes at most {work:,.3g} "
        f"TFLOP; {steps:,} steps {steps * work:,.3g}."
    )
    if chosen.policy.engine.device != "cpu":
        return f"{said} Its device is {chosen.policy.engine.device}: time = TFLOP / its rate."
    rate = measured_flops(chosen.policy.engine.dtype) / 1e12
    minutes = work / rate / 60
    return (
        f"{said} This machine multiplies matrices at {rate:.2f} TFLOP/s: at that rate a step takes "
        f"{minutes:,.2g} minutes and the run {steps * minutes:,.2g}, if every output is as long as "
        "it may be."
    )


def measured_flops(dtype: str, size: int = 1024, seconds: float = 0.5) -> float:
    """The rate at which this machine multiplies square matrices, FLOP a second."""
    import torch

    left = torch.ones(size, size, dtype=getattr(torch, dtype))
    count, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        torch.mm(left, left)
        count += 1
    return count * 2 * size**3 / spent
