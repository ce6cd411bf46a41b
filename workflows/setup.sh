#!/bin/bash
# Puts `sweepgate` of the tooling checkout on the PATH of the following steps. Run from the folder above `tooling/`.
#
# The packages stand in one environment per lock file, in SWEEPGATE_TOOLS or the runner's tool cache, so that a runner
# of ours installs them once. The program itself runs from the tooling checkout, with -P, so that a folder of the measured checkout can
# never shadow one of its modules.
set -euo pipefail

tooling=$PWD/tooling
lock=$tooling/requirements.lock
[ -f "$lock" ] || { echo "sweepgate: $lock is not there. Set SWEEPGATE_REF to a release of Sweepgate."; exit 2; }
python=${SWEEPGATE_PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  { echo "sweepgate: needs Python 3.11 or newer. Install it, or set SWEEPGATE_PYTHON on this runner."; exit 2; }

digest=$(sha256sum "$lock" | cut -c1-16)
environment=${SWEEPGATE_TOOLS:-${RUNNER_TOOL_CACHE:-$RUNNER_TEMP}/sweepgate}/$digest
if [ ! -f "$environment/.complete" ]; then
  rm -rf "$environment"
  "$python" -m venv "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
  touch "$environment/.complete"
fi

bin=$RUNNER_TEMP/sweepgate-bin
mkdir -p "$bin"
cat >"$bin/sweepgate" <<SCRIPT
#!/bin/bash
PYTHONPATH='$tooling' exec '$environment/bin/python' -P -m app.cli "\$@"
SCRIPT
chmod +x "$bin/sweepgate"
echo "$bin" >>"$GITHUB_PATH"
