/* SPDX-License-Identifier: MIT */
/* test_options.c - what a connection string may say, and the keys of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"
#include "tds_options.h"
#include "tds_prelogin.h"

static void check_server(const char *server, const char *host, uint32_t port) {
  char text[256];
  struct fake f = {0};
  (void)snprintf(text, sizeof text, "Server=%s", server);
  cr_assert_eq(fake_configure(&f, text), WEIR_DRV_DONE, "%s: %s", server,
               f.message);
  cr_expect_str_eq(f.cfg->host.p, host);
  cr_expect_eq(f.cfg->port, port, "%s", server);
  cr_expect_eq(fake_close(&f), 0);
}

Test(options, read_a_server, .timeout = 5) {
  check_server("DB.Test", "db.test", 1433);
  check_server("tcp:db,1500", "db", 1500);
  check_server("TCP:db , 1500 ", "db", 1500);
  check_server(" db ", "db", 1433);
  check_server(".", "localhost", 1433);
  check_server("(local),99", "localhost", 99);
  check_server("127.0.0.1,65535", "127.0.0.1", 65535);
  check_server("::1", "::1", 1433);
  check_server("[::1],1500", "::1", 1500);
  check_server("tcp:fe80::1,1500", "fe80::1", 1500);
}

static const struct {
  const char *options;
  int32_t kind;
  const char *text;
} refused[] = {
    {"User ID=sa", WEIR_DRV_K_CONFIG, "Server: is required"},
    {"Server=", WEIR_DRV_K_CONFIG, "Server: the host name is empty"},
    {"Server=db\\sql1", WEIR_DRV_K_UNSUPPORTED, "named instances"},
    {"Server=db:1433", WEIR_DRV_K_CONFIG, "write the port after a comma"},
    {"Server=db,0", WEIR_DRV_K_CONFIG, "1 to 65535"},
    {"Server=db,65536", WEIR_DRV_K_CONFIG, "1 to 65535"},
    {"Server=db,", WEIR_DRV_K_CONFIG, "1 to 65535"},
    {"Server=db,12x", WEIR_DRV_K_CONFIG, "1 to 65535"},
    {"Server=np:db", WEIR_DRV_K_UNSUPPORTED, "only the protocol tcp:"},
    {"Server=admin:db", WEIR_DRV_K_UNSUPPORTED, "only the protocol tcp:"},
    {"Server=a b", WEIR_DRV_K_CONFIG, "the host name has a blank"},
    {"Server=a\tb", WEIR_DRV_K_CONFIG, "the host name has a blank"},
    {"Server=[::1", WEIR_DRV_K_CONFIG, "the host name has a blank"},
    {"Server=h/x", WEIR_DRV_K_CONFIG, "the host name has a blank"},
    {"Server=d\xFF", WEIR_DRV_K_CONFIG, "not valid UTF-8"},
    {"Server=d;Encrypt=maybe", WEIR_DRV_K_CONFIG, "Encrypt: must be"},
    {"Server=d;TrustServerCertificate=2", WEIR_DRV_K_CONFIG, "true or false"},
    {"Server=d;Packet Size=511", WEIR_DRV_K_CONFIG, "512 to 32768"},
    {"Server=d;Packet Size=32769", WEIR_DRV_K_CONFIG, "512 to 32768"},
    {"Server=d;Packet Size=many", WEIR_DRV_K_CONFIG, "512 to 32768"},
    {"Server=d;ApplicationIntent=Write", WEIR_DRV_K_CONFIG, "ReadWrite or"},
    {"Server=d;MultipleActiveResultSets=true", WEIR_DRV_K_UNSUPPORTED,
     "MultipleActiveResultSets: only false"},
    {"Server=d;Integrated Security=SSPI", WEIR_DRV_K_UNSUPPORTED,
     "integrated authentication is not supported yet"},
    {"Server=d;Trusted_Connection=yes", WEIR_DRV_K_UNSUPPORTED,
     "integrated authentication"},
    {"Server=d;Authentication=Kerberos", WEIR_DRV_K_CONFIG,
     "Authentication: must be SqlPassword, AccessToken"},
    {"Server=d;Authentication=SqlPassword;Access Token=", WEIR_DRV_K_CONFIG,
     "Access Token: cannot be used together with Authentication=SqlPassword"},
    {"Server=d;Access Token=;User ID=sa", WEIR_DRV_K_CONFIG,
     "User ID: cannot be used together with an access token"},
    {"Server=d;Access Token=;Password=", WEIR_DRV_K_CONFIG,
     "Password: cannot be used together with an access token"},
    {"Server=d;Authentication=AccessToken;User ID=sa", WEIR_DRV_K_CONFIG,
     "User ID: cannot be used"},
    {"Server=d;Authentication=ActiveDirectoryPassword;User ID=a;Password=",
     WEIR_DRV_K_CONFIG, "the program supplies the token"},
    {"Server=d;Authentication=ActiveDirectoryDeviceCodeFlow;User ID=a",
     WEIR_DRV_K_CONFIG, "device code flow"},
    {"Server=d;Access Token=;Integrated Security=true", WEIR_DRV_K_UNSUPPORTED,
     "integrated authentication is not supported yet"},
    {"Server=d;IPAddressPreference=IPv5", WEIR_DRV_K_CONFIG,
     "IPAddressPreference: must be"},
    {"Server=d;ConnectRetryCount=256", WEIR_DRV_K_CONFIG, "0 to 255"},
    {"Server=d;ConnectRetryCount=-1", WEIR_DRV_K_CONFIG, "0 to 255"},
    {"Server=d;ConnectRetryInterval=0", WEIR_DRV_K_CONFIG, "1 to 60"},
    {"Server=d;ConnectRetryInterval=61", WEIR_DRV_K_CONFIG, "1 to 60"},
    {"Server=d;Failover Partner=e", WEIR_DRV_K_UNSUPPORTED,
     "Failover Partner: database mirroring is not built yet"},
    {"Server=d;Failover Partner SPN=e", WEIR_DRV_K_UNSUPPORTED,
     "Failover Partner SPN: database mirroring is not built yet"},
    {"Server=d;Server SPN=e", WEIR_DRV_K_UNSUPPORTED,
     "Server SPN: integrated authentication"},
    {"Server=d;Type System Version=SQL Server 2005", WEIR_DRV_K_UNSUPPORTED,
     "Type System Version: only Latest"},
    {"Server=d;Column Encryption Setting=Enabled", WEIR_DRV_K_UNSUPPORTED,
     "Always Encrypted is not supported"},
    {"Server=d;Enclave Attestation Url=http://x", WEIR_DRV_K_UNSUPPORTED,
     "Enclave Attestation Url: Always Encrypted"},
    {"Server=d;Attestation Protocol=HGS", WEIR_DRV_K_UNSUPPORTED,
     "Attestation Protocol: Always Encrypted"},
    {"Server=d;AttachDbFilename=x.mdf", WEIR_DRV_K_UNSUPPORTED,
     "AttachDbFilename: database files"},
    {"Server=d;Extended Properties=x.mdf", WEIR_DRV_K_UNSUPPORTED,
     "AttachDbFilename: database files"},
    {"Server=d;User Instance=true", WEIR_DRV_K_UNSUPPORTED, "user instances"},
    {"Server=d;Replication=true", WEIR_DRV_K_UNSUPPORTED, "replication"},
    {"Server=d;Context Connection=true", WEIR_DRV_K_UNSUPPORTED,
     "Context Connection: there is no server around"},
    {"Server=d;Network Library=dbnmpntw", WEIR_DRV_K_UNSUPPORTED,
     "Network Library: only TCP is supported"},
    {"Server=d;Async=maybe", WEIR_DRV_K_CONFIG, "true or false"},
    {"Server=d;ServerCertificate=a;CA File=b", WEIR_DRV_K_CONFIG,
     "cannot be used together"},
    {"Server=d;Colour=red", WEIR_DRV_K_CONFIG, "unknown option 'Colour'"},
    {"Server=d;User ID="
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     WEIR_DRV_K_CONFIG, "User ID: is longer than 128 characters"},
};

Test(options, are_refused_by_name, .timeout = 5) {
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    struct fake f = {0};
    cr_expect_eq(fake_configure(&f, refused[i].options), WEIR_DRV_FAIL, "%s",
                 refused[i].options);
    cr_expect_not_null(strstr(f.message, refused[i].text), "%s: %s",
                       refused[i].options, f.message);
    cr_expect_eq(f.err.kind, refused[i].kind);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONFIG);
    cr_expect_eq(fake_close(&f), 0);
  }
}

static const struct {
  const char *word;
  int encrypt;
} words[] = {
    {"no", TDS_ENCRYPT_OPTIONAL},       {"false", TDS_ENCRYPT_OPTIONAL},
    {"Optional", TDS_ENCRYPT_OPTIONAL}, {"yes", TDS_ENCRYPT_MANDATORY},
    {"True", TDS_ENCRYPT_MANDATORY},    {"MANDATORY", TDS_ENCRYPT_MANDATORY},
    {"Strict", TDS_ENCRYPT_STRICT},
};

Test(options, know_all_words_for_encrypt, .timeout = 5) {
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    char text[64];
    struct fake f = {0};
    (void)snprintf(text, sizeof text, "Server=d;Encrypt=%s", words[i].word);
    cr_assert_eq(fake_configure(&f, text), WEIR_DRV_DONE);
    cr_expect_eq(f.cfg->encrypt, words[i].encrypt);
    (void)fake_close(&f);
  }
}

Test(options, demand_encryption_unless_told_otherwise, .timeout = 5) {
  struct fake f = {0};
  cr_assert_eq(fake_configure(&f, "Server=d"), WEIR_DRV_DONE);
  cr_expect_eq(f.cfg->encrypt, TDS_ENCRYPT_MANDATORY);
  cr_expect_not(f.cfg->trust);
  cr_expect_eq(f.cfg->packet_size, 8000);
  (void)fake_close(&f);
}

/* ------------------------------------------------------------ credentials */

