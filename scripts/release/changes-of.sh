#!/bin/sh
# changes-of.sh X.Y.Z: prints the section of CHANGELOG.md for this version, without its heading. Fails if there is none.
set -eu
cd "$(dirname "$0")/../.."
awk -v version="$1" '
  /^## / { in_section = ($2 == version || $2 == "[" version "]"); if (in_section) exists = 1; next }
  in_section { print }
  END { if (!exists) { print "CHANGELOG.md has no version " version > "/dev/stderr"; exit 1 } }
' CHANGELOG.md
