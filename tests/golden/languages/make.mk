# vars
CC := gcc
export X = 1
# Builds.
build: a.o b.o
	$(CC) -o x
.PHONY: clean
clean test:
	rm -f x
include other.mk
define foo
 a
endef
ifeq ($(A),1)
B = 2
endif
