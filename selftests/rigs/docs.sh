#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Renders what headers and doors say of themselves into out/docs, one page a folder: the comment a file opens with, then
# its DOC sections and kernel-doc, which scripts/kernel-doc of the 6.12 source reads. Any warning, of kernel-doc or of
# the text's own layout, fails.
#
# kernel-doc's directives are Sphinx's; docs.py has the few that it writes, so that docutils is enough.
. "$(dirname "$0")/lib.sh"
cd "$TOP"

"$TOP/selftests/rigs/setup.sh" python3-docutils
src=$("$TOP/selftests/rigs/kernels.sh" source)
docs=$OUT/docs log=$LOGS/docs.log

# Debian's Python has Debian's docutils.
rm -rf "$docs"
if ! git ls-files -co --exclude-standard include drivers |
	/usr/bin/python3 "$TOP/selftests/rigs/docs.py" "$src/scripts/kernel-doc" "$docs" >"$log" 2>&1 || [[ -s $log ]]; then
	head -n 40 "$log" >&2
	die "$(wc -l <"$log") lines of objections in $log"
fi
say "$(find "$docs" -name '*.html' | wc -l) pages, beginning with $docs/index.html"
