#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One real trace through the driver, in Debian's own kernel or (KERNEL=new) in the newest, and a picture of what moved:
#
#   TRACE   an .rtrace or .rtrace.gz file (default: neverball)
#   FRAMES  stop after so many (default: 300, which an emulated processor does in a minute or two)
#   VRAM    as a part of the largest frame's working set (default: 0.5)
#   RIVAL   from:to, frames in which another program wants half of VRAM (default: the middle third); none
#   STEP    name of the run, for the check, which keeps the results of several (default: replay)
. "$(dirname "$0")/lib.sh"

export TRACE=${TRACE:-$TOP/selftests/traces/neverball.rtrace.gz}
export FRAMES=${FRAMES:-300}
export RIVAL=${RIVAL:-$((FRAMES / 3 + 1)):$((FRAMES * 2 / 3 + 2))}
[[ $RIVAL != none ]] || RIVAL=
export CAPTURE=1
[[ -f $TRACE ]] || die "no trace $TRACE"
rig=stock
[[ ${KERNEL:-6.12} == 6.12 ]] || rig=$KERNEL
"$TOP/selftests/rigs/machine.sh" "$rig" "${STEP:=replay}"

share=$OUT/vm/$rig.$STEP
cp "$share/trace.dat" "$OUT/trace.dat"
trace-cmd report -i "$OUT/trace.dat" >"$OUT/trace.txt" 2>"$LOGS/trace-cmd.log"
if grep -m 1 'EVENTS DROPPED' "$OUT/trace.txt"; then die "events were lost: the picture would be wrong"; fi
cp "$share"/replay.*.log "$OUT/replay.log"
say "drawing out/residency.svg from $(wc -l <"$OUT/trace.txt") events"
python3 "$TOP/selftests/tools/replay/residency.py" --trace "$OUT/trace.txt" --log "$OUT/replay.log" -o "$OUT/residency.svg"
tail -n 1 "$OUT/replay.log"
