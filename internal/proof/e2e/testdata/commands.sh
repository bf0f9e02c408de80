#!/usr/bin/env bash
# Runs the tests of kubectl that Kubernetes has in test/cmd, those named in the file $COMMANDS, and prints which of them pass. The working directory has
# the scripts and what they read, and the programs in _output/bin. The server is at port $SECURE_API_PORT.
set -o errexit -o nounset -o pipefail
KUBE_ROOT=$PWD
source hack/lib/init.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh

# record_command replaces the function of the scripts, which writes a report in XML.
record_command() {
  local name=$1 status=0
  grep -qx "${name}" "${COMMANDS}" || return 0
  set +o errexit
  (
    set -o errexit -o nounset
    "${name}"
  ) > "${TMPDIR}/${name}.log" 2>&1
  status=$?
  set -o errexit
  if ((status == 0)); then
    echo "pass ${name}"
  else
    echo "fail ${name}"
    tail -n 40 "${TMPDIR}/${name}.log"
  fi
}

kube::util::ensure-temp-dir
kube::util::ensure-gnu-sed
trap 'stop-proxy; rm -rf "${KUBE_TEMP}"' EXIT
export HOME=${KUBE_TEMP} KUBE_TEMP
CONTEXT=test
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:${SECURE_API_PORT}"
kubectl config set-context "${CONTEXT}" --user test-admin --cluster local
kubectl config use-context "${CONTEXT}"
# The server of the tests has this node, and allows everything to everyone.
kubectl create -f - <<< '{"kind":"Node","apiVersion":"v1","metadata":{"name":"127.0.0.1","annotations":{"save-managers":"true"}},"status":{"capacity":{"memory":"1Gi"}}}'
kubectl create clusterrolebinding everything --clusterrole cluster-admin --group system:authenticated --group system:unauthenticated
cp hack/testdata/ca/ca.crt "${TMPDIR}/apiserver.crt"
export SUPPORTED_RESOURCES=("*")
runTests
