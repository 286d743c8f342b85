# gt-recover. `make` builds build/gt-recover; `make help` lists the rest.
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
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
else
MODE_CFLAGS  := -O2 -D_FORTIFY_SOURCE=2
endif
ifdef CI
WERROR := -Werror
endif

LIBS     := libpcre2-8 sqlite3 jansson inih
PKG_C    := $(shell pkg-config --cflags $(LIBS))
PKG_L    := $(shell pkg-config --libs $(LIBS))
WARN     := -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wpointer-arith -Wwrite-strings -Wstrict-prototypes \
            -Wmissing-prototypes -Wconversion -Wno-sign-conversion $(WERROR)
CFLAGS   ?= -g
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DGT_VERSION=\"$(VERSION)\" $(WARN) $(CFLAGS) $(MODE_CFLAGS) -fstack-protector-strong -fPIE -Isrc -I$(MODE)/gen $(PKG_C)
ALL_LDFLAGS := -pie -Wl,-z,relro,-z,now $(MODE_LDFLAGS) $(LDFLAGS)

SRC  := $(filter-out src/main.c,$(wildcard src/*/*.c))
OBJ  := $(SRC:src/%.c=$(MODE)/obj/%.o)
LIB  := $(MODE)/libgtrecover.a
BIN  := $(MODE)/gt-recover
GEN  := $(patsubst config/%.ini,$(MODE)/gen/%.ini.inc,$(wildcard config/*.ini)) \
        $(patsubst templates/%.md,$(MODE)/gen/%.md.inc,$(wildcard templates/*.md))
UNIT := $(patsubst tests/unit/test_%.c,$(MODE)/test_%,$(wildcard tests/unit/test_*.c))

all: $(BIN)

$(BIN): $(MODE)/obj/main.o $(LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_L)

$(LIB): $(OBJ)
	rm -f $@ && ar rcs $@ $^

$(MODE)/obj/%.o: src/%.c $(GEN)
	@mkdir -p $(@D)
	@echo "  CC $@"
	@$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Tables and templates are compiled in as byte lists: #include "secrets.ini.inc" inside an array initialiser.
$(MODE)/gen/%.ini.inc: config/%.ini
	@mkdir -p $(@D)
	od -An -v -tu1 $< | sed 's/  */,/g; s/^,//; s/$$/,/' > $@
$(MODE)/gen/%.md.inc: templates/%.md
	@mkdir -p $(@D)
	od -An -v -tu1 $< | sed 's/  */,/g; s/^,//; s/$$/,/' > $@

$(MODE)/test_%: tests/unit/test_%.c $(LIB)
	$(CC) $(ALL_CFLAGS) -Itests/unit -MMD -MP $(ALL_LDFLAGS) -o $@ $< $(LIB) $(PKG_L) -lcmocka

# The agent that the end-to-end tests and scripts/demo talk to: always plain, whatever mode the program is built in.
FAKE := build/fake-agent
FAKE_SRC := $(wildcard tests/e2e/fake_*.c) $(patsubst %,src/base/%.c,buf clock err fault io json utf8)
fake: $(FAKE)
$(FAKE): $(FAKE_SRC) tests/e2e/fake_agent.h $(wildcard src/base/*.h)
	@mkdir -p $(@D)
	@echo "  CC $@"
	@$(CC) -std=c11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -O1 -Isrc -Itests/e2e $(shell pkg-config --cflags jansson) -o $@ $(FAKE_SRC) $(shell pkg-config --libs jansson)

unit: $(UNIT)
	@set -e; for t in $(UNIT); do echo "== $$t"; $$t; done

clean:
	rm -rf build

.PHONY: all fake unit clean
-include $(OBJ:.o=.d) $(MODE)/obj/main.d $(UNIT:=.d)
