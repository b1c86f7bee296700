"""Seeds and scripted answers."""

import asyncio

from envace.inference.backends import scripted
from envace.inference.chat import ChatML
from envace.inference.policy import Completion, Request, seed_for


def test_a_seed_depends_on_every_part_and_their_order() -> None:
    seeds = {seed_for("a", 1), seed_for("a", 2), seed_for("b", 1), seed_for(1, "a"), seed_for("a1")}
    assert len(seeds) == 5


def test_a_seed_is_the_same_everywhere_and_fits_63_bits() -> None:
    # Half of what `printf 'a\0371' | b2sum -l 64` prints.
    assert seed_for("a", 1) == seed_for("a", "1") == 0x8181C16B4AD83CC1 // 2
    assert all(0 <= seed_for(number) < 2**63 for number in range(100))


def test_a_script_answers_the_text_of_the_prompt(renderer: ChatML) -> None:
    policy = scripted.build(scripted.Config(), renderer, str.upper)
    done = asyncio.run(policy.sample(Request(renderer.encode("hi"), max_tokens=3)))
    assert done == Completion((*renderer.encode("HI"), renderer.stop), (0.0, 0.0, 0.0), "stop")


def test_a_scripted_answer_is_cut_at_its_limit(renderer: ChatML) -> None:
    policy = scripted.build(scripted.Config(), renderer, str.upper)
    done = asyncio.run(policy.sample(Request(renderer.encode("hi"), max_tokens=2)))
    assert done == Completion(renderer.encode("HI"), (0.0, 0.0), "length")
