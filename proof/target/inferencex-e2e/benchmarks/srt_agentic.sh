#!/bin/bash
# The client of one point. The launcher sets MODEL, CONC, PORT, RESULT_DIR, RESULT_FILENAME and the rest;
# CLIENT_BIN is the folder of the load client's own environment, CLIENT_TOKENIZER a tokenizer without a network.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$CLIENT_BIN/python

if [ "$EVAL_ONLY" = true ]; then
  exec "$python" "$here/small_eval.py"
fi

conversations=$((CONC * 2))
export HOME="$RESULT_DIR/home"
mkdir -p "$HOME"
"$CLIENT_BIN/aiperf" profile \
  --model "$MODEL_PREFIX" --url "http://127.0.0.1:$PORT" \
  --endpoint-type chat --endpoint /v1/chat/completions --streaming \
  --tokenizer "$CLIENT_TOKENIZER" --use-server-token-count \
  --concurrency "$CONC" --warmup-request-count 1 \
  --conversation-num "$conversations" --conversation-turn-mean "$TURNS" --conversation-turn-stddev 0 \
  --synthetic-input-tokens-mean "$INPUT_TOKENS" --output-tokens-mean "$OUTPUT_TOKENS" \
  --extra-inputs ignore_eos:true --random-seed 7 --connection-reuse-strategy never \
  --no-gpu-telemetry --ui none --output-artifact-dir "$RESULT_DIR/aiperf"
exec "$python" "$here/agentic_row.py" "$RESULT_DIR/aiperf/profile_export_aiperf.json"