static const struct {
  const char *options;
  uint8_t auth;
  uint8_t workflow;
} methods[] = {
    {"Server=d;User ID=sa;Password=", TDS_AUTH_PASSWORD, 0},
    {"Server=d;Authentication=Sql Password", TDS_AUTH_PASSWORD, 0},
    {"Server=d;Access Token=", TDS_AUTH_TOKEN, 0},
    {"Server=d;Authentication=Access Token", TDS_AUTH_TOKEN, 0},
    {"Server=d;Authentication=accesstoken;Access Token=", TDS_AUTH_TOKEN, 0},
    {"Server=d;User=a;Authentication=Active Directory Password", TDS_AUTH_ASKED,
     1},
    {"Server=d;Authentication=ACTIVE DIRECTORY INTEGRATED", TDS_AUTH_ASKED, 2},
    {"Server=d;User=a;Authentication=ActiveDirectoryInteractive",
     TDS_AUTH_ASKED, 3},
    {"Server=d;User=a;Authentication=Active Directory Service Principal",
     TDS_AUTH_ASKED, 1},
    {"Server=d;Authentication=Active Directory Device Code Flow",
     TDS_AUTH_ASKED, 3},
    {"Server=d;User=a;Authentication=Active Directory Managed Identity",
     TDS_AUTH_ASKED, 3},
    {"Server=d;Authentication=Active Directory MSI", TDS_AUTH_ASKED, 3},
    {"Server=d;Authentication=Active Directory Workload Identity",
     TDS_AUTH_ASKED, 3},
    {"Server=d;Authentication=Active Directory Default", TDS_AUTH_ASKED, 3},
    {"Server=d;Authentication=ActiveDirectoryDefault;Access Token=",
     TDS_AUTH_ASKED, 3},
};

