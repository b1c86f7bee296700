"""Where a run's files are, relative to the checkout.

`data/`, `models/` and `reports/` hold what DVC stages put out; `state/` holds what must outlive a
stage: checkpoints, the registry's database and store, the log of decisions.
"""

from pathlib import Path

TASKS = Path("data/tasks")
TRAIN, HELDOUT = TASKS / "train.jsonl", TASKS / "heldout.jsonl"
REJECTED = TASKS / "rejected.jsonl"

WARMSTART, GRPO = Path("models/warmstart"), Path("models/grpo")

REPORTS = Path("reports")
CURATION = REPORTS / "curation.json"
VALIDATION, DATA_DOCS = REPORTS / "validation.json", REPORTS / "data_docs"
WARMSTART_CURVE, TRAIN_CURVE = REPORTS / "warmstart.csv", REPORTS / "train.csv"
VERSION = REPORTS / "version.json"
EVALUATION, EVALUATION_PAGE = REPORTS / "evaluation.json", REPORTS / "evaluation.html"
SCORES = REPORTS / "scores.json"
DECISION, DECISION_PAGE = REPORTS / "decision.json", REPORTS / "decision.md"

STATE = Path("state")
CHECKPOINTS, STORE = STATE / "checkpoints", STATE / "store"
LEDGER, METRICS = STATE / "decisions.jsonl", STATE / "metrics"
