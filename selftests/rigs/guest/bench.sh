# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Measures. Under UML both drivers are part of the kernel and already have their device.
. /guest/lib.sh

if [ "$RIG" != uml ]; then
	load_pagoda || exit 1
fi
/bin/bench --out /out/bench.tsv
