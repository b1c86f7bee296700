import shutil

import pytest

from envace.errors import TaskError
from envace.files import digest_of
from envace.plugins import choose
from envace.tasks.curation.config import Config
from envace.tasks.curation.curate import Desk, Origin, curate
from envace.tasks.sources import worlds
from tests.fixtures.shelf import die, words

PACKAGE = "envace.tasks.curation.engines"


@pytest.fixture
def outcome(tmp_path):
    """The digest of a curation by an engine, with nothing examined before."""
    config = worlds.Config(conversations=3, tiers=("one_call",))
    origins = [Origin("worlds", config.model_dump_json(), worlds.build(config, None))]

    def run(**engine):
        work = tmp_path / "work"
        shutil.rmtree(work, ignore_errors=True)
        desk = Desk(None, words, "words", work, tmp_path / engine["name"])
        rules = Config.model_validate({"engine": engine, "held_out": ["worlds/retail"]})
        report = curate(origins, rules, desk)
        assert (report.records, report.train.tasks, report.heldout.tasks) == (6, 3, 3)
        return digest_of(desk.target)

    return run


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
def test_a_ray_cluster_gives_the_bytes_of_this_machine(outcome, monkeypatch):
    assert outcome(name="ray") == outcome(name="local", workers=2)


def test_results_come_in_the_order_of_the_jobs_and_no_job_is_no_result():
    engine = choose(PACKAGE, {"name": "local", "workers": 2}).build()
    assert list(engine.run(abs, [-3, -1, -2])) == [3, 1, 2]
    assert list(engine.run(abs, [])) == []


def test_a_worker_that_is_killed_is_one_sentence():
    engine = choose(PACKAGE, {"name": "local", "workers": 2}).build()
    with pytest.raises(TaskError, match="was killed, perhaps for lack of memory"):
        list(engine.run(die, [1, 2]))


def test_what_a_worker_raises_is_raised():
    engine = choose(PACKAGE, {"name": "local", "workers": 2}).build()
    with pytest.raises(ValueError, match="invalid literal"):
        list(engine.run(int, ["1", "x"]))
