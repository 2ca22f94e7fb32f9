# SPDX-License-Identifier: GPL-2.0
#
# What a person types. Each target is a script in selftests/rigs, which says more about itself;
# everything that is built lands in out/, everything that is fetched or built once in the cache.
MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
RIGS := selftests/rigs

export KERNEL DESTDIR INSTALL_MOD_PATH TRACE TRACES FRAMES VRAM RIVAL FILTER CELLS SHARE FUZZ_SECONDS SOAK_SECONDS PAIRS SAMPLE LIMIT
export N SEED LANES FILES SELFTESTS AGAIN

# The rig that has the kernel that was asked for.
RIG := $(if $(filter new,$(KERNEL)),new,stock)

.DEFAULT_GOAL := help
.PHONY: run sum check check-long quick setup modules install install-dkms uninstall-dkms kunit selftests matrix sleep debug bench simulate soak hostile igt fuzz mutate coverage lint docs clean clean-cache help

help:
	@echo 'make run              replay a real trace through the driver in a stock kernel; out/residency.svg'
	@echo '                      KERNEL=new: in the newest kernel that Debian has (run, sum, selftests, matrix)'
	@echo '                      TRACE=file.rtrace.gz FRAMES=n VRAM=fraction-of-the-largest-working-set'
	@echo '                      RIVAL=from:to, frames in which another program wants half of VRAM; none'
	@echo 'make sum              the example client: adds up an array larger than VRAM on the GPU'
	@echo 'make check            what each commit is held to; ends with the number passed and failed'
	@echo 'make check-long       everything: all modes on all kernels, soak, an hour of fuzzing'
	@echo 'make quick            in minutes: what the change since HEAD~1 concerns'
	@echo 'make modules          build pagoda.ko and pagoda_vgpu.ko; KDIR=kernel headers (default: newest Debian 6.12),'
	@echo '                      CC=compiler (default: what the headers want)'
	@echo 'make install          build both modules for the running kernel (KDIR=headers of another) and install them;'
	@echo '                      INSTALL_MOD_PATH=folder in front of /lib/modules'
	@echo 'make install-dkms     put the source below /usr/src and tell DKMS, which builds it for every kernel; DESTDIR=copy only'
	@echo 'make uninstall-dkms   take both back, and what DKMS built'
	@echo 'make kunit            KUnit suites under User-Mode Linux, sanitizers on; FILTER=glob; KERNEL=6.12: one processor'
	@echo 'make selftests        the user-space tests on the stock kernel, in QEMU; FILTER=glob CELLS=modes'
	@echo 'make matrix           these tests in all update modes, with and without device MMU and VRAM the CPU can reach'
	@echo 'make sleep            a machine sleeps, as the kernel rehearses it, while clients run'
	@echo 'make debug            KUnit and the user-space tests on the sanitizer kernel, in QEMU; FILTER=glob'
	@echo 'make bench            measure; out/bench.tsv'
	@echo 'make simulate         what LRU, our policy and an optimum move of real traces and made-up ones; TRACES=folder'
	@echo 'make soak             four clients over-commit VRAM three times on the sanitizer kernel; SOAK_SECONDS=300'
	@echo 'make hostile          attackers beside victims: what others lose; out/hostile.tsv; PAIRS=attacker:victim, a glob;'
	@echo '                      SAMPLE=n of all pairs, which rotate with the commit; LIMIT=seconds of a pair'
	@echo 'make igt              igt-gpu-tools of Debian sid on the stock kernel: what passes, what skips and why; out/igt.tsv;'
	@echo '                      FILTER=glob of programs'
	@echo 'make fuzz             feed the engine and the CPU executor packets and compare them; FUZZ_SECONDS=60'
	@echo 'make mutate           make the driver wrong in N=20 places drawn by SEED=1, and see which of them no test notices;'
	@echo '                      out/mutants.tsv; FILES=globs, LANES=kernels at once, SELFTESTS=1: in QEMU, too; LIST=table'
	@echo 'make coverage         which lines the tests execute, of our files and of what they are built on in DRM;'
	@echo '                      out/coverage.tsv'
	@echo 'make lint             checkpatch, W=1, sparse, kernel-doc, names at the top'
	@echo 'make docs             render DOC sections and kernel-doc; out/docs/index.html; fails on any warning'
	@echo 'make setup            install and fetch what the others need (they do so themselves)'
	@echo 'make clean            remove out/'
	@echo 'make clean-cache      remove kernels and sources kept in $${PAGODA_CACHE:-~/.cache/pagoda}'

setup:
	@$(RIGS)/setup.sh

run: setup
	@$(RIGS)/run.sh

sum: setup
	@$(RIGS)/machine.sh $(RIG) sum

check:
	@$(RIGS)/check.sh

check-long:
	@$(RIGS)/check.sh long

quick:
	@$(RIGS)/quick.sh

# Other headers than the default need no set-up, and no Debian. CC counts only on make's command line: the
# environment's is for programs.
modules: $(if $(KDIR),,setup)
	@kdir='$(KDIR)'; [ "$$kdir" ] || { . out/rig.env; kdir=$$STOCK_KDIR; }; \
		dir=$$($(RIGS)/modules.sh "$$kdir" $(foreach v,CC LLVM,$(and $(filter command,$(origin $v)),$($v),$v='$($v)'))) && \
		ls -l "$$dir"/*.ko

install:
	@$(RIGS)/install.sh '$(or $(KDIR),/lib/modules/$(shell uname -r)/build)' \
		$(foreach v,CC LLVM,$(and $(filter command,$(origin $v)),$($v),$v='$($v)'))

install-dkms uninstall-dkms:
	@$(RIGS)/dkms-source.sh $(@:-dkms=)

kunit: setup
	@$(RIGS)/kunit.sh

selftests: setup
	@$(RIGS)/machine.sh $(RIG) selftests

matrix: setup
	@$(RIGS)/machine.sh $(RIG) selftests-mmu0 selftests-mmu1; \
		$(RIGS)/report.py --matrix $(RIG).selftests-mmu0 $(RIG).selftests-mmu1

sleep: setup
	@$(RIGS)/machine.sh stock suspend

debug: setup
	@$(RIGS)/machine.sh debug kunit selftests selftests-smp4

bench: setup
	@$(RIGS)/bench.sh

simulate: setup
	@$(RIGS)/simulate.sh

soak: setup
	@$(RIGS)/machine.sh debug soak

hostile: setup
	@$(RIGS)/hostile.sh

igt:
	@$(RIGS)/igt.sh

fuzz:
	@$(RIGS)/fuzz.sh

mutate: setup
	@$(RIGS)/mutate/mutate.py

coverage: setup
	@$(RIGS)/coverage.sh

lint: setup
	@$(RIGS)/lint.sh

docs:
	@$(RIGS)/docs.sh

clean:
	rm -rf out

clean-cache:
	rm -rf "$${PAGODA_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/pagoda}"
