# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Measures what many allocations cost, with VRAM that has room for 100000. Under UML both drivers are part of the
# kernel and already have their device.
. /guest/lib.sh

if [ "$RIG" != uml ]; then
	load_pagoda vram_mb="$VRAM_MB" || exit 1
fi
/bin/crowd --out /out/bench.tsv
