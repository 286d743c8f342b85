# gt-recover. `make` builds build/gt-recover; `make help` lists the rest.
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
HOSTCC  ?= $(CC)
VERSION := 0.1.0

# A mode is a set of flags with a build directory of its own, so that switching modes never mixes objects.
MODE := build
ifdef SAN
MODE := build/san
MODE_CFLAGS  := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -DGT_FAULTS
MODE_LDFLAGS := -fsanitize=address,undefined
else ifdef FAULTS
MODE := build/faults
MODE_CFLAGS  := -O1 -DGT_FAULTS
else ifdef TRACE
MODE := build/trace
MODE_CFLAGS  := -O0 -finstrument-functions -finstrument-functions-exclude-file-list=/usr/
MODE_OBJ     := $(MODE)/trace.o
else
MODE_CFLAGS  := -O2 -D_FORTIFY_SOURCE=2
endif
# What a port to another system replaces (docs/porting.md). make SYSTEM=posix builds build/posix/gt-recover, which needs no /proc.
SYSTEM ?= linux
PLACE := $(MODE)$(if $(filter-out linux,$(SYSTEM)),/$(SYSTEM))
OTHER := $(filter-out $(SYSTEM),linux posix)
ifdef CI
WERROR := -Werror
endif

# The loader looks for each symbol in the libraries in this order. Most are SQLite's own and the C library's: with these first
# the start takes an eighth less.
LIBS     := sqlite3 libpcre2-8 jansson inih hiredis zlib
# rediss:// where hiredis has TLS; make TLS= builds without it
TLS      := $(shell pkg-config --exists hiredis_ssl libssl libcrypto && echo hiredis_ssl libssl libcrypto)
LIBS     += $(TLS)
PKG_C    := $(if $(TLS),-DGT_TLS) $(shell pkg-config --cflags $(LIBS))
# the picker alone includes curses.h
CURSES   := ncursesw
PKG_L    := $(shell pkg-config --libs sqlite3) -lc $(shell pkg-config --libs $(LIBS) $(CURSES)) -lm
WARN     := -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wpointer-arith -Wwrite-strings -Wstrict-prototypes \
            -Wmissing-prototypes -Wconversion -Wno-sign-conversion $(WERROR)
STRICT   := -Wpedantic -Wsign-conversion
CFLAGS   ?= -g
# on 32 bits transcripts may still be larger than 2 GiB
WIDE     := $(if $(filter 4,$(shell echo __SIZEOF_POINTER__ | $(CC) -E -P - 2>/dev/null)),-D_FILE_OFFSET_BITS=64)
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DGT_VERSION=\"$(VERSION)\" $(WARN) $(CFLAGS) $(MODE_CFLAGS) -fstack-protector-strong -fPIE -Isrc -I$(MODE)/gen $(WIDE) $(PKG_C)
ALL_LDFLAGS := -pie -Wl,-z,relro,-z,now $(MODE_LDFLAGS) $(LDFLAGS)

