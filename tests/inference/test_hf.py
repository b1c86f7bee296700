"""The in-process engine against transformers itself, on a random two-layer Llama."""

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from envace.errors import PolicyError
from envace.inference.backends import hf
from envace.inference.backends._hf_generate import generate
from envace.inference.policy import Completion, Request

NEVER = -1
"""A stop id that no policy samples."""
SHARED = (1, 40, 50, 60, 70)
PROMPTS = ((*SHARED, 80, 90, 100), SHARED, (*SHARED, 80, 91), (*SHARED, 33, 34, 35, 36, 37))


def greedy(prompt: tuple[int, ...], max_tokens: int = 8) -> Request:
    return Request(prompt, max_tokens, temperature=0)


def one_by_one(
    model: PreTrainedModel, requests: Sequence[Request], stop: int = NEVER
) -> list[Completion]:
    return [generate(model, [request], stop)[0] for request in requests]


@torch.no_grad()
def table(model: PreTrainedModel, prompt: tuple[int, ...], ids: tuple[int, ...]) -> Tensor:
    """Log-probabilities of a full forward pass at each of the sampled positions."""
    logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1]
    return logits.log_softmax(dim=-1)


@pytest.mark.parametrize("prompt", [*PROMPTS, (7,)])
def test_greedy_ids_are_those_of_transformers(llama: Any, prompt: tuple[int, ...]) -> None:
    ids = torch.tensor([prompt])
    theirs = llama.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False
    )[0, len(prompt) :]
    (ours,) = generate(llama, [greedy(prompt, 12)], stop=2)
    assert list(ours.ids) == theirs.tolist()
    assert len(set(ours.ids)) > 2


def test_log_probabilities_are_those_of_a_full_forward_pass(llama: PreTrainedModel) -> None:
    requests = [Request(prompt, 8, seed=index) for index, prompt in enumerate(PROMPTS)]
    for request, done in zip(requests, generate(llama, requests, NEVER), strict=True):
        own = table(llama, request.prompt, done.ids)[range(8), done.ids]
        assert list(done.logprobs) == pytest.approx(own.tolist(), abs=1e-5)


def test_log_probabilities_are_of_the_tempered_distribution(llama: PreTrainedModel) -> None:
    request = Request(SHARED, 6, temperature=0.5)
    (done,) = generate(llama, [request], NEVER)
    own = (2 * table(llama, SHARED, done.ids)).log_softmax(dim=-1)[range(6), done.ids]
    assert list(done.logprobs) == pytest.approx(own.tolist(), abs=1e-5)


