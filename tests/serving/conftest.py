"""A real agent whose policy follows a script: it finds order 7, tells the result, or echoes."""

import re
from dataclasses import dataclass, field

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from envace.episode import Tool
from envace.errors import PolicyError
from envace.inference.chat import ChatML
from envace.inference.policy import Completion, Request
from envace.rehearsal.act import Actor, Budget
from envace.rollout.agent import Agent
from envace.rollout.play import Rules

CALL = '<tool_call>{"name": "%s", "arguments": {"order_id": "7"}}</tool_call>'


@dataclass(frozen=True)
class Clerk:
    """Answers the last message of the prompt; keeps what it was asked."""

    renderer: ChatML
    version: str = "clerk"
    asked: list[Request] = field(default_factory=list)

    async def sample(self, request: Request) -> Completion:
        self.asked.append(request)
        text = self._answer(self.renderer.decode(request.prompt))
        ids = (*self.renderer.encode(text), self.renderer.stop)[: request.max_tokens]
        finish = "stop" if ids[-1] == self.renderer.stop else "length"
        return Completion(ids, (0.0,) * len(ids), finish)

    def _answer(self, prompt: str) -> str:
        said = re.findall(r"<\|im_start\|>(\w+)\n(.*?)<\|im_end\|>", prompt, re.DOTALL)
        if "You play the tools." in said[0][1]:
            return '<execution_result>{"status": "rehearsed"}</execution_result>'
        memory = [text for role, text in said[1:] if role == "system"]
        role, last = [each for each in said if each[0] != "system"][-1]
        if last == "break":
            raise PolicyError("the engine is down; start it.")
        if last == "garble":
            return "<tool_call>{"
        if role == "user" and "find_order(" in prompt:
            return CALL % ("fly" if "fly" in last else "find_order")
        return " | ".join([last, *memory])


@pytest.fixture(scope="session")
def renderer() -> ChatML:
    bytes_only = Tokenizer(models.BPE())
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(False)
    bytes_only.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bytes_only.train_from_iterator([], trainer)
    return ChatML(bytes_only)


@pytest.fixture
def clerk(renderer: ChatML) -> Clerk:
    return Clerk(renderer)


@pytest.fixture
def agent(clerk: Clerk) -> Agent:
    return Agent(Actor(clerk, clerk.renderer, Budget(temperature=0.7)), Rules(max_steps=2))


@pytest.fixture
def find() -> Tool:
    parameters = {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    }
    return Tool(name="find_order", description="Finds an order.", parameters=parameters)
