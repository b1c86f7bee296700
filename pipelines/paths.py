"""Where a run's files are, relative to the checkout.

`data/`, `models/` and `reports/` hold what DVC stages put out; `state/` holds what must outlive a
stage: examined records, checkpoints, the registry's database and store, the log of decisions.
"""

from pathlib import Path

TASKS = Path("data/tasks")
TRAIN, HELDOUT, REJECTED = TASKS / "train", TASKS / "heldout", TASKS / "rejected"

WARMSTART, GRPO = Path("models/warmstart"), Path("models/grpo")

REPORTS = Path("reports")
CURATION, CURATION_PAGE = REPORTS / "curation.json", REPORTS / "curation.html"
VALIDATION, DATA_DOCS = REPORTS / "validation.json", REPORTS / "data_docs"
CARD = REPORTS / "data_card.md"
WARMSTART_CURVE, TRAIN_CURVE = REPORTS / "warmstart.csv", REPORTS / "train.csv"
VERSION = REPORTS / "version.json"
EVALUATION, EVALUATION_PAGE = REPORTS / "evaluation.json", REPORTS / "evaluation.html"
SCORES = REPORTS / "scores.json"
DECISION, DECISION_PAGE = REPORTS / "decision.json", REPORTS / "decision.md"

STATE = Path("state")
WORK, DOCUMENTS = STATE / "curation", STATE / "documents"
CHECKPOINTS, STORE = STATE / "checkpoints", STATE / "store"
LEDGER, METRICS = STATE / "decisions.jsonl", STATE / "metrics"
