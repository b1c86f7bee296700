import pytest
from transformers import LlamaConfig, LlamaForCausalLM

from envace.grpo.settings import Kl
from envace.grpo.settings import Settings as Update
from envace.rehearsal.act import Budget
from envace.rollout.play import Rules
from envace.training.plan import Sizes, plan
from envace.training.schedule import Schedule
from envace.training.shape import Shape, shape_of

TINY = Shape(
    layers=2, width=8, inner=16, heads=4, kv_heads=2, head_width=2, vocabulary=100, tied=False
)
SIZES = Sizes(
    Schedule(steps=5, tasks_per_step=2, episodes_per_task=3),
    Budget(act_tokens=10, rehearse_tokens=5, sequence_tokens=50),
    Rules(max_steps=3, max_calls=2),
    Update(pack_tokens=100),
    bytes_each=4,
    max_batch=4,
)


def with_update(**changes) -> Sizes:
    return Sizes(
        SIZES.schedule, SIZES.budget, SIZES.rules, Update(pack_tokens=100, **changes), 4, 4
    )


def test_parameters_are_counted_as_the_model_has_them():
    # A block: 2·8·2·(4 + 2) = 192 of attention and 3·8·16 = 384; embeddings and head 2·100·8.
    assert TINY.parameters == 2 * (192 + 384) + 1600 == 2752
    made = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=100, hidden_size=8, intermediate_size=16, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=False,
        )
    )  # fmt: skip
    norms = 8 * (2 * 2 + 1)
    assert sum(p.numel() for p in made.parameters()) == 2752 + norms
    assert shape_of(made.config.to_dict()) == TINY


def test_memory_is_the_sum_of_its_parts():
    memory = plan(TINY, SIZES).memory
    assert memory["weights"] == memory["gradients"] == 2752 * 4
    assert memory["moments of AdamW"] == 2 * 2752 * 4
    # Keys and values, 2 layers, 2 heads of 2, 4 bytes; 50 tokens of each of 4 sequences.
    assert memory["caches of generation"] == 2 * 2 * 2 * 2 * 4 * 50 * 4
    # A layer keeps 100 tokens · 4 bytes · (17·8 + 3·16); then mask and logits.
    layer = 100 * 4 * (17 * 8 + 3 * 16)
    assert memory["activations of the update"] == 2 * layer + 100 * 100 * 4 + 3 * 4 * 100 * 100
    # The update is the larger of the two that take turns.
    assert plan(TINY, SIZES).peak == 4 * 2752 * 4 + memory["activations of the update"]


def test_checkpointing_keeps_one_layer_and_a_penalty_keeps_a_second_model():
    layer = 100 * 4 * (17 * 8 + 3 * 16)
    saved = plan(TINY, with_update(gradient_checkpointing=True)).memory
    all_kept = plan(TINY, SIZES).memory["activations of the update"]
    assert all_kept - saved["activations of the update"] == layer - 2 * 100 * 4 * 8
    assert plan(TINY, with_update(kl=Kl(weight=0.1))).memory["first policy"] == 2752 * 4


def test_work_is_that_of_the_longest_episodes():
    # 6 episodes: 3 ACT outputs of 10 and 6 rehearsals of 5 tokens each.
    found = plan(TINY, SIZES)
    assert found.sampled_tokens == 6 * (30 + 30) == 360
    assert found.flops == 2752 * 8 * (360 + 6 * 50)


@pytest.mark.parametrize("missing", ["hidden_size", "vocab_size"])
def test_a_model_of_another_kind_is_refused(missing):
    values = {
        "num_attention_heads": 4, "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 2, "vocab_size": 100,
    }  # fmt: skip
    with pytest.raises(KeyError, match=missing):
        shape_of({k: v for k, v in values.items() if k != missing})
