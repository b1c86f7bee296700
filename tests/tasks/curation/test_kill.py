import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
POINTS = 20


def test_a_curation_killed_at_any_point_and_rerun_gives_the_same_bytes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.fixtures.killed", str(tmp_path), str(POINTS)],
        cwd=ROOT, env={"PYTHONPATH": "components:.", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    whole, *rerun = done.stdout.splitlines()
    assert len(rerun) == POINTS
    assert {line.split()[0] for line in rerun} == {whole}
    assert {tuple(line.split()[2:]) for line in rerun} == {("events", "tasks", "work")}
