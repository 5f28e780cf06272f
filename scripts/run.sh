#!/bin/sh
# run.sh FILE.ts [ARGUMENT ...]: set up, then become Node 24 running FILE.ts.
# `exec` all the way: a signal sent to npm's child must reach Node itself, not a shell in between.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
sh "$root/scripts/setup.sh"
for candidate in "$root"/node_modules/node-*/bin/node "$(command -v node || true)"; do
  # Runs TypeScript as it is, from Node 24 on; the packages of other platforms are not installed, or do not run here.
  if [ -x "$candidate" ] && "$candidate" -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 24 ? 0 : 1)' 2>/dev/null; then
    file=$1
    shift
    # Young garbage in 2 x 16 MB instead of up to 2 x 64: a quarter less memory under load, and no slower (docs/performance.md).
    exec "$candidate" --max-semi-space-size=16 "$root/$file" "$@"
  fi
done
echo "countersign: Node 24 is needed; npm has no build of it for this platform, so install it and put it on the PATH" >&2
exit 1
