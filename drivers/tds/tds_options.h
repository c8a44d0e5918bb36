/* SPDX-License-Identifier: MIT */
/* tds_options.h - options of the connection string: names, checks, keys. */
#ifndef TDS_OPTIONS_H
#define TDS_OPTIONS_H

#include "weir_driver.h"

#include "tds_buf.h"

/* A text of the configuration, NUL-terminated; "" if not given. */
struct tds_setting {
  char *p;
  size_t n;
};

/* How to log in. */
#define TDS_AUTH_PASSWORD 0 /* User ID and Password */
#define TDS_AUTH_TOKEN    1 /* a token, sent with the login */
#define TDS_AUTH_ASKED    2 /* a token for what the server asks */

/* Which addresses of a name come first. */
#define TDS_ADDRESSES_IPV4   0
#define TDS_ADDRESSES_IPV6   1
#define TDS_ADDRESSES_SYSTEM 2 /* as they were found */

/* One validated configuration: struct weir_drv_cfg of this driver.  Does not
 * change after config_create. */
struct weir_drv_cfg {
  const struct tds_mem *mem;
  struct tds_setting server; /* as given */
  struct tds_setting host;   /* lower case, without prefix and port */
  struct tds_setting database;
  struct tds_setting user;
  struct tds_setting host_in_certificate;
  struct tds_setting server_certificate;
  struct tds_setting ca_file;
  struct tds_setting app;
  struct tds_setting workstation;
  struct tds_setting language;
  struct tds_setting auth_word; /* as Authentication spells it, if given */
  uint32_t port;
  uint32_t packet_size;
  uint32_t prepared; /* statements kept prepared on a connection */
  int encrypt;       /* TDS_ENCRYPT_* */
  uint8_t auth;      /* TDS_AUTH_* */
  uint8_t workflow;  /* of TDS_AUTH_ASKED */
  uint8_t addresses; /* TDS_ADDRESSES_* */
  bool auth_given;
  bool token_given;
  bool trust;
  bool multi_subnet;
  bool read_only;
  bool password_given;
};

/* What options() of the driver table answers. */
const struct weir_drv_option_info *tds_options_list(uint32_t *out_n);

/* config_create of the driver table.  mem must outlive the result. */
weir_drv_status tds_options_parse(const struct tds_mem *mem,
                                  const struct weir_drv_option *o,
                                  uint32_t n,
                                  struct weir_drv_cfg **out,
                                  struct weir_drv_error *err);

/* Gives it back; NULL is fine. */
void tds_options_free(struct weir_drv_cfg *cfg);

/* config_key and config_info of the driver table. */
weir_drv_status tds_options_key(const struct weir_drv_cfg *cfg,
                                int32_t which,
                                const struct weir_drv_key_sink *sink);
bool tds_options_cloud(const struct weir_drv_cfg *cfg);

#endif
