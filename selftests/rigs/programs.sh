#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the user-space programs into out/selftests.
. "$(dirname "$0")/lib.sh"

src=$("$TOP/selftests/rigs/kernels.sh" source)
headers=$("$TOP/selftests/rigs/kernels.sh" headers)
cache_lock programs
with_progress "building the test programs" "$LOGS/programs.log" \
	make -C "$TOP/selftests" -j"$JOBS" KSRC="$src" KHDR="$headers" OUT="$OUT/selftests"
