/* SPDX-License-Identifier: MIT */
#include "server_tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server_buf.h"
#include "server_const.h"
#include "server_login.h"

#define LINKTYPE_RAW   101u
#define SERVER_ADDRESS 0x0AFFFFFEu
#define SERVER_PORT    1433u
#define HEADERS        40u

#define TCP_FIN 0x01u
#define TCP_SYN 0x02u
#define TCP_PSH 0x08u
#define TCP_ACK 0x10u

struct tdsd_tap {
  FILE *file;
};

struct tdsd_tap *tdsd_tap_open(const char *path, char *why, size_t cap) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
  struct tdsd_tap *tap = file == NULL ? NULL : calloc(1, sizeof *tap);
  if (tap == NULL) {
    (void)snprintf(why, cap, "%s: %s", path, strerrordesc_np(errno));
    if (file != NULL) {
      (void)fclose(file);
    } else if (fd >= 0) {
      (void)close(fd);
    }
    return NULL;
  }
  tap->file = file;
  struct tdsd_buf head = {0};
  tdsd_buf_u32(&head, 0xA1B2C3D4);
  tdsd_buf_u16(&head, 2);
  tdsd_buf_u16(&head, 4);
  tdsd_buf_u64(&head, 0);
  tdsd_buf_u32(&head, 65535);
  tdsd_buf_u32(&head, LINKTYPE_RAW);
  (void)fwrite(tdsd_buf_at(&head), 1, tdsd_buf_len(&head), file);
  tdsd_buf_fini(&head);
  return tap;
}

void tdsd_tap_close(struct tdsd_tap *tap) {
  if (tap != NULL) {
    (void)fclose(tap->file);
    free(tap);
  }
}

static uint32_t sum_of(const uint8_t *bytes, size_t len, uint32_t sum) {
  for (size_t i = 0; i + 1 < len; i += 2) {
    sum += tdsd_get_u16be(bytes + i);
  }
  return len % 2 != 0 ? sum + ((uint32_t)bytes[len - 1] << 8) : sum;
}

static uint16_t fold(uint32_t sum) {
  while (sum >> 16 != 0) {
    sum = (sum & 0xFFFF) + (sum >> 16);
  }
  return (uint16_t)~sum;
}

static void put_u16be(uint8_t *to, uint32_t value) {
  to[0] = (uint8_t)(value >> 8);
  to[1] = (uint8_t)value;
}

/* Fills in both checksums of a packet whose headers are 20 + 20 bytes. */
static void set_checksums(uint8_t *ip, size_t len) {
  uint32_t pseudo = sum_of(ip + 12, 8, 6 + (uint32_t)(len - 20));
  put_u16be(ip + 10, fold(sum_of(ip, 20, 0)));
  put_u16be(ip + 36, fold(sum_of(ip + 20, len - 20, pseudo)));
}

static void write_headers(struct tdsd_buf *out,
                          const struct tdsd_tap_flow *flow,
                          bool from_client,
                          uint32_t flags,
                          size_t len) {
  tdsd_buf_u16be(out, 0x4500);
  tdsd_buf_u16be(out, (uint32_t)(HEADERS + len));
  tdsd_buf_u32be(out, 0x00004000); /* no id, do not fragment */
  tdsd_buf_u16be(out, 0x4006);     /* 64 hops, TCP */
  tdsd_buf_u16be(out, 0);
  tdsd_buf_u32be(out, from_client ? flow->address : SERVER_ADDRESS);
  tdsd_buf_u32be(out, from_client ? SERVER_ADDRESS : flow->address);
  tdsd_buf_u16be(out, from_client ? flow->port : SERVER_PORT);
  tdsd_buf_u16be(out, from_client ? SERVER_PORT : flow->port);
  tdsd_buf_u32be(out, from_client ? flow->client_seq : flow->server_seq);
  tdsd_buf_u32be(out, flags == TCP_SYN ? 0
                      : from_client    ? flow->server_seq
                                       : flow->client_seq);
  tdsd_buf_u16be(out, 0x5000 | flags);
  tdsd_buf_u16be(out, 0xFFFF);
  tdsd_buf_u32be(out, 0); /* checksum, urgent pointer */
}

