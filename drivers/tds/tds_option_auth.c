/* SPDX-License-Identifier: MIT */
/* tds_option_auth.c - Authentication=, and which credentials go with it.
 *
 * The driver fetches no token itself, whatever the word: it asks the program,
 * before the login (AccessToken) or when the server has said for what
 * (ActiveDirectory...).  The words differ in what the server is told. */
#include <string.h>

#include "tds_option.h"

static const struct {
  const char *word;
  uint8_t method; /* TDS_AUTH_* */
  uint8_t
      workflow; /* MS-TDS 2.2.6.4, FEDAUTH; values as SqlClient sends them */
} words[] = {
    {"SqlPassword", TDS_AUTH_PASSWORD, 0},
    {"AccessToken", TDS_AUTH_TOKEN, 0},
    {"ActiveDirectoryPassword", TDS_AUTH_ASKED, 1},
    {"ActiveDirectoryIntegrated", TDS_AUTH_ASKED, 2},
    {"ActiveDirectoryInteractive", TDS_AUTH_ASKED, 3},
    {"ActiveDirectoryServicePrincipal", TDS_AUTH_ASKED, 1},
    {"ActiveDirectoryDeviceCodeFlow", TDS_AUTH_ASKED, 3},
    {"ActiveDirectoryManagedIdentity", TDS_AUTH_ASKED, 3},
    {"ActiveDirectoryMSI", TDS_AUTH_ASKED, 3},
    {"ActiveDirectoryWorkloadIdentity", TDS_AUTH_ASKED, 3},
    {"ActiveDirectoryDefault", TDS_AUTH_ASKED, 3},
};

weir_drv_status tds_option_set_auth(struct weir_drv_cfg *cfg,
                                    const struct weir_drv_value *v,
                                    struct weir_drv_error *err) {
  struct weir_drv_text t = tds_option_text(v);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (!tds_option_same_loosely(t, words[i].word)) {
      continue;
    }
    cfg->auth = words[i].method;
    cfg->workflow = words[i].workflow;
    cfg->auth_given = true;
    return tds_option_copy(cfg->mem, &cfg->auth_word, words[i].word,
                           strlen(words[i].word)) == TDS_OK
               ? WEIR_DRV_DONE
               : tds_option_no_memory(err);
  }
  return tds_option_bad(err, O_AUTHENTICATION,
                        "must be SqlPassword, AccessToken, or "
                        "ActiveDirectory followed by Password, Integrated, "
                        "Interactive, ServicePrincipal, DeviceCodeFlow, "
                        "ManagedIdentity, MSI, WorkloadIdentity or Default");
}

weir_drv_status tds_option_check_auth(struct weir_drv_cfg *cfg,
                                      struct weir_drv_error *err) {
  if (cfg->token_given && !cfg->auth_given) {
    cfg->auth = TDS_AUTH_TOKEN;
  }
  if (cfg->auth == TDS_AUTH_PASSWORD) {
    return cfg->token_given ? tds_option_bad(err, O_TOKEN,
                                             "cannot be used together with "
                                             "Authentication=SqlPassword")
                            : WEIR_DRV_DONE;
  }
  if (cfg->password_given) {
    return tds_option_bad(err, O_PASSWORD,
                          "cannot be used together with an access token or "
                          "Authentication=ActiveDirectory...: the program "
                          "supplies the token");
  }
  bool nobody = cfg->auth == TDS_AUTH_TOKEN ||
                strcmp(cfg->auth_word.p, "ActiveDirectoryDeviceCodeFlow") == 0;
  if (nobody && cfg->user.n > 0) {
    return tds_option_bad(err, O_USER,
                          "cannot be used together with an access token or "
                          "with device code flow: the token says who it is");
  }
  return WEIR_DRV_DONE;
}
