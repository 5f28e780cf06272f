#!/bin/sh
# Prints the section of CHANGELOG.md for a version: sh scripts/release/changes-of.sh 0.1.0
set -eu
cd "$(dirname "$0")/../.."
awk -v version="$1" '
  /^## / { found = ($2 == version || $2 == "[" version "]"); if (found) seen = 1; next }
  found { print }
  END { if (!seen) { print "CHANGELOG.md has no version " version > "/dev/stderr"; exit 1 } }
' CHANGELOG.md
