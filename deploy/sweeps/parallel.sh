#!/bin/sh
# A sweep with GNU parallel, one shard for each job:
#
#     parallel.sh FILE.toml DIR [SHARDS]
#
# On this machine, or with HOSTS=FILE on the machines that an --sshloginfile lists. These must have skeptron and see DIR.
# Run it again after a failure: what has ended is not run again.
set -eu
file=$1 out=$2 shards=${3:-8}
# shellcheck disable=SC2046
parallel --halt soon,fail=1 ${HOSTS:+--sshloginfile "$HOSTS" --workdir "$PWD"} \
    skeptron sweep "$file" --out "$out" --threads 1 --shard "{}/$shards" ::: $(seq "$shards")
skeptron sweep merge "$out"
