# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# The example in the README, on a GPU with little memory.
. /guest/lib.sh

load_pagoda vram_mb=64 || exit 1
/bin/sum
status=$?
unload_pagoda || exit 1
exit "$status"