SRC  := $(filter-out src/main.c src/process/$(OTHER).c src/base/sys_$(OTHER).c,$(sort $(shell find src -name '*.c')))
OBJ  := $(SRC:src/%.c=$(MODE)/obj/%.o)
LIB  := $(PLACE)/libgtrecover.a
BIN  := $(PLACE)/gt-recover
GEN  := $(patsubst config/%.ini,$(MODE)/gen/%.ini.inc,$(wildcard config/*.ini)) \
        $(patsubst templates/%,$(MODE)/gen/%.inc,$(wildcard templates/*)) \
        $(patsubst completions/%,$(MODE)/gen/%.inc,$(wildcard completions/*))
# The unit tests are one program: build/unit runs each, build/unit test_lock one. Those that stand in front of functions of the
# library or of libc (a scrubber of their own, an fsync that fails) are programs of their own.
UNIT       := $(PLACE)/unit
UNIT_APART := $(patsubst %,test_%,bead bead_cli conformance_kill git host losses message prompt settle synced)
UNIT_NAMES := $(filter-out $(UNIT_APART),$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c)))
UNIT_OBJ   := $(UNIT_NAMES:%=$(MODE)/unit.d/%.o)
UNIT_ALL   := $(UNIT) $(UNIT_APART:%=$(PLACE)/%)

all: $(BIN)

$(BIN): $(MODE)/obj/main.o $(MODE_OBJ) $(LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_L)

# Compiled and no more, for other compilers' warnings (scripts/world).
gen: $(GEN)
objects: $(OBJ) $(MODE)/obj/main.o

$(LIB): $(OBJ)
	@mkdir -p $(@D) && rm -f $@ && ar rcsP $@ $^

$(MODE)/obj/cli/picker/%.o: PKG_C += $(shell pkg-config --cflags $(CURSES))
$(MODE)/obj/%.o: src/%.c | $(GEN)
	@mkdir -p $(@D)
	@echo "  CC $@"
	@$(CC) $(ALL_CFLAGS) $(STRICT) -MMD -MP -c -o $@ $<

# Templates are compiled in as byte lists: #include "recovery.md.inc" inside an array initialiser. Tables are read here, by the program's own
# sources, and not at every start. These programs run on the machine that builds (HOSTCC).
TOOL_SRC := $(wildcard src/config/toml*.c) $(patsubst %,src/base/%.c,buf err utf8)
TOOL_H   := $(wildcard src/config/toml*.h) $(patsubst %,src/base/%.h,buf err utf8)
SECRETS_SRC := $(patsubst %,src/scrub/rules/%.c,rule keyword)
$(MODE)/gen/secrets: scripts/secrets.c $(SECRETS_SRC) $(TOOL_SRC) $(TOOL_H) \
    $(wildcard src/scrub/*.h src/scrub/*/*.h)
	@mkdir -p $(@D)
	@$(HOSTCC) -std=c11 -D_GNU_SOURCE $(WARN) -O1 -Isrc -o $@ $(filter %.c,$^) $(shell pkg-config --cflags --libs inih)
$(MODE)/gen/secrets.ini.inc: config/secrets.ini $(MODE)/gen/secrets
	$(MODE)/gen/secrets <$< >$@.new && mv $@.new $@
$(MODE)/gen/items: scripts/items.c $(TOOL_SRC) $(TOOL_H)
	@mkdir -p $(@D)
	@$(HOSTCC) -std=c11 -D_GNU_SOURCE $(WARN) -O1 -Isrc -o $@ $(filter %.c,$^) $(shell pkg-config --cflags --libs inih)
$(MODE)/gen/agents.ini.inc: config/agents.ini $(MODE)/gen/items
	$(MODE)/gen/items <$< >$@.new && mv $@.new $@
$(MODE)/gen/%.inc: templates/%
	@mkdir -p $(@D)
	od -An -v -tu1 $< | sed 's/  */,/g; s/^,//; s/$$/,/' > $@
$(MODE)/gen/%.inc: completions/%
	@mkdir -p $(@D)
	od -An -v -tu1 $< | sed 's/  */,/g; s/^,//; s/$$/,/' > $@

$(MODE)/unit.d/%.o: tests/unit/%.c | $(GEN)
	@mkdir -p $(@D)
	@echo "  CC $@"
	@$(CC) $(ALL_CFLAGS) -Itests/unit -Dmain=$* -Wno-missing-prototypes -MMD -MP -c -o $@ $<
$(MODE)/unit.d/main.o: tests/unit/main.c Makefile $(UNIT_NAMES:%=tests/unit/%.c) | $(GEN)
	@mkdir -p $(@D)
	@echo "  CC $@"
	@printf 'UNIT(%s)\n' $(UNIT_NAMES) >$(MODE)/unit.d/tests.inc
	@$(CC) $(ALL_CFLAGS) -I$(MODE)/unit.d -c -o $@ $<
$(UNIT): $(MODE)/unit.d/main.o $(UNIT_OBJ) $(LIB)
	@echo "  LD $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_L) -lcmocka
$(PLACE)/test_%: tests/unit/test_%.c $(LIB)
	@echo "  LD $@"
	@$(CC) $(ALL_CFLAGS) -Itests/unit -MMD -MP $(ALL_LDFLAGS) -o $@ $< $(LIB) $(PKG_L) -lcmocka

# The agent that the end-to-end tests and scripts/demo talk to: always plain, whatever mode the program is built in.
FAKE := build/fake-agent
FILE_FAULT := build/file-fault.so
FAKE_SRC := $(wildcard tests/e2e/fake_*.c) $(patsubst %,src/base/%.c,buf clock err fault io json sys_linux utf8)
fake: $(FAKE) $(FILE_FAULT)
$(FAKE): $(FAKE_SRC) tests/e2e/fake_agent.h $(wildcard src/base/*.h)
	@mkdir -p $(@D)
	@echo "  CC $@"
	@$(CC) -std=c11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -O1 -Isrc -Itests/e2e $(shell pkg-config --cflags jansson) -o $@ $(FAKE_SRC) $(shell pkg-config --libs jansson)

# Stands between a program and its files, and ends it or answers an error there (tests/crash/file_fault.c).
$(FILE_FAULT): tests/crash/file_fault.c
	@mkdir -p $(@D)
	@echo "  CC $@"
	@$(CC) -std=c11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -O1 -fPIC -shared -o $@ $< -ldl

# Completions and the manual's list of options, from the tables of the command line.
completions: $(MODE)/describe
	$(MODE)/describe
	./scripts/json-manual
$(MODE)/describe: scripts/describe.c $(LIB)
	@echo "  LD $@"
	@$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_L)

unit-programs: $(UNIT_ALL)

unit: $(UNIT_ALL)
	$(UNIT)
	@set -e; for t in $(UNIT_APART); do echo "== $$t"; $(PLACE)/$$t; done

# All tests, in the mode that was asked for (make SAN=1 check); scripts/check does the set-up of a bare machine too.
check:
	./scripts/check --no-setup $(if $(SAN),--san)

# The plugins beside which tests/e2e/resurrect.t and continuum.t run; uses the network.
RESURRECT_SOURCE = https://github.com/tmux-plugins
resurrect:
	@dir="$${GT_RECOVER_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/gt-recover}/plugins"; \
	for name in tmux-resurrect tmux-continuum; do \
		[ -d "$$dir/$$name" ] || git clone -q --depth 1 "$(RESURRECT_SOURCE)/$$name" "$$dir/$$name" || exit 1; \
	done

# Every tmux in use, from its release tag; uses the network (TMUX_SOURCE: another repository). Then the tests of tmux with each.
tmux-versions:
	./scripts/tmux-versions $(VERSIONS)
check-tmux: all fake
	$(MAKE) FAULTS=1 all
	./scripts/check-tmux $(VERSIONS) $(TESTS)

lint: $(GEN)
	./scripts/lint

# The real Claude Code as people type it, two versions in three shells, and all other agents that npm installs here; scripts/check runs a few.
agents: all fake
	$(MAKE) FAULTS=1 all
	GT_AGENTS=all GT_RECOVER=$(CURDIR)/build/faults/gt-recover GT_RECOVER_SHIPPED=$(CURDIR)/build/gt-recover prove --verbose tests/agent/typed.t tests/agent/repeated.t tests/agent/others.t tests/agent/others_hooks.t

# Other systems, compilers, C libraries and processors, and docs/compatibility.md from what they show. Needs root and the network.
world:
	./scripts/world $(NAME); status=$$?; ./scripts/compatibility; exit $$status
compatibility:
	./scripts/compatibility

bench: all fake
	./tests/bench/run
	./tests/bench/death
	./tests/bench/fleet
	./tests/bench/scrub
	./tests/bench/hook.pl build/gt-recover
	./tests/bench/epic.pl build/gt-recover

# The README's picture, of a real run.
picture: all fake
	GT_RECOVER=$(CURDIR)/build/gt-recover GT_FAKE_AGENT=$(CURDIR)/build/fake-agent PICTURE=$(CURDIR)/docs/recovery.svg \
	    prove tests/e2e/picture.t

# Files, functions and lines that a command enters: `run create`, `run list`, `prompt`.
trace: fake
	$(MAKE) TRACE=1 all
	./tests/bench/trace $(FLOW)
build/trace/trace.o: tests/bench/trace.c
	@mkdir -p $(@D)
	@$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O1 -fPIE -c -o $@ $<

# How long an agent waits for a hook.
bench-hook: all
	./tests/bench/hook.pl build/gt-recover

bench-scrub: all
	./tests/bench/scrub

# What the scrubber finds of made-up secrets and damages of system text: make score-scrub SEED=NUMBER MOST=MB-OF-EACH-FOLDER
score-scrub: all
	SEED=$(SEED) MOST=$(MOST) ./tests/score/scrub.pl $(FOLDERS)

# The table of secrets against its own samples, and rows of pictures in base64 that may not change
formats: all
	./scripts/formats
	./scripts/json-manual --check
score-base64: all
	./tests/score/base64 $(FOLDERS)

# A million finished runs and what their leaving makes of the file: make bench-history RUNS=1000000 KEEP=100000
bench-history: build/bench-history
	dir=$$(mktemp -d) && build/bench-history --runs $(or $(RUNS),1000000) --keep $(or $(KEEP),100000) $$dir; \
	    status=$$?; rm -rf "$$dir"; exit $$status
build/bench-history: tests/bench/history.c build/libgtrecover.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_L)
bench-read: build/bench-read
build/bench-read: tests/bench/read.c build/libgtrecover.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_L)
build/bench-store build/bench-startup: build/bench-%: tests/bench/%.c build/libgtrecover.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_L)

# A disk that loses power under the store (tests/crash/disk.h): its calls take the place of the C library's.
DISK := $(wildcard tests/crash/disk*.c)
powerloss: $(MODE)/powerloss
$(MODE)/powerloss: tests/crash/powerloss.c $(DISK) tests/crash/disk.h tests/crash/disk_private.h $(LIB)
	@echo "  CC $@"
	@$(CC) $(ALL_CFLAGS) -Itests/crash $(ALL_LDFLAGS) -Wl,--wrap=db_set_pragmas -o $@ $(filter %.c,$^) $(LIB) $(PKG_L)

# A kill, a look, and then the power goes: the same disk.
$(MODE)/killed: tests/crash/killed.c $(DISK) tests/crash/disk.h tests/crash/disk_private.h $(LIB)
	@echo "  CC $@"
	@$(CC) $(ALL_CFLAGS) -Itests/crash $(ALL_LDFLAGS) -Wl,--wrap=sqlite_sync_left -o $@ $(filter %.c,$^) $(LIB) $(PKG_L)

# Prompts, snapshots and the spool on that disk.
$(MODE)/written: tests/crash/written.c $(DISK) tests/crash/disk.h tests/crash/disk_private.h $(LIB)
	@echo "  CC $@"
	@$(CC) $(ALL_CFLAGS) -Itests/crash $(ALL_LDFLAGS) -o $@ $(filter %.c,$^) $(LIB) $(PKG_L)

# A disk that gives back other bytes (tests/crash/rot.c): make rot FLIPS=10000 PAGES=1000 REST=1000 SEED=1
rot:
	FLIPS=$(or $(FLIPS),10000) PAGES=$(or $(PAGES),1000) REST=$(or $(REST),1000) SEED=$(or $(SEED),$(shell date +%s)) \
	    prove --verbose tests/crash/rot.t
$(MODE)/rot: tests/crash/rot.c $(LIB)
	@echo "  CC $@"
	@$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -Wl,--wrap=store_checksum -o $@ $< $(LIB) $(PKG_L)

# Processes that keep a ledger die at random steps on that disk, beside an oracle (tests/crash/sim.h): make sim STEPS=100000 SEED=1
SIM_WRAP := raise timestamp_now clock_wall_ms proc_ticks proc_life proc_life_in tree_repair event_commit config_text
sim:
	CRASHES=$(or $(STEPS),20000) SEED=$(or $(SEED),$(shell date +%s)) prove --verbose tests/crash/sim.t
$(MODE)/sim: $(wildcard tests/crash/sim*.c) $(DISK) tests/crash/sim.h tests/crash/disk.h tests/crash/disk_private.h $(LIB)
	@echo "  CC $@"
	@$(CC) $(ALL_CFLAGS) -Itests/crash $(ALL_LDFLAGS) $(SIM_WRAP:%=-Wl,--wrap=%) -o $@ $(filter %.c,$^) $(LIB) $(PKG_L)

# Long forms of what scripts/check runs short: recoveries in a row, looks at living agents, eight --all at once, eight claimers of
# runs, every verb killed and failed at every file call, millions of power losses, a hundred thousand deaths of processes that keep a
# ledger.
stress: all fake
	$(MAKE) FAULTS=1 all
	$(MAKE) build/unit && GT_CLAIM_RUNS=$(or $(RUNS),5000) build/unit test_run
	RECOVERIES=$(or $(N),200) PROBES=$(or $(PROBES),10000) ROUNDS=$(or $(ROUNDS),1000) GT_RECOVER=$(CURDIR)/build/faults/gt-recover \
	    GT_FAKE_AGENT=$(CURDIR)/$(FAKE) prove --verbose tests/e2e/row.t tests/e2e/probes.t tests/e2e/race.t
	KILL_ALL=1 FAIL_ALL=1 GT_RECOVER=$(CURDIR)/build/faults/gt-recover prove --verbose tests/crash/kill.t tests/crash/fail.t
	CRASHES=$(or $(CRASHES),5000000) SEED=$(or $(SEED),$(shell date +%s)) prove --verbose tests/crash/powerloss.t
	$(MAKE) sim STEPS=$(or $(STEPS),100000)

# Agents started inside shells, in every state of tests/shell/matrix.sh and not only in those of scripts/check; also fish 4, oh-my-zsh and
# starship, which tests/shell/fetch brings by the network, and shells of another user than root. What cannot be had is skipped and counted.
ALL_CASES = plain half middle quote continued history search menu literal paste stopped vi-normal vi-pending alias function nvm venv suspended typing
DASH_CASES = plain half middle quote continued stopped nvm venv suspended typing
SOME_CASES = plain half quote search menu vi-normal
SHELLS = 'bash//$(ALL_CASES)' 'zsh//$(ALL_CASES) suggest' 'fish//$(ALL_CASES) suggest' 'dash//$(DASH_CASES)' \
	'fish/fish4/$(ALL_CASES) suggest' 'zsh/omz/$(ALL_CASES) suggest' 'bash/starship/$(SOME_CASES)' \
	'zsh/starship/$(SOME_CASES) suggest' 'fish/starship/$(SOME_CASES) suggest' \
	'bash/user/$(SOME_CASES)' 'zsh/user/$(SOME_CASES) suggest' 'fish/user/$(SOME_CASES) suggest' 'dash/user/plain half quote'
shells: all fake
	$(MAKE) FAULTS=1 all
	failed=0; for row in $(SHELLS); do \
		shell=$${row%%/*} with=$${row#*/}; cases=$${with#*/} with=$${with%%/*}; echo "== $$shell $$with"; \
		WITH=$$with CASES=$$cases GT_RECOVER=$(CURDIR)/build/faults/gt-recover GT_FAKE_AGENT=$(CURDIR)/$(FAKE) \
		prove --verbose tests/e2e/shell_$$shell.t || failed=1; done; exit $$failed

# Agents, recoverers, passes of snapshots and tmux servers die at random for SECONDS, on PANES panes; SEED repeats the order of events.
chaos: SECONDS = 900
chaos: all fake
	$(MAKE) FAULTS=1 all
	CHAOS_SECONDS=$(SECONDS) CHAOS_PANES=$(or $(PANES),50) CHAOS_SEED=$(SEED) GT_RECOVER=$(CURDIR)/build/faults/gt-recover \
		GT_FAKE_AGENT=$(CURDIR)/$(FAKE) prove --verbose tests/crash/chaos.t

# An epic of five sprints whose agents die CRASHES times; SEED repeats where.
chaos-epic: all fake
	EPIC_CRASHES=$(or $(CRASHES),10) EPIC_STEPS=$(or $(STEPS),40) EPIC_SEED=$(SEED) GT_RECOVER=$(CURDIR)/build/gt-recover \
		GT_FAKE_AGENT=$(CURDIR)/$(FAKE) prove --verbose tests/crash/epic.t

golden-update: $(UNIT_ALL)
	@for t in $(UNIT_ALL); do GT_GOLDEN_UPDATE=1 $$t >/dev/null 2>&1 || true; done; git status --short tests/golden

# libFuzzer, clang: make fuzz SECONDS=600 runs the readers' targets side by side, make fuzz T=toml one. What they find is in build/fuzz; a corpus
# worth keeping is merged into tests/fuzz/corpus, which every check replays (tests/fuzz/replay.c).
SECONDS ?= 60
T       ?= screen transcript merge scrub
FUZZ    := $(MAKE) CC=clang MODE=build/fuzz MODE_CFLAGS='-fsanitize=fuzzer-no-link,address,undefined -O1' MODE_LDFLAGS='-fsanitize=fuzzer-no-link,address,undefined'
fuzz: $(GEN)
	$(FUZZ) $(T:%=build/fuzz/fuzz_%)
	@pids=; for t in $(T); do \
		mkdir -p build/fuzz/corpus-$$t tests/fuzz/corpus/$$t && \
		build/fuzz/fuzz_$$t -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=1024 -max_len=16384 -print_final_stats=1 -artifact_prefix=build/fuzz/$$t- \
			build/fuzz/corpus-$$t tests/fuzz/corpus/$$t >build/fuzz/$$t.log 2>&1 & pids="$$pids $$!"; \
	done; bad=0; for pid in $$pids; do wait $$pid || bad=1; done; \
	for t in $(T); do echo "== $$t"; grep -E 'SUMMARY|ERROR|number_of_executed|new_units_added|peak_rss' build/fuzz/$$t.log; done; exit $$bad
# Takes into the kept corpus what reaches code that nothing there reaches.
fuzz-keep:
	for t in $(T); do build/fuzz/fuzz_$$t -merge=1 -max_len=4096 tests/fuzz/corpus/$$t build/fuzz/corpus-$$t >/dev/null 2>&1 || exit 1; done
# the scrubber's target counts the work
$(MODE)/fuzz_scrub $(MODE)/replay_scrub: WRAP := -Wl,--wrap=keyword_scan,--wrap=keyword_scan_lanes,--wrap=pattern_find,--wrap=known_find
$(MODE)/fuzz_%: tests/fuzz/fuzz_%.c $(LIB)
	$(CC) $(ALL_CFLAGS) -Itests/unit -fsanitize=fuzzer $(ALL_LDFLAGS) -fsanitize=fuzzer $(WRAP) -o $@ $< $(LIB) $(PKG_L)
$(MODE)/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(LIB)
	$(CC) $(ALL_CFLAGS) -Itests/unit $(ALL_LDFLAGS) $(WRAP) -o $@ $< tests/fuzz/replay.c $(LIB) $(PKG_L)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 \
	    $(DESTDIR)$(PREFIX)/share/doc/gt-recover $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d $(DESTDIR)$(PREFIX)/share/gt-recover
	install -m 755 gt-recover.tmux $(DESTDIR)$(PREFIX)/share/gt-recover/
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/gt-recover
	install -m 644 man/gt-recover.1 man/gt-recover-epic.1 man/gt-recover-records.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 man/gt.toml.5 man/gt-recover-secrets.5 man/gt-recover-json.5 $(DESTDIR)$(PREFIX)/share/man/man5/
	install -d $(DESTDIR)$(PREFIX)/share/gt-recover/schemas
	install -m 644 schemas/gt-recover.json $(DESTDIR)$(PREFIX)/share/gt-recover/schemas/
	install -m 644 README.md CHANGELOG.md LICENSE gt.toml.example $(DESTDIR)$(PREFIX)/share/doc/gt-recover/
	install -m 644 completions/gt-recover.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/gt-recover
	install -m 644 completions/gt-recover.zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_gt-recover
	install -m 644 completions/gt-recover.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/gt-recover.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/gt-recover $(DESTDIR)$(PREFIX)/share/man/man1/gt-recover.1 \
	    $(DESTDIR)$(PREFIX)/share/man/man1/gt-recover-epic.1 $(DESTDIR)$(PREFIX)/share/man/man1/gt-recover-records.1 \
	    $(DESTDIR)$(PREFIX)/share/man/man5/gt.toml.5 \
	    $(DESTDIR)$(PREFIX)/share/man/man5/gt-recover-secrets.5 $(DESTDIR)$(PREFIX)/share/man/man5/gt-recover-json.5 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/gt-recover $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_gt-recover \
	    $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/gt-recover.fish
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/gt-recover $(DESTDIR)$(PREFIX)/share/gt-recover

version:
	@echo $(VERSION)
# The last commit as a source archive. Times and owners are the commit's and gzip writes no time, so that each clone makes the same bytes.
dist:
	@rm -rf build/dist && mkdir -p build/dist
	git -c tar.umask=0022 archive --format=tar --prefix=gt-recover-$(VERSION)/ HEAD | gzip -9n >build/dist/gt-recover-$(VERSION).tar.gz
	cd build/dist && sha256sum gt-recover-$(VERSION).tar.gz >gt-recover-$(VERSION).tar.gz.sha256
deb:
	./scripts/deb
release:
	./scripts/release

help:
	@echo 'make            build/gt-recover          make check     every test (make SAN=1 check: under the sanitizers)'
	@echo 'make unit       the unit tests alone      make lint      floors, cppcheck, shellcheck, mandoc'
	@echo 'make agents     every other real agent that npm installs, killed and recovered'
	@echo 'make shells     agents typed into shells, in every state: fish 4, oh-my-zsh and starship too'
	@echo 'make world      other systems, compilers, libraries and processors (root, network): NAME=debian-13'
	@echo 'make bench-history  the store after a million runs have left: RUNS=… KEEP=…'
	@echo 'make bench      speed and memory          make stress    the long tests (N= PROBES= ROUNDS= RUNS= CRASHES= STEPS=)'
	@echo 'make SYSTEM=posix  build/posix/gt-recover, which needs no /proc (docs/porting.md)'
	@echo 'make sim        the ledger, beside an oracle: STEPS=… processes die at random, SEED=… repeats them'
	@echo 'make rot        a disk that changes bits, pages and sizes: FLIPS=… PAGES=… REST=… SEED=…'
	@echo 'make chaos      15 minutes of crashes     SECONDS=… PANES=… SEED=… of the order that it prints'
	@echo 'make chaos-epic  ten crashes of an epic CRASHES=… STEPS=… SEED=…'
	@echo 'make tmux-versions  builds each tmux in use   make check-tmux  the tests with each (VERSIONS=… TESTS=…)'
	@echo 'make completions  completions and the manual'\''s list of options, from the tables in src/cli'
	@echo 'make picture    the picture of the README, from a real run'
	@echo 'make dist       the source archive        make deb       the Debian package   make release  checks and both (RELEASING.md)'
	@echo 'make fuzz       libFuzzer, SECONDS=60 T=… make install   PREFIX=/usr/local DESTDIR='

clean:
	rm -rf build

# or make takes them for intermediate files and removes them
.SECONDARY: $(GEN)

.PHONY: all gen objects world compatibility resurrect tmux-versions check-tmux shells trace fake completions unit unit-programs check lint agents picture bench bench-history bench-hook bench-read bench-scrub score-scrub score-base64 formats powerloss rot sim stress chaos chaos-epic golden-update fuzz fuzz-keep install uninstall version dist deb release help clean
-include $(OBJ:.o=.d) $(MODE)/obj/main.d $(UNIT_OBJ:.o=.d) $(UNIT_APART:%=$(PLACE)/%.d)