@pytest.mark.parametrize("others", [(), ((7,), (7, 8, 9)), (SHARED,)], ids=len)
def test_a_batch_answers_as_its_requests_alone(
    llama: PreTrainedModel, others: tuple[tuple[int, ...], ...]
) -> None:
    requests = [Request(prompt, 10, seed=i) for i, prompt in enumerate((*PROMPTS, *others))]
    requests += [greedy(prompt) for prompt in PROMPTS]
    together, apart = generate(llama, requests, NEVER), one_by_one(llama, requests)
    assert [done.ids for done in together] == [done.ids for done in apart]
    for one, other in zip(together, apart, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_samples_depend_on_the_seed(llama: PreTrainedModel) -> None:
    requests = [Request(SHARED, 8, seed=seed) for seed in (1, 2, 1)]
    first, second, again = (done.ids for done in generate(llama, requests, NEVER))
    assert first == again != second


def test_samples_follow_the_distribution(llama: PreTrainedModel) -> None:
    requests = [Request((7,), 1, temperature=0.3, seed=seed) for seed in range(2000)]
    ids = torch.tensor([done.ids[0] for done in generate(llama, requests, NEVER)])
    share = torch.bincount(ids, minlength=259) / 2000
    expected = (table(llama, (7,), (0,))[0] / 0.3).softmax(dim=-1)
    assert (share - expected).abs().max() < 0.05
    assert expected.max() > 0.1


def test_a_row_stops_at_the_stop_id_and_its_neighbours_go_on(llama: PreTrainedModel) -> None:
    requests = [greedy(prompt) for prompt in PROMPTS]
    free = one_by_one(llama, requests)
    stop = free[0].ids[2]
    first, *others = generate(llama, requests, stop)
    assert first.ids == free[0].ids[: free[0].ids.index(stop) + 1]
    assert first.finish == "stop"
    apart = one_by_one(llama, requests[1:], stop)
    assert [done.ids for done in others] == [done.ids for done in apart]


def test_a_row_ends_at_its_own_limit(llama: PreTrainedModel) -> None:
    requests = [greedy(SHARED, limit) for limit in (1, 5, 3)]
    done = generate(llama, requests, NEVER)
    assert [len(each.ids) for each in done] == [len(each.logprobs) for each in done] == [1, 5, 3]
    assert {each.finish for each in done} == {"length"}


@contextmanager
def watched(
    model: PreTrainedModel, before: Callable[[], object] = lambda: None
) -> Generator[list[int]]:
    """Row counts of all forward passes of `model`; `before` runs ahead of each."""
    rows: list[int] = []

    def look(_: object, args: object, kwargs: dict[str, Tensor]) -> None:
        rows.append(len(kwargs["input_ids"]))
        before()

    handle = model.base_model.register_forward_pre_hook(look, with_kwargs=True)
    try:
        yield rows
    finally:
        handle.remove()


@pytest.fixture
def policy(llama: PreTrainedModel) -> hf.HfPolicy:
    return hf.HfPolicy(llama, NEVER, max_batch=8, version="v")


async def after(rests: int, policy: hf.HfPolicy, request: Request) -> Completion:
    """Samples after letting the event loop turn some times."""
    for _ in range(rests):
        await asyncio.sleep(0)
    return await policy.sample(request)


def test_requests_that_wait_together_are_answered_in_one_batch(
    llama: PreTrainedModel, policy: hf.HfPolicy
) -> None:
    requests = [greedy(prompt, 2) for prompt in PROMPTS]

    async def all_at_once():
        return await asyncio.gather(
            *(after(rests, policy, request) for rests, request in enumerate(requests))
        )

    with watched(llama) as rows:
        done = asyncio.run(all_at_once())
    assert rows == [1, 4]  # the tree of the prompts, then a second token of each
    assert [each.ids for each in done] == [each.ids for each in one_by_one(llama, requests)]


def test_a_batch_is_no_larger_than_its_limit(llama: PreTrainedModel) -> None:
    policy = hf.HfPolicy(llama, NEVER, max_batch=2, version="v")

    async def five():
        return await asyncio.gather(*(policy.sample(greedy(SHARED, 2)) for _ in range(5)))

    with watched(llama) as rows:
        assert len(asyncio.run(five())) == 5
    assert max(rows) == 2


def test_prompts_that_differ_are_not_padded_to_each_other(
    llama: PreTrainedModel, policy: hf.HfPolicy
) -> None:
    async def two():
        return await asyncio.gather(
            policy.sample(greedy((7,) * 50, 1)), policy.sample(greedy((8, 9), 1))
        )

    with watched(llama) as rows:
        asyncio.run(two())
    assert max(rows) == 1


def test_a_failing_model_raises_for_every_waiter_and_later_requests_are_answered(
    llama: PreTrainedModel, policy: hf.HfPolicy
) -> None:
    def fail():
        raise RuntimeError("out of memory")

    async def two():
        asked = (policy.sample(greedy(SHARED)), policy.sample(greedy((7,))))
        return await asyncio.gather(*asked, return_exceptions=True)

    with watched(llama, fail):
        assert [str(error) for error in asyncio.run(two())] == ["out of memory"] * 2
    assert [type(done) for done in asyncio.run(two())] == [Completion, Completion]


def test_a_request_that_comes_while_a_batch_fails_is_answered(
    llama: PreTrainedModel, policy: hf.HfPolicy
) -> None:
    running, go_on = threading.Event(), threading.Event()

    def fail_once():
        if not running.is_set():
            running.set()
            go_on.wait(10)
            raise RuntimeError("out of memory")

    async def late():
        first = asyncio.create_task(policy.sample(greedy(SHARED)))
        await asyncio.to_thread(running.wait, 10)
        second = asyncio.create_task(policy.sample(greedy(SHARED)))
        await asyncio.sleep(0)
        go_on.set()
        return await asyncio.wait_for(
            asyncio.gather(first, second, return_exceptions=True), timeout=10
        )

    with watched(llama, fail_once):
        error, done = asyncio.run(late())
    assert str(error) == "out of memory"
    assert isinstance(done, Completion)
    assert len(done.ids) == 8


def test_a_waiter_that_gives_up_does_not_hold_up_the_others(
    llama: PreTrainedModel, policy: hf.HfPolicy
) -> None:
    async def one_leaves():
        leaving = asyncio.create_task(policy.sample(greedy(SHARED, 1)))
        staying = asyncio.create_task(policy.sample(greedy(SHARED, 1)))
        await asyncio.sleep(0)
        leaving.cancel()
        return await staying

    with watched(llama) as rows:
        assert len(asyncio.run(one_leaves()).ids) == 1
    assert max(rows) == 1


def test_a_model_folder_becomes_a_policy(llama: PreTrainedModel, tmp_path: Path) -> None:
    llama.save_pretrained(tmp_path / "base")
    policy = hf.build(hf.Config(dtype="float32"), tmp_path / "base", stop=NEVER)
    done = asyncio.run(policy.sample(greedy(SHARED)))
    assert policy.version == "base"
    assert done.ids == one_by_one(llama, [greedy(SHARED)])[0].ids


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"has no config\.json; expected a model folder"):
        hf.build(hf.Config(), tmp_path, stop=2)
