#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# artel cert from the outside, and what it makes in the eyes of OpenSSL's own program.
set -euo pipefail
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
if [ ! -e "$ARTEL_BUILD/libartel-tls.so" ]; then echo "skipped: libartel-tls.so is not built"; exit 77; fi
must() { "$ARTEL" cert "$@" || { echo "artel cert $* failed"; exit 1; }; }
refuse() { # PATTERN ARGUMENTS...
    local pattern=$1 code=0
    shift
    "$ARTEL" cert "$@" >out 2>err || code=$?
    [ "$code" = 1 ] || { echo "artel cert $*: exit code $code, expected 1"; exit 1; }
    grep -q -- "$pattern" out err || { echo "artel cert $*: expected $pattern, found: $(cat out err)"; exit 1; }
}

must init certs --job mnist
must issue certs chief-0 'worker-[0-2],ps-0' --hosts node1,10.0.0.1 --days 30
must issue certs evaluator-0 --key ed25519
must verify certs >good
[ "$(grep -c 'good until' good)" = 6 ]
[ "$(stat -c %a certs/ca.key certs/worker-0/tls.key | sort -u)" = 600 ]
[ "$(ls certs/worker-1 | tr '\n' ' ')" = "ca.crt tls.crt tls.key " ]

(umask 0; must init open; must issue open worker-0)
[ "$(stat -c %a open open/worker-0 open/ca.crt open/worker-0/tls.crt open/worker-0/tls.key | tr '\n' ' ')" = "755 755 644 644 600 " ]

if command -v openssl >/dev/null; then
    for task in chief-0 worker-2 evaluator-0; do
        openssl verify -x509_strict -purpose sslserver -CAfile certs/ca.crt certs/$task/tls.crt
        openssl verify -x509_strict -purpose sslclient -CAfile certs/ca.crt -verify_hostname "$task" certs/$task/tls.crt
    done
    openssl x509 -in certs/worker-0/tls.crt -noout -ext subjectAltName >names
    grep -q 'URI:artel://mnist/worker-0, DNS:worker-0, DNS:node1, IP Address:10.0.0.1' names
    if openssl verify -CAfile certs/worker-0/tls.crt certs/worker-1/tls.crt 2>/dev/null; then echo "a task may sign"; exit 1; fi
fi

must show certs/worker-0 certs/ca.crt >shown
grep -q 'job *mnist' shown
grep -q 'hosts *node1, 10.0.0.1' shown
before=$(sha256sum certs/worker-0/tls.key)
must renew certs 'worker-[0-1]' --days 5
[ "$before" = "$(sha256sum certs/worker-0/tls.key)" ]
must verify certs worker-0 worker-1

refuse 'exists already' issue certs worker-0
refuse 'authority already' init certs
refuse 'no certificates' verify .
refuse 'no tls.crt' verify certs worker-7
refuse 'cannot be the name' issue certs ../worker-0
refuse 'more than 131072' issue certs 'worker-[0-99999999]'
refuse 'name of another task' issue certs worker-8 --hosts worker-0
refuse 'the nearest is issue' isue certs worker-8
refuse 'argument is missing' init
refuse 'argument too many' init a b
refuse 'no ca.crt' issue nowhere worker-0
refuse 'expected' issue certs worker-8 --days 0
must init strangers
must issue strangers worker-0
cp strangers/ca.crt certs/worker-0/ca.crt
refuse 'does not hold' verify certs
grep -q 'worker-1/tls.crt: good' out
chmod 644 certs/worker-1/tls.key
must verify certs worker-1 2>notes
grep -q 'others can read' notes
