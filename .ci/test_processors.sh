#!/bin/sh
# Runs a command for every kind of processor: with each of the BLAS's sets of kernels that this
# one can run, and with code compiled for no processor in particular. Arguments: the kinds, --, the
# command. Results differ in their last bits; a command that fails for one kind does not stop
# the others.
kinds=''
while [ "$1" != -- ]; do
    kinds="$kinds $1"
    shift
done
shift

lacks() {  # lacks <kind>: prints the first instruction set of its kernels that is not here
    case $1 in
        Prescott | generic) needed='pni' ;;
        Sandybridge) needed='avx' ;;
        Haswell | Zen) needed='avx2 fma' ;;
        SkylakeX) needed='avx512f avx512dq avx512bw avx512vl' ;;
        *)
            echo "$1: the kinds are Prescott, Sandybridge, Haswell, Zen, SkylakeX and generic" >&2
            exit 2
            ;;
    esac
    for set in $needed; do
        grep -qw -m 1 "$set" /proc/cpuinfo || { echo "$set"; return; }
    done
}

failed=''
for kind in $kinds; do
    lacking=$(lacks "$kind") || exit
    if [ -n "$lacking" ]; then
        echo "=== $kind: skipped, this processor has no $lacking"
        continue
    fi
    echo "=== $kind"
    case $kind in
        generic) NUMBA_CPU_NAME=generic "$@" ;;
        *) OPENBLAS_CORETYPE=$kind "$@" ;;
    esac || failed="$failed $kind"
done
[ -z "$failed" ] || { echo "failed for:$failed" >&2; exit 1; }
