#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# CHECK for the build of a whole kernel: sparse, but only for what is ours. Debian 12's doesn't know two words of newer
# headers, so that such a kernel's Makefile would do without it. What they are said to be makes no difference to sparse.
case $* in
*/drivers/gpu/drm/pagoda/*)
	exec sparse '-D__typeof_unqual__=__typeof__' '-D__builtin_strlen(text)=(sizeof(text)-1)' "$@"
	;;
esac
