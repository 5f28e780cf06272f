#!/bin/sh
# Prints the section of CHANGELOG.md for a version: sh scripts/release/changes-of.sh 0.1.0
set -eu
cd "$(dirname "$0")/../.."
awk -v version="$1" '
  /^## / { in_section = ($2 == version || $2 == "[" version "]"); if (in_section) exists = 1; next }
  in_section { print }
  END { if (!exists) { print "CHANGELOG.md has no version " version > "/dev/stderr"; exit 1 } }
' CHANGELOG.md
