#!/bin/sh
# Sets up a checkout: installs the dependencies of package-lock.json and builds the portal's pages.
# The dependencies include Node 24 (the packages node-<platform>). Does nothing if the installed tree matches the lock file
# and the built pages are up to date. run.sh calls it before every command.
set -eu
cd "$(dirname "$0")/.."
# Only one set-up runs at a time. The lock ends with this process. macOS and some network file systems have no such lock.
if command -v flock >/dev/null 2>&1; then
  exec 9<package-lock.json
  flock -n 9 || { echo "countersign: waiting for another command that sets up this checkout ..." >&2; flock 9 || true; }
fi
# The copy of the lock file in node_modules records which version was installed. An interrupted installation leaves no new copy.
installed=node_modules/.installed-package-lock.json
if ! cmp -s package-lock.json "$installed"; then
  command -v npm >/dev/null 2>&1 || { echo "countersign: npm is needed to install the dependencies, but is not on the PATH. Install it." >&2; exit 1; }
  echo "countersign: installing dependencies (first start, or package-lock.json changed) ..." >&2
  # The command that follows writes its result, such as a key or a table, to stdout. So npm's output goes to stderr.
  npm ci --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json "$installed"
fi
sh scripts/build-portal.sh
