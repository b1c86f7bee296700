from envace.grpo.formula import formula
from envace.grpo.settings import Clip, Correction, Kl, Settings


def test_the_papers_objective_is_three_lines():
    assert formula(Settings()) == (
        "J = 1/T · Σ_t S(t), T the trained tokens of the batch",
        "S = min(r·A, clip(r, 0.8, 1.2)·A)",
        "r = π(t) / π_sampled(t)",
    )


def test_every_dial_that_acts_is_in_the_formula():
    settings = Settings(
        clip=Clip(low=0.1, high=0.3, dual=3),
        kl=Kl(weight=0.02),
        correction=Correction(limit=4),
        normalisation="fixed",
        fixed_length=512,
        updates=2,
    )
    assert formula(settings) == (
        "J = 1/n · Σ_s 1/512 · Σ_t (c(t)·S(t) − 0.02·kl(t)), n the sequences s of the batch",
        "S = min(r·A, clip(r, 0.9, 1.3)·A)",
        "S ≥ 3·A where A < 0",
        "r = π(t) / π_old(t), π_old the policy before the batch",
        "c = min(π_old(t) / π_sampled(t), 4)",
        "kl = exp(−d) − 1 + d",
        "d = log π(t) − log π_first(t)",
    )


def test_k1_is_taken_off_the_advantage_and_a_mask_is_said_as_one():
    settings = Settings(
        kl=Kl(weight=0.1, estimator="k1"),
        correction=Correction(kind="masked", limit=2),
        normalisation="sequence",
    )
    assert formula(settings) == (
        "J = 1/n · Σ_s 1/|s| · Σ_t c(t)·S(t), n the sequences s of the batch",
        "S = min(r·A', clip(r, 0.8, 1.2)·A')",
        "r = π(t) / π_old(t), π_old the policy before the batch",
        "c = π_old(t) / π_sampled(t) if 0.5 ≤ π_old(t) / π_sampled(t) ≤ 2, else 0",
        "A' = A − 0.1·d",
        "d = log π(t) − log π_first(t)",
    )
