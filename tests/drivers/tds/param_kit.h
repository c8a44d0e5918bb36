/* SPDX-License-Identifier: MIT */
/* param_kit.h - parameters and expected bytes in short. */
#ifndef TDS_PARAM_KIT_H
#define TDS_PARAM_KIT_H

#include "fake_host.h"

/* One parameter; texts must outlive it. */
struct weir_drv_param kit_value(const char *name,
                                const char *hint,
                                int32_t type,
                                const void *p,
                                size_t n);
struct weir_drv_param kit_null(const char *name, const char *hint);
struct weir_drv_param kit_bool(const char *name, const char *hint, int64_t v);
struct weir_drv_param kit_int(const char *name, const char *hint, int64_t v);
struct weir_drv_param kit_uint(const char *name, const char *hint, uint64_t v);
struct weir_drv_param kit_float(const char *name, const char *hint, double v);
struct weir_drv_param kit_text(const char *name,
                               const char *hint,
                               const char *text);
struct weir_drv_param kit_typed(const char *name,
                                const char *hint,
                                int32_t type,
                                const char *text);
struct weir_drv_param kit_bytes(const char *name,
                                const char *hint,
                                const void *p,
                                size_t n);

/* Appends hex digits; UTF-16 of a text that is UTF-8; the same as an nvarchar of
 * its own length, from the length on. */
void kit_hex(struct fake_bytes *b, const char *hex);
void kit_w16(struct fake_bytes *b, const char *text);
void kit_text16(struct fake_bytes *b, const char *text);

/* Cuts a message into packets of type 04 of at most size bytes. */
void kit_packets(struct fake_bytes *b, const uint8_t *p, size_t n, size_t size);

#endif
