#!/bin/sh
# All set-up of a checkout: the dependencies of package-lock.json, Node 24 among them (the packages node-<platform>),
# and the portal's pages. Does nothing when the installed tree is that of the lock file already and the pages are built. Called by run.sh before every command.
set -eu
cd "$(dirname "$0")/.."
# A copy of the lock file inside node_modules says which one was installed, even if an install was cut off half way.
installed=node_modules/.installed-package-lock.json
if ! cmp -s package-lock.json "$installed"; then
  command -v npm >/dev/null 2>&1 || { echo "countersign: npm is needed for the first set-up, and is not on the PATH" >&2; exit 1; }
  echo "countersign: installing dependencies (first start, or package-lock.json changed) ..." >&2
  # stdout belongs to the command that is set up for (one key, one table): what npm says goes to stderr.
  npm ci --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json "$installed"
fi
sh scripts/build-portal.sh
