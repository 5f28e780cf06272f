#!/bin/sh
# Prints the path of Node 24 or later: the one that npm installed, or else the one on the PATH. Fails if neither exists.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
for candidate in "$root"/node_modules/node-*/bin/node "$(command -v node || true)"; do
  # Node 24 and later run TypeScript directly. Packages for other platforms are not installed, or do not run on this one.
  if [ -x "$candidate" ] && "$candidate" -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 24 ? 0 : 1)' 2>/dev/null; then
    echo "$candidate"
    exit 0
  fi
done
echo "countersign: Node 24 or later is needed, but npm has installed none for this machine. Install Node and put it on the PATH." >&2
exit 1
