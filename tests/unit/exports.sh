#!/usr/bin/env bash
# exports.sh LIBRARY LIST SANITIZERS MODULE...
#
# What the libraries show of themselves: LIBRARY exports exactly the symbols in LIST (made from api/routines.def), a MODULE
# nothing but its entry; LIBRARY brings nothing into a process but libc and what it cannot do without.  With sanitizers,
# which bring their own runtime, only the exports are checked.
set -euo pipefail
library=$1 list=$2 sanitizers=$3
shift 3

failures=0
fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

exported() { nm -D --defined-only "$1" | awk '{print $3}' | sort; }
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

expected=$(grep -v '^$' "$list" | sort)
[[ $(wc -l <<<"$expected") -ge 80 ]] || fail "$list lists too few symbols to be true"
while read -r symbol; do
  [[ -z $symbol ]] || fail "$library does not export $symbol"
done < <(comm -23 <(echo "$expected") <(exported "$library"))
while read -r symbol; do
  [[ -z $symbol ]] || fail "$library exports $symbol, which nobody asked for"
done < <(comm -13 <(echo "$expected") <(exported "$library"))

for module in "$@"; do
  [[ $(exported "$module") == blaslift_open_backend ]] || fail "$module exports more or less than its entry: $(exported "$module" | xargs)"
done

if [[ -z $sanitizers ]]; then
  for name in $(needed "$library"); do
    case $name in
      libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-x86-64.so.2) ;;
      *) fail "$library needs $name" ;;
    esac
  done
  flags=$(readelf -dW "$library")
  [[ $flags == *NODELETE* ]] || fail "$library can be unloaded"

  # Loads with every symbol bound at once, quietly, and is really there.
  said=$(LD_BIND_NOW=1 LD_PRELOAD=$library cat /proc/self/maps 2>&1) || fail "a program does not start with LD_BIND_NOW=1"
  [[ $said == *"$(basename "$library")"* ]] || fail "$library is not loaded with LD_BIND_NOW=1"
  [[ $said != *ERROR* ]] || fail "the loader complains: $said"
  [[ $said != *libcuda* && $said != *libcublas* && $said != *libgomp* && $said != *libstdc++* && $said != *libgcc_s* ]] ||
    fail "a process that calls no BLAS has loaded: $said"
fi

((failures == 0)) && printf '%s symbols, as listed\n' "$(wc -l <<<"$expected")"
exit $((failures > 0))