static void write_segment(struct tdsd_tap *tap,
                          struct tdsd_tap_flow *flow,
                          bool from_client,
                          uint32_t flags,
                          const uint8_t *bytes,
                          size_t len) {
  struct tdsd_buf out = {0};
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  tdsd_buf_u32(&out, (uint32_t)now.tv_sec);
  tdsd_buf_u32(&out, (uint32_t)(now.tv_nsec / 1000));
  tdsd_buf_u32(&out, (uint32_t)(HEADERS + len));
  tdsd_buf_u32(&out, (uint32_t)(HEADERS + len));
  write_headers(&out, flow, from_client, flags, len);
  tdsd_buf_bytes(&out, bytes, len);
  if (!out.failed) {
    set_checksums(tdsd_buf_at(&out) + 16, HEADERS + len);
    (void)fwrite(tdsd_buf_at(&out), 1, tdsd_buf_len(&out), tap->file);
  }
  tdsd_buf_fini(&out);
  uint32_t moved = (uint32_t)len + ((flags & (TCP_SYN | TCP_FIN)) != 0 ? 1 : 0);
  if (from_client) {
    flow->client_seq += moved;
  } else {
    flow->server_seq += moved;
  }
}

void tdsd_tap_begin(struct tdsd_tap *tap,
                    struct tdsd_tap_flow *flow,
                    uint32_t number,
                    uint16_t port) {
  if (tap == NULL) {
    return;
  }
  *flow =
      (struct tdsd_tap_flow){.address = 0x0A000000u | ((number + 1) & 0xFFFFFF),
                             .port = port,
                             .open = true,
                             .client_seq = 1000,
                             .server_seq = 5000};
  write_segment(tap, flow, true, TCP_SYN, NULL, 0);
  write_segment(tap, flow, false, TCP_SYN | TCP_ACK, NULL, 0);
  write_segment(tap, flow, true, TCP_ACK, NULL, 0);
}

void tdsd_tap_end(struct tdsd_tap *tap, struct tdsd_tap_flow *flow) {
  if (tap == NULL || !flow->open) {
    return;
  }
  write_segment(tap, flow, true, TCP_FIN | TCP_ACK, NULL, 0);
  write_segment(tap, flow, false, TCP_FIN | TCP_ACK, NULL, 0);
  write_segment(tap, flow, true, TCP_ACK, NULL, 0);
  (void)fflush(tap->file);
  flow->open = false;
}

/* Overwrites the passwords, scrambled, by as many 'x'.  A LOGIN7 may span
 * packets, so their places are counted from its start. */
static void mask_login(struct tdsd_tap_flow *flow, uint8_t *body, size_t len) {
  static const uint8_t scrambled_x[2] = {0x22, 0xA5};
  if (flow->login_bytes == 0) {
    tdsd_login_secrets(body, len, flow->secret_from, flow->secret_to);
  }
  for (size_t i = 0; i < len; i++) {
    size_t at = flow->login_bytes + i;
    for (unsigned n = 0; n < TDSD_LOGIN_SECRETS; n++) {
      if (at >= flow->secret_from[n] && at < flow->secret_to[n]) {
        body[i] = scrambled_x[(at - flow->secret_from[n]) % 2];
      }
    }
  }
  flow->login_bytes += len;
}

/* Two lengths, then the token. */
static void mask_token(struct tdsd_tap_flow *flow, uint8_t *body, size_t len) {
  for (size_t i = 0; i < len; i++) {
    if (flow->token_bytes + i >= 8) {
      body[i] = (flow->token_bytes + i) % 2 == 0 ? 'x' : 0;
    }
  }
  flow->token_bytes += len;
}

void tdsd_tap_packet(struct tdsd_tap *tap,
                     struct tdsd_tap_flow *flow,
                     bool from_client,
                     const uint8_t *bytes,
                     size_t len) {
  if (tap == NULL || !flow->open) {
    return;
  }
  struct tdsd_buf copy = {0};
  tdsd_buf_bytes(&copy, bytes, len);
  if (!copy.failed && from_client && bytes[0] == TDSD_PKT_LOGIN7) {
    mask_login(flow, tdsd_buf_at(&copy) + TDSD_HEADER_BYTES,
               len - TDSD_HEADER_BYTES);
  }
  if (!copy.failed && from_client && bytes[0] == TDSD_PKT_FEDAUTH) {
    mask_token(flow, tdsd_buf_at(&copy) + TDSD_HEADER_BYTES,
               len - TDSD_HEADER_BYTES);
  }
  if (!copy.failed) {
    write_segment(tap, flow, from_client, TCP_PSH | TCP_ACK, tdsd_buf_at(&copy),
                  len);
  }
  tdsd_buf_wipe(&copy);
}
