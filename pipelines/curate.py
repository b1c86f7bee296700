"""Stage curate: recorded conversations from the sources → train and held-out tasks."""

from envace.files import write_atomically
from envace.inference.chat import ChatML, load_renderer
from envace.rehearsal.act import demonstrate as acted
from envace.rehearsal.rehearse import demonstrate as rehearsed
from envace.tasks.curation.curate import curate
from envace.tasks.source import Rejected, read_all
from envace.tasks.store import write_rejected, write_tasks
from envace.tasks.task import Task
from pipelines import params, paths, policies, stage
from pipelines.settings import Settings


def main() -> str:
    """Reads, curates, writes."""
    chosen, settings = params.load(), Settings.load()
    cache = settings.sources()
    records: list[Task | Rejected] = []
    for source in chosen.curate.sources:
        stage.say(f"curate: reading source {source.name}")
        records += read_all(source.build(cache))
    tasks = [record for record in records if isinstance(record, Task)]
    renderer = load_renderer(policies.base(chosen, settings, tasks))
    made = curate(records, chosen.curate.rules, lambda task: longest(renderer, task))
    write_tasks(paths.TRAIN, made.train)
    write_tasks(paths.HELDOUT, made.heldout)
    write_rejected(paths.REJECTED, made.rejected)
    write_atomically(paths.CURATION, made.report.model_dump_json(indent=1))
    counts = f"{len(made.train):,} train, {len(made.heldout):,} held out"
    return f"{counts}, {len(made.rejected):,} rejected → {paths.TASKS}"


def longest(renderer: ChatML, task: Task) -> int:
    """Tokens of the task's longest training sequence, in either role."""
    act = acted(renderer, task.system, task.tools, task.conversation)
    rehearse = rehearsed(renderer, task.tools, task.conversation, show_recorded=True)
    return max(len(sequence.ids) for sequence in (act, *rehearse))
