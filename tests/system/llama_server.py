"""llama.cpp's HTTP server over a tiny model with random weights, in the environment that has it (`xllamacpp`, `gguf`).

Standard input is one line, `{"key", "texts", "contexts"}`; then the servers run until it ends. Standard output is one
line, `{"base_urls", "tokens"}`: an address for each size of context, and the number of each token that has a name.

The weights say nothing, yet a request can make the model say something: each of `texts` is one token, and the server
takes a bias for a token (`logit_bias`) and a penalty for those that stand in the prompt already (`presence_penalty`).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import gguf  # type: ignore[import-not-found, unused-ignore]
import numpy as np
import xllamacpp  # type: ignore[import-not-found, unused-ignore]

WIDTH, HEADS, LAYERS, HIDDEN, CONTEXT = 64, 4, 2, 128, 16384
SEED = 7
START, END, CALL, CALLED = "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"
# A call is written without a blank around it: what opens one is then a single token, which random weights do find.
TEMPLATE = """\
{%- if tools -%}
<|im_start|>system
You may call functions:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor -%}
<|im_end|>
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == "tool" -%}
<|im_start|>user<tool_response>{{ message.content }}</tool_response><|im_end|>
{%- else -%}
<|im_start|>{{ message.role }}{{ "\\n" }}{{ message.content or "" }}
{%- for call in message.tool_calls or [] -%}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor -%}
<|im_end|>
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant{{ "\\n" }}
{%- endif -%}
"""


def byte_tokens() -> list[str]:
    """The 256 bytes as a byte-level tokenizer spells them: those that do not print are spelled from U+0100 on."""
    printed = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spelled: list[str] = []
    spare = 256
    for byte in range(256):
        spelled.append(chr(byte if byte in printed else spare))
        spare += byte not in printed
    return spelled


def write_model(path: Path, texts: Sequence[str]) -> dict[str, int]:
    """Write the model; the numbers of the tokens that are no single byte, and of the quotation mark."""
    spelled = byte_tokens()
    # One merge, because an empty list of them is no list to the format.
    learned = [*spelled, "th"]
    named = [CALL, CALLED, *texts]
    tokens = [*learned, *named, START, END]
    kinds = gguf.TokenType
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [kinds.NORMAL] * len(learned) + [kinds.USER_DEFINED] * len(named) + [kinds.CONTROL, kinds.CONTROL]
    )
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(tokens.index(START))
    writer.add_eos_token_id(tokens.index(END))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    add_weights(writer, len(tokens))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return {token: number for number, token in enumerate(tokens) if len(token) > 1 or token == '"'}


def add_weights(writer: gguf.GGUFWriter, vocabulary: int) -> None:
    drawn = np.random.default_rng(SEED)

    def add(name: str, *shape: int) -> None:
        values = drawn.standard_normal(shape) / np.sqrt(shape[-1]) if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(f"{name}.weight", values.astype(np.float32))

    add("token_embd", vocabulary, WIDTH)
    for layer in range(LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{part}", WIDTH, WIDTH)
        add(f"blk.{layer}.attn_norm", WIDTH)
        add(f"blk.{layer}.ffn_norm", WIDTH)
        add(f"blk.{layer}.ffn_gate", HIDDEN, WIDTH)
        add(f"blk.{layer}.ffn_up", HIDDEN, WIDTH)
        add(f"blk.{layer}.ffn_down", WIDTH, HIDDEN)
    add("output_norm", WIDTH)
    add("output", vocabulary, WIDTH)


def serve(path: Path, key: str, context: int) -> xllamacpp.Server:
    """Listen on a free port of loopback."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.use_jinja = True
    parameters.warmup = False
    parameters.fit_params = False
    return xllamacpp.Server(parameters)


def main() -> None:
    told = json.loads(sys.stdin.readline())
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "random.gguf"
        tokens = write_model(path, told["texts"])
        servers = [serve(path, told["key"], context) for context in told["contexts"]]
        base_urls = [f"{server.listening_address}/v1" for server in servers]
        print(json.dumps({"base_urls": base_urls, "tokens": tokens}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
