"""Purpose: llama.cpp's own server (from the `xllamacpp` wheel) as the engine of the proof, on loopback.

The flags are those of the recipe. The model is a base model without a chat format of its own, so its chat template is
set here on purpose: the turns of a conversation, each on its own line.
"""

from __future__ import annotations

import argparse
import signal
import threading

import xllamacpp

TEMPLATE = "{% for m in messages %}{% if not loop.first %}{{ '\\n' }}{% endif %}{{ m.content }}{% endfor %}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a GGUF model on loopback.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ctx-size", type=int, default=2048)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--enable-metrics", action="store_true")
    told = parser.parse_args()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = told.model
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = told.port
    parameters.n_parallel = told.parallel
    parameters.n_ctx = told.ctx_size * told.parallel
    parameters.cpuparams.n_threads = told.threads
    parameters.endpoint_metrics = told.enable_metrics
    parameters.chat_template = TEMPLATE
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    server = xllamacpp.Server(parameters)
    print(f"serving {told.model} at {server.listening_address}", flush=True)
    ended.wait()


if __name__ == "__main__":
    main()
