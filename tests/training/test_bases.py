"""Base policies become Hugging Face folders, whole or not at all."""

import json
from pathlib import Path

import pytest
import torch
from gguf import GGUFWriter
from transformers import AutoModelForCausalLM, AutoTokenizer

from envace.artifacts import Cache
from envace.episode import Call, Message, Tool
from envace.errors import ConfigError, PolicyError, SourceUnreachable, TaskError
from envace.files import digest_of, sha256_of
from envace.tasks.task import Task
from envace.training.bases import gguf, hub, scratch

TOOL = Tool(name="weather", description="Tells the weather.", parameters={"type": "object"})
CALL = Call(name="weather", arguments={"city": "Ghent"})
TASK = Task(
    id="t",
    source="test",
    domain="weather",
    tier="one",
    system="Use the tools.",
    tools=(TOOL,),
    conversation=(
        Message(role="user", content="What is the weather in Ghent?"),
        Message(role="assistant", calls=(CALL,)),
        Message(role="tool", name="weather", content='{"sky": "clear", "celsius": 21}'),
        Message(role="assistant", content="It is clear, 21 degrees."),
    ),
)
TINY = scratch.Config(hidden_size=16, layers=1, heads=2, vocab_size=300, context=64)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_a_model_from_scratch_is_the_same_bytes_twice(cache: Cache, tmp_path: Path) -> None:
    one, two = (scratch.build(TINY, cache, tmp_path / name, [TASK]) for name in ("one", "two"))
    other = TINY.model_copy(update={"seed": 1})
    assert digest_of(one) == digest_of(two)
    assert digest_of(scratch.build(other, cache, tmp_path / "other", [TASK])) != digest_of(one)


def test_a_tokenizer_from_scratch_speaks_chatml(cache: Cache, tmp_path: Path) -> None:
    folder = scratch.build(TINY, cache, tmp_path / "base", [TASK])
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = '<|im_start|>user\nIn Ghënt: {"x": 21}<|im_end|>\n<|endoftext|>'
    ids = tokenizer.encode(text)
    assert [ids[0], ids[-3], ids[-1], tokenizer.eos_token_id] == [1, 2, 0, 2]
    assert tokenizer.decode(ids) == text
    assert len(tokenizer.encode("21")) == 2
    chat = [{"role": "user", "content": "Hi"}]
    asked = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert asked == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_a_model_from_scratch_has_the_size_that_was_asked(cache: Cache, tmp_path: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(scratch.build(TINY, cache, tmp_path / "b", [TASK]))
    v = model.config.vocab_size
    block = 4 * 16 * 16 + 3 * 16 * 48 + 2 * 16
    assert 259 < v <= 300
    assert model.num_parameters() == v * 16 + block + 16
    assert str(model.dtype) == "torch.float32"


def test_a_tokenizer_needs_tasks(cache: Cache, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="got no task"):
        scratch.build(TINY, cache, tmp_path / "base", [])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_fetched_file_by_file(cache: Cache, tmp_path: Path) -> None:
    source = scratch.build(TINY, cache, tmp_path / "source", [TASK])
    files = [{"path": path.name, "sha256": sha256_of(path)} for path in source.iterdir()]
    config = hub.Config.read({"uri": f"file://{source}", "files": files}, "base")
    folder = hub.build(config, cache, tmp_path / "base", [])
    assert digest_of(folder) == digest_of(source)


def test_a_folder_that_lacks_a_file_is_not_made(cache: Cache, tmp_path: Path) -> None:
    files = [{"path": "config.json", "sha256": "0" * 64}]
    config = hub.Config.read({"uri": f"file://{tmp_path}/none", "files": files}, "base")
    with pytest.raises(SourceUnreachable, match=r"none/config\.json is not there"):
        hub.build(config, cache, tmp_path / "base", [])
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_a_folder_without_config_or_with_a_path_out_of_it_is_refused(
    cache: Cache, tmp_path: Path
) -> None:
    files = [{"path": "a/model.safetensors", "sha256": "0" * 64}]
    config = hub.Config.read({"uri": "file:///x", "files": files}, "base")
    with pytest.raises(PolicyError, match=r"no config\.json among the files"):
        hub.build(config, cache, tmp_path / "base", [])
    with pytest.raises(ConfigError, match=r"base\.files\.0\.path: '\.\./x' leads out"):
        hub.Config.read({"uri": "file:///x", "files": [{"path": "../x", "sha256": ""}]}, "base")


@pytest.mark.parametrize("sha256", ["", "0" * 63, "0" * 64 + "\n", "X" * 64])
def test_a_hash_that_is_none_is_refused_before_anything_is_fetched(sha256: str) -> None:
    sentence = r"base\.(files\.0\.)?sha256 is '.*': string should match pattern"
    with pytest.raises(ConfigError, match=sentence):
        gguf.Config.read({"uri": "file:///x", "sha256": sha256}, "base")
    files = [{"path": "config.json", "sha256": sha256}]
    with pytest.raises(ConfigError, match=sentence):
        hub.Config.read({"uri": "file:///x", "files": files}, "base")


def test_a_file_that_is_no_gguf_is_refused_and_leaves_nothing(cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"not a model at all, but long enough to be looked at")
    config = gguf.Config(uri=f"file://{path}", sha256=sha256_of(path))
    with pytest.raises(PolicyError, match=r"x\.gguf cannot be unpacked"):
        gguf.build(config, cache, tmp_path / "base", [])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "x.gguf"]


NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(folder: Path, path: Path) -> None:
    """The tiny one-block model in `folder` as a GGUF file, unquantised."""
    model = AutoModelForCausalLM.from_pretrained(folder).model
    bpe = json.loads((folder / "tokenizer.json").read_text())["model"]
    writer = GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(16)
    writer.add_feed_forward_length(48)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(bpe["vocab"]))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(bpe["vocab"], key=bpe["vocab"].get))
    writer.add_token_types([3] * 3 + [1] * (len(bpe["vocab"]) - 3))
    writer.add_token_merges([" ".join(pair) for pair in bpe["merges"]])
    for kind, token in (("bos", 1), ("eos", 2), ("unk", 0), ("pad", 2)):
        getattr(writer, f"add_{kind}_token_id")(token)
    tensors = {"token_embd": model.embed_tokens.weight, "output_norm": model.norm.weight}
    for name, ours in NAMES.items():
        tensors[f"blk.0.{ours}"] = model.layers[0].get_parameter(f"{name}.weight")
    for name, tensor in tensors.items():
        if name.endswith(("attn_q", "attn_k")):  # GGUF interleaves the halves of a rotation.
            tensor = tensor.reshape(2, 2, 4, 16).swapaxes(1, 2).reshape(16, 16)
        writer.add_tensor(f"{name}.weight", tensor.detach().contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_file_becomes_the_model_that_it_was_made_of(cache: Cache, tmp_path: Path) -> None:
    source = scratch.build(TINY, cache, tmp_path / "source", [TASK])
    write_gguf(source, path := tmp_path / "tiny.gguf")
    config = gguf.Config(uri=f"file://{path}", sha256=sha256_of(path), dtype="float32")
    folder = gguf.build(config, cache, tmp_path / "base", [])
    ids = torch.tensor([[1, 70, 71, 72, 2]])
    before, after = (
        AutoModelForCausalLM.from_pretrained(it)(ids).logits for it in (source, folder)
    )
    assert torch.allclose(before, after, atol=1e-5)
    text = "<|im_start|>What is the weather?<|im_end|>"
    old, new = (AutoTokenizer.from_pretrained(it).encode(text) for it in (source, folder))
    assert old == new
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())
