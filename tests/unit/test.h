#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

/* cmocka wants these four before itself, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
