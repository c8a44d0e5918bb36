/* SPDX-License-Identifier: MIT */
#include "server_manners.h"

#include <string.h>

#include "server_const.h"

bool tdsd_manner_set(struct tdsd_manners *manners, const char *name, bool on) {
  const struct {
    const char *name;
    bool *value;
  } known[] = {{"handles-go-on", &manners->handles_go_on},
               {"isolation-resets", &manners->isolation_resets},
               {"strict-client", &manners->strict}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcmp(known[i].name, name) == 0) {
      *known[i].value = on;
      return true;
    }
  }
  return false;
}

static bool is_strict(const struct tdsd_session *session) {
  return session->shared->manners.strict;
}

const char *tdsd_strict_packet(struct tdsd_session *session,
                               const struct tdsd_packet *packet) {
  bool attention = packet->type == TDSD_PKT_ATTENTION;
  uint8_t wanted = session->joiner.open && !attention ? session->next_id : 1;
  if (!is_strict(session)) {
    return NULL;
  }
  if (packet->spid != 0) {
    return "a client's packet has a session number";
  }
  if (packet->id != wanted) {
    return "packet numbers do not count up from 1 in each message";
  }
  if (!attention) {
    session->next_id = (uint8_t)(packet->id + 1);
  }
  if (packet->type == TDSD_PKT_LOGIN7 && !session->greeted) {
    return "LOGIN7 without a PRELOGIN before it";
  }
  if (!attention && session->phase == TDSD_PHASE_RUNNING) {
    return "a request before the one under way was answered";
  }
  return NULL;
}

const char *tdsd_strict_request(const struct tdsd_session *session,
                                uint32_t outstanding) {
  return is_strict(session) && outstanding != 1
             ? "a transaction header's count of outstanding requests is not 1"
             : NULL;
}
