/* SPDX-License-Identifier: MIT */
/* tds_option_refuse.c - options of which only some values are understood, each
 * with the reason.  What SqlClient ignores is ignored here, too. */
#include "tds_option.h"

/* A value that changes nothing. */
static bool harmless(const struct weir_drv_value *v, const char *const *words) {
  struct weir_drv_text t = tds_option_text(v);
  for (; *words != NULL; words++) {
    if (tds_option_same_loosely(t, *words)) {
      return true;
    }
  }
  return false;
}

static const char *const no_words[] = {"", NULL};
static const char *const false_words[] = {"false", "no", NULL};
static const char *const type_words[] = {"Latest", "SQLServer2012",
                                         "SQLServer2008", NULL};
static const char *const disabled_words[] = {"Disabled", NULL};
static const char *const attestation_words[] = {"NotSpecified", "None", NULL};
static const char *const library_words[] = {"dbmssocn", "tcp", NULL};

static const struct {
  enum tds_option o;
  const char *const *words;
  const char *why;
} refused[] = {
    {O_INTEGRATED, false_words,
     "integrated authentication is not supported yet; use User ID and "
     "Password"},
    {O_PARTNER, no_words,
     "database mirroring is not built yet; name the server that is the "
     "principal"},
    {O_PARTNER_SPN, no_words, "database mirroring is not built yet"},
    {O_SERVER_SPN, no_words,
     "integrated authentication, to which it belongs, is not built yet"},
    {O_TYPE_SYSTEM, type_words,
     "only Latest, SQL Server 2012 and SQL Server 2008 are supported"},
    {O_MARS, false_words, "only false is supported"},
    {O_ENCRYPTION_SETTING, disabled_words,
     "Always Encrypted is not supported; only Disabled is"},
    {O_ENCLAVE_URL, no_words, "Always Encrypted is not supported"},
    {O_ATTESTATION, attestation_words,
     "Always Encrypted is not supported; only NotSpecified and None are"},
    {O_ATTACH, no_words,
     "database files of SQL Server Express are not supported"},
    {O_USER_INSTANCE, false_words,
     "user instances of SQL Server Express are not supported"},
    {O_REPLICATION, false_words, "replication is not supported"},
    {O_CONTEXT, false_words,
     "there is no server around this program; only false is supported"},
    {O_LIBRARY, library_words,
     "only TCP is supported: dbmssocn, or better Server=tcp:host"},
};

weir_drv_status tds_option_refuse(enum tds_option o,
                                  const struct weir_drv_value *v,
                                  struct weir_drv_error *err) {
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    if (refused[i].o != o) {
      continue;
    }
    bool off = refused[i].words == false_words && tds_option_bool(v) == 0;
    return off || harmless(v, refused[i].words)
               ? WEIR_DRV_DONE
               : tds_option_unsupported(err, o, refused[i].why);
  }
  return WEIR_DRV_E_INVALID;
}
