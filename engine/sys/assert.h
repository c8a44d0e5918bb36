/* SPDX-License-Identifier: MIT */
/* assert.h - assertions: they describe bugs, never weather. */
#ifndef WEIR_SYS_ASSERT_H
#define WEIR_SYS_ASSERT_H

#if defined(NDEBUG)
#  define WEIR_ASSERT(cond) ((void)sizeof(cond))
#else
/* Prints the condition and its place and aborts.  Tests rely on the text. */
_Noreturn void weir__assert_fail(const char *cond, const char *file, int line);
#  define WEIR_ASSERT(cond) \
    ((cond) ? (void)0 : weir__assert_fail(#cond, __FILE__, __LINE__))
#endif

#endif