Test(options, know_all_words_for_authentication, .timeout = 5) {
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    struct fake f = {0};
    cr_assert_eq(fake_configure(&f, methods[i].options), WEIR_DRV_DONE,
                 "%s: %s", methods[i].options, f.message);
    cr_expect_eq(f.cfg->auth, methods[i].auth, "%s", methods[i].options);
    cr_expect_eq(f.cfg->workflow, methods[i].workflow, "%s",
                 methods[i].options);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* Values that change nothing, in the spellings of SqlClient. */
static const char *const harmless[] = {
    "Server=d;ConnectRetryCount=0;ConnectRetryInterval=60",
    "Server=d;Connect Retry Count=255",
    "Server=d;Failover Partner=;Server SPN=;Failover Partner SPN=",
    "Server=d;Type System Version=SQL Server 2012",
    "Server=d;Type System Version=latest",
    "Server=d;Column Encryption Setting=disabled;Attestation Protocol=None",
    "Server=d;AttachDbFilename=;User Instance=false;Replication=no",
    "Server=d;Context Connection=false;Asynchronous Processing=true",
    "Server=d;Network Library=dbmssocn;Net=dbmssocn",
    "Server=d;MultipleActiveResultSets=false;Integrated Security=no",
    "Server=d;MultiSubnetFailover=true;Persist Security Info=true",
    "Server=d;Packet Size=32768",
};

Test(options, take_what_changes_nothing, .timeout = 5) {
  for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
    struct fake f = {0};
    cr_expect_eq(fake_configure(&f, harmless[i]), WEIR_DRV_DONE, "%s: %s",
                 harmless[i], f.message);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* ----------------------------------------------------------------- keys */

static weir_drv_status add_part(void *ctx,
                                uint32_t flags,
                                const struct weir_drv_text *name,
                                const struct weir_drv_bytes *value) {
  (void)flags;
  struct fake_bytes *b = ctx;
  fake_add(b, name->p, (size_t)name->n);
  fake_add(b, "=", 1);
  fake_add(b, value->p, (size_t)value->n);
  fake_add(b, ";", 1);
  return WEIR_DRV_DONE;
}

static void check_key(const char *options, int32_t which, const char *key) {
  struct fake f = {0};
  struct fake_bytes text = {0};
  struct weir_drv_key_sink sink = {sizeof sink, 0, &text, add_part};
  cr_assert_eq(fake_configure(&f, options), WEIR_DRV_DONE, "%s", f.message);
  cr_assert_eq(f.driver->config_key(f.drv, f.cfg, which, &sink), WEIR_DRV_DONE);
  cr_expect_str_eq((const char *)text.p, key);
  free(text.p);
  (void)fake_close(&f);
}

Test(options, make_equal_keys_of_equal_meaning, .timeout = 5) {
  const char *key = "Server=db,1433;Database=shop;User ID=sa;";
  check_key("Server=DB;Database=shop;UID=sa;Encrypt=true", WEIR_DRV_KEY_POOL,
            key);
  check_key("User=sa;Data Source=tcp:db,1433;Initial Catalog=shop;"
            "Packet Size=8000;Persist Security Info=true",
            WEIR_DRV_KEY_POOL, key);
}

Test(options, put_what_matters_into_the_key, .timeout = 5) {
  check_key("Server=db;Encrypt=strict;CA File=/ca;Packet Size=4096;"
            "ApplicationIntent=ReadOnly;HostNameInCertificate=h;App=a;WSID=w;"
            "Language=l;TrustServerCertificate=yes",
            WEIR_DRV_KEY_POOL,
            "Server=db,1433;HostNameInCertificate=h;CA File=/ca;"
            "Application Name=a;Workstation ID=w;Language=l;Encrypt=strict;"
            "TrustServerCertificate=true;Packet Size=4096;"
            "ApplicationIntent=ReadOnly;");
}

Test(options, put_the_kind_of_credential_into_the_key, .timeout = 5) {
  check_key("Server=db;Access Token=", WEIR_DRV_KEY_POOL,
            "Server=db,1433;Authentication=AccessToken;");
  check_key("Server=db;User ID=a;Authentication=Active Directory msi;"
            "IPAddressPreference=IPv6First",
            WEIR_DRV_KEY_POOL,
            "Server=db,1433;User ID=a;Authentication=ActiveDirectoryMSI;"
            "IPAddressPreference=IPv6First;");
}

Test(options, never_put_the_password_into_a_key, .timeout = 5) {
  check_key("Server=db;User ID=sa;Password=x", WEIR_DRV_KEY_DISPLAY,
            "Server=db,1433;User ID=sa;");
}

Test(options, name_the_endpoint, .timeout = 5) {
  check_key("Server=DB,1500;User ID=sa", WEIR_DRV_KEY_ENDPOINT,
            "Server=db,1500;");
}

static uint32_t flags_of(const char *options) {
  struct fake f = {0};
  struct weir_drv_config_info info = {sizeof info, 0};
  cr_assert_eq(fake_configure(&f, options), WEIR_DRV_DONE);
  cr_assert_eq(f.driver->config_info(f.drv, f.cfg, &info), WEIR_DRV_DONE);
  (void)fake_close(&f);
  return info.flags;
}

Test(options, know_a_cloud_host, .timeout = 5) {
  static const char *const servers[] = {
      "tcp:X.Database.Windows.NET,1433", "x.database.windows.net",
      "x.database.cloudapi.de,1433",     "x.database.usgovcloudapi.net",
      "x.database.chinacloudapi.cn",     "x.database.fabric.microsoft.com",
  };
  for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
    char options[64];
    (void)snprintf(options, sizeof options, "Server=%s", servers[i]);
    cr_expect_eq(flags_of(options), WEIR_DRV_CFG_CLOUD, "%s", servers[i]);
  }
  cr_expect_eq(flags_of("Server=x.database.windows.org"), 0);
  cr_expect_eq(flags_of("Server=database.windows.net.example"), 0);
  cr_expect_eq(flags_of("Server=.database.windows.net"), 0);
}

Test(options, describe_themselves, .timeout = 5) {
  uint32_t n = 0;
  const struct weir_drv_option_info *o = tds_options_list(&n);
  cr_assert_gt(n, 15);
  for (uint32_t i = 0; i < n; i++) {
    cr_expect_eq(o[i].struct_size, sizeof *o);
    cr_expect_gt(o[i].name.n, 0);
    cr_expect_gt(o[i].help.n, 0);
    bool secret = strcmp(o[i].name.p, "Password") == 0 ||
                  strcmp(o[i].name.p, "Access Token") == 0;
    cr_expect_eq((o[i].flags & WEIR_DRV_OPT_SECRET) != 0, secret);
  }
}

Test(options, survive_each_failed_allocation, .timeout = 5) {
  bool whole = false;
  for (size_t n = 1; !whole; n++) {
    struct fake f = {0};
    cr_assert_eq(fake_configure(&f, "Server=d"), WEIR_DRV_DONE);
    f.driver->config_destroy(f.drv, f.cfg);
    f.cfg = NULL;
    f.fail_alloc = n;
    weir_drv_status rc = fake_configure(&f, "Server=db;User ID=sa;App=x");
    whole = f.fail_alloc != 0;
    cr_assert_eq(rc, whole ? WEIR_DRV_DONE : WEIR_DRV_FAIL);
    cr_assert_eq(fake_close(&f), 0);
  }
}
