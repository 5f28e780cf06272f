#!/bin/sh
# Lints and renders the Helm chart with its default values, with every optional part, and with no optional part. Then checks the
# allowed hosts, and that existingSecret is required. Needs helm, but no cluster.
set -eu
cd "$(dirname "$0")/.."
chart=deploy/helm/countersign
command -v helm >/dev/null || { echo "check-chart: helm is not on the PATH: install it" >&2; exit 2; }
all="--set ingress.enabled=true --set ingress.tlsSecret=tls --set publicUrl=https://countersign.example.com:8443
  --set memoryClaim=memory --set environment.COUNTERSIGN_LOG_LEVEL=debug --set networkPolicy.from[0].podSelector.matchLabels.app=proxy"
none="--set migration.enabled=false --set podDisruptionBudget.enabled=false --set networkPolicy.enabled=false"
# shellcheck disable=SC2086  # lists of options without spaces
for options in "" "$all" "$none"; do
  helm lint --strict --quiet "$chart" $options
  helm template release "$chart" --namespace governance $options | grep -c '^kind:'
done
# One variable must contain both the hosts of the chart and the hosts of the value `environment`. If the variable were
# set twice, only its last value would be used.
hosts=$(helm template release "$chart" --namespace governance --set environment.COUNTERSIGN_ALLOWED_HOSTS=agents.example.com |
  grep -A1 'name: COUNTERSIGN_ALLOWED_HOSTS' | grep value: | sort -u)
names='release-countersign,release-countersign.governance,release-countersign.governance.svc'
expected="\"$names,release-countersign.governance.svc.cluster.local,agents.example.com\""
if [ "${hosts#*value: }" != "$expected" ]; then
  echo "check-chart: the allowed hosts are ${hosts#*value: }, but must be $expected" >&2
  exit 1
fi
# Rendering must fail without the required value existingSecret.
if helm template release "$chart" --set existingSecret= >/dev/null 2>&1; then
  echo "check-chart: a chart without existingSecret was rendered" >&2
  exit 1
fi
