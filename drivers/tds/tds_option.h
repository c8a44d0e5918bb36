/* SPDX-License-Identifier: MIT */
/* tds_option.h - what the files behind tds_options.h share: one option, its
 * value, and what is said when it is refused. */
#ifndef TDS_OPTION_H
#define TDS_OPTION_H

#include "tds_options.h"

enum tds_option {
  O_SERVER,
  O_DATABASE,
  O_USER,
  O_PASSWORD,
  O_AUTHENTICATION,
  O_TOKEN,
  O_INTEGRATED,
  O_ENCRYPT,
  O_TRUST,
  O_CERT_HOST,
  O_CERT_FILE,
  O_CA_FILE,
  O_APP,
  O_WORKSTATION,
  O_LANGUAGE,
  O_PACKET_SIZE,
  O_PREPARED,
  O_INTENT,
  O_ADDRESSES,
  O_MULTI_SUBNET,
  O_PARTNER,
  O_PARTNER_SPN,
  O_SERVER_SPN,
  O_RETRY_COUNT,
  O_RETRY_INTERVAL,
  O_PERSIST,
  O_TYPE_SYSTEM,
  O_MARS,
  O_ENCRYPTION_SETTING,
  O_ENCLAVE_URL,
  O_ATTESTATION,
  O_ATTACH,
  O_USER_INSTANCE,
  O_REPLICATION,
  O_CONTEXT,
  O_LIBRARY,
  O_ASYNC,
  O_COUNT
};

/* The option as connection strings call it. */
const char *tds_option_name(enum tds_option o);

/* The option of a name or an alias; O_COUNT if there is none. */
enum tds_option tds_option_find(struct weir_drv_text name);

/* Refuse an option: a value that is wrong, one that is not built, no memory.
 * Each returns WEIR_DRV_FAIL. */
weir_drv_status tds_option_bad(struct weir_drv_error *err,
                               enum tds_option o,
                               const char *why);
weir_drv_status tds_option_unsupported(struct weir_drv_error *err,
                                       enum tds_option o,
                                       const char *why);
weir_drv_status tds_option_no_memory(struct weir_drv_error *err);

/* Whether a text is a word: without regard to case and, in the second form, to
 * blanks ("Sql Password"). */
bool tds_option_same(struct weir_drv_text a, const char *word);
bool tds_option_same_loosely(struct weir_drv_text a, const char *word);

/* The text of a value; numbers and booleans have none. */
struct weir_drv_text tds_option_text(const struct weir_drv_value *v);

/* 0 or 1, or -1 if v is no truth value. */
int tds_option_bool(const struct weir_drv_value *v);

/* 0 to 65535 (any int32 if v is a number), or -1. */
int64_t tds_option_number(const struct weir_drv_value *v);

/* Digits only, at most 65535; else -1. */
int64_t tds_option_digits(const char *p, size_t n);

/* Replaces a setting.  Returns TDS_OK or TDS_E_NOMEM. */
int tds_option_copy(const struct tds_mem *mem,
                    struct tds_setting *s,
                    const char *p,
                    size_t n);

/* Takes a text that goes to the server or names a file; in the second form one
 * that LOGIN7 carries, of at most 128 UTF-16 units. */
weir_drv_status tds_option_set_text(struct weir_drv_cfg *cfg,
                                    struct tds_setting *s,
                                    enum tds_option o,
                                    const struct weir_drv_value *v,
                                    struct weir_drv_error *err);
weir_drv_status tds_option_set_login_text(struct weir_drv_cfg *cfg,
                                          struct tds_setting *s,
                                          enum tds_option o,
                                          const struct weir_drv_value *v,
                                          struct weir_drv_error *err);

/* Server: protocol, host and port (tds_option_server.c). */
weir_drv_status tds_option_set_server(struct weir_drv_cfg *cfg,
                                      const struct weir_drv_value *v,
                                      struct weir_drv_error *err);

/* Authentication, and what goes with what (tds_option_auth.c). */
weir_drv_status tds_option_set_auth(struct weir_drv_cfg *cfg,
                                    const struct weir_drv_value *v,
                                    struct weir_drv_error *err);
weir_drv_status tds_option_check_auth(struct weir_drv_cfg *cfg,
                                      struct weir_drv_error *err);

/* An option that is understood so far as to be refused, or to be ignored, for a
 * reason (tds_option_refuse.c). */
weir_drv_status tds_option_refuse(enum tds_option o,
                                  const struct weir_drv_value *v,
                                  struct weir_drv_error *err);

#endif
