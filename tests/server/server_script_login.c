/* SPDX-License-Identifier: MIT */
/* Tokens of scripts that belong to a login (MS-TDS 2.2.7): acknowledgements,
 * federated authentication, session state. */
#include <string.h>

#include "server_const.h"
#include "server_reply.h"
#include "server_script_parse.h"

#define TOK_SESSIONSTATE 0xE4u
#define TOK_SSPI         0xEDu
#define TOK_FEDAUTHINFO  0xEEu

/* featureack ID [0x..], ID [0x..], .. */
int tdsd_script_feature_read(struct tdsd_script_parser *parser,
                             struct tdsd_buf *out) {
  tdsd_buf_u8(out, TDSD_TOK_FEATUREEXTACK);
  while (!tdsd_script_is_end(parser)) {
    uint32_t id = 0;
    if (tdsd_script_u32(parser, 0xFE, &id) < 0) {
      return -1;
    }
    tdsd_buf_u8(out, id);
    if (parser->token.lexeme == TDSD_SL_HEX ||
        parser->token.lexeme == TDSD_SL_STRING) {
      tdsd_buf_u32(out, (uint32_t)parser->token.len);
      tdsd_buf_bytes(out, parser->token.text, parser->token.len);
      (void)tdsd_script_next(parser);
    } else {
      tdsd_buf_u32(out, 0);
    }
    if (!tdsd_script_accept_sign(parser, ',')) {
      break;
    }
  }
  tdsd_buf_u8(out, TDSD_FEAT_END);
  return 0;
}

/* fedauthinfo "STS URL" "SPN". */
int tdsd_script_fedauthinfo_read(struct tdsd_script_parser *parser,
                                 struct tdsd_buf *out) {
  const char *texts[2] = {NULL, NULL};
  uint32_t lengths[2];
  for (int i = 0; i < 2; i++) {
    if (tdsd_script_string(parser, &texts[i]) < 0) {
      return -1;
    }
  }
  tdsd_buf_u8(out, TOK_FEDAUTHINFO);
  size_t at = tdsd_buf_len(out);
  tdsd_buf_u32(out, 0);
  tdsd_buf_u32(out, 2);
  size_t table = tdsd_buf_len(out);
  for (uint32_t i = 0; i < 2; i++) {
    tdsd_buf_u8(out, i + 1);
    tdsd_buf_u32(out, 0);
    tdsd_buf_u32(out, 0);
  }
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t offset = (uint32_t)(tdsd_buf_len(out) - at - 4);
    lengths[i] = 2 * (uint32_t)tdsd_buf_w16(out, texts[i], strlen(texts[i]));
    tdsd_buf_put_u32(out, table + 9 * i + 1, lengths[i]);
    tdsd_buf_put_u32(out, table + 9 * i + 5, offset);
  }
  tdsd_buf_put_u32(out, at, (uint32_t)(tdsd_buf_len(out) - at - 4));
  return 0;
}

/* sessionstate SEQUENCE STATUS [ID 0x.., ..]. */
int tdsd_script_sessionstate_read(struct tdsd_script_parser *parser,
                                  struct tdsd_buf *out) {
  uint32_t sequence = 0;
  uint32_t status = 0;
  if (tdsd_script_u32(parser, UINT32_MAX, &sequence) < 0 ||
      tdsd_script_u32(parser, 0xFF, &status) < 0) {
    return -1;
  }
  tdsd_buf_u8(out, TOK_SESSIONSTATE);
  size_t at = tdsd_buf_len(out);
  tdsd_buf_u32(out, 0);
  tdsd_buf_u32(out, sequence);
  tdsd_buf_u8(out, status);
  while (!tdsd_script_is_end(parser)) {
    uint32_t id = 0;
    const uint8_t *bytes = NULL;
    size_t len = 0;
    if (tdsd_script_u32(parser, 0xFF, &id) < 0 ||
        tdsd_script_bytes(parser, &bytes, &len) < 0) {
      return -1;
    }
    tdsd_buf_u8(out, id);
    tdsd_buf_u8(out, len < 0xFF ? (uint32_t)len : 0xFFu);
    if (len >= 0xFF) {
      tdsd_buf_u32(out, (uint32_t)len);
    }
    tdsd_buf_bytes(out, bytes, len);
    if (!tdsd_script_accept_sign(parser, ',')) {
      break;
    }
  }
  tdsd_buf_put_u32(out, at, (uint32_t)(tdsd_buf_len(out) - at - 4));
  return 0;
}

/* loginack [interface=N] [version=0x..] [server=0x..] ["program"]. */
int tdsd_script_loginack_read(struct tdsd_script_parser *parser,
                              struct tdsd_buf *out) {
  static const uint32_t versions[TDSD_LAYOUTS] = {TDSD_V71, TDSD_V72, TDSD_V74};
  uint32_t interface = 1;
  uint32_t version = versions[parser->layout];
  uint32_t server = 0x100003E8;
  const char *program = TDSD_PROGRAM;
  int rc = 0;
  while (rc == 0 && !tdsd_script_is_end(parser)) {
    if (tdsd_script_accept_option(parser, "interface")) {
      rc = tdsd_script_u32(parser, 0xFF, &interface);
    } else if (tdsd_script_accept_option(parser, "version")) {
      rc = tdsd_script_u32(parser, UINT32_MAX, &version);
    } else if (tdsd_script_accept_option(parser, "server")) {
      rc = tdsd_script_u32(parser, UINT32_MAX, &server);
    } else {
      rc = tdsd_script_string(parser, &program);
    }
  }
  if (rc < 0) {
    return -1;
  }
  tdsd_buf_u8(out, TDSD_TOK_LOGINACK);
  size_t at = tdsd_script_open_length(out);
  tdsd_buf_u8(out, interface);
  tdsd_buf_u32be(out, version);
  tdsd_buf_b_varchar(out, program);
  tdsd_buf_u32be(out, server);
  tdsd_script_close_length(out, at);
  return 0;
}

/* sspi 0x.. */
int tdsd_script_sspi_read(struct tdsd_script_parser *parser,
                          struct tdsd_buf *out) {
  const uint8_t *bytes = NULL;
  size_t len = 0;
  if (tdsd_script_bytes(parser, &bytes, &len) < 0) {
    return -1;
  }
  tdsd_buf_u8(out, TOK_SSPI);
  tdsd_buf_u16(out, (uint32_t)len & 0xFFFF);
  tdsd_buf_bytes(out, bytes, len);
  return 0;
}
