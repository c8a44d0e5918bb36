/* SPDX-License-Identifier: MIT */
/* tds_option_list.c - SqlClient's names, aliases and defaults.  Pool and time-out
 * options belong to the engine and never arrive here. */
#include <string.h>
#include <strings.h>

#include "tds_option.h"

#define TEXT(s) \
  { (s), sizeof(s) - 1 }
#define NOTHING \
  { NULL, 0 }
#define INFO(type, flags, name, aliases, choices, fallback, help)        \
  {                                                                      \
    sizeof(struct weir_drv_option_info), (type), (flags), 0, TEXT(name), \
        aliases, choices, fallback, TEXT(help)                           \
  }

#define KEY WEIR_DRV_OPT_KEY

static const struct weir_drv_option_info list[O_COUNT] = {
    [O_SERVER] = INFO(WEIR_DRV_T_TEXT,
                      KEY | WEIR_DRV_OPT_REQUIRED,
                      "Server",
                      TEXT("Data Source,Address,Addr,Network Address"),
                      NOTHING,
                      NOTHING,
                      "[tcp:]host[,port]; (local) and . are this machine"),
    [O_DATABASE] = INFO(WEIR_DRV_T_TEXT,
                        KEY,
                        "Database",
                        TEXT("Initial Catalog"),
                        NOTHING,
                        NOTHING,
                        "database to open; the login's default if absent"),
    [O_USER] =
        INFO(WEIR_DRV_T_TEXT,
             KEY,
             "User ID",
             TEXT("UID,User"),
             NOTHING,
             NOTHING,
             "SQL Server login; with federated authentication a hint for who "
             "answers for the token"),
    [O_PASSWORD] = INFO(WEIR_DRV_T_TEXT,
                        WEIR_DRV_OPT_SECRET,
                        "Password",
                        TEXT("PWD"),
                        NOTHING,
                        NOTHING,
                        "password of the login"),
    [O_AUTHENTICATION] = INFO(WEIR_DRV_T_TEXT,
                              KEY,
                              "Authentication",
                              NOTHING,
                              TEXT("SqlPassword,AccessToken,"
                                   "ActiveDirectoryPassword,"
                                   "ActiveDirectoryIntegrated,"
                                   "ActiveDirectoryInteractive,"
                                   "ActiveDirectoryServicePrincipal,"
                                   "ActiveDirectoryDeviceCodeFlow,"
                                   "ActiveDirectoryManagedIdentity,"
                                   "ActiveDirectoryMSI,"
                                   "ActiveDirectoryWorkloadIdentity,"
                                   "ActiveDirectoryDefault"),
                              TEXT("SqlPassword"),
                              "AccessToken: a token that is at hand; "
                              "ActiveDirectory...: one for what the server "
                              "asks, from the program"),
    [O_TOKEN] = INFO(WEIR_DRV_T_TEXT,
                     WEIR_DRV_OPT_SECRET,
                     "Access Token",
                     TEXT("AccessToken"),
                     NOTHING,
                     NOTHING,
                     "token of federated authentication"),
    [O_INTEGRATED] = INFO(WEIR_DRV_T_TEXT,
                          0,
                          "Integrated Security",
                          TEXT("Trusted_Connection"),
                          TEXT("false,no,true,yes,sspi"),
                          TEXT("false"),
                          "only false is supported so far"),
    [O_ENCRYPT] = INFO(WEIR_DRV_T_TEXT,
                       KEY,
                       "Encrypt",
                       NOTHING,
                       TEXT("optional,no,false,mandatory,yes,true,strict"),
                       TEXT("mandatory"),
                       "optional: TLS only if the server demands it, else for "
                       "the login alone; mandatory: TLS or nothing; strict: "
                       "TLS before the first byte of TDS"),
    [O_TRUST] = INFO(WEIR_DRV_T_BOOL,
                     KEY,
                     "TrustServerCertificate",
                     TEXT("Trust Server Certificate"),
                     NOTHING,
                     TEXT("false"),
                     "accept any certificate; no effect with Encrypt=strict"),
    [O_CERT_HOST] = INFO(WEIR_DRV_T_TEXT,
                         KEY,
                         "HostNameInCertificate",
                         TEXT("Host Name In Certificate"),
                         NOTHING,
                         NOTHING,
                         "name to look for in the certificate"),
    [O_CERT_FILE] = INFO(WEIR_DRV_T_TEXT,
                         KEY,
                         "ServerCertificate",
                         TEXT("Server Certificate"),
                         NOTHING,
                         NOTHING,
                         "file with the one certificate to accept"),
    [O_CA_FILE] = INFO(WEIR_DRV_T_TEXT,
                       KEY,
                       "CA File",
                       TEXT("CAFile"),
                       NOTHING,
                       NOTHING,
                       "PEM file of authorities, instead of the system's"),
    [O_APP] = INFO(WEIR_DRV_T_TEXT,
                   KEY,
                   "Application Name",
                   TEXT("App"),
                   NOTHING,
                   NOTHING,
                   "name shown by the server"),
    [O_WORKSTATION] = INFO(WEIR_DRV_T_TEXT,
                           KEY,
                           "Workstation ID",
                           TEXT("WSID"),
                           NOTHING,
                           NOTHING,
                           "this machine's name, as the server shows it"),
    [O_LANGUAGE] = INFO(WEIR_DRV_T_TEXT,
                        KEY,
                        "Language",
                        TEXT("Current Language"),
                        NOTHING,
                        NOTHING,
                        "language of server messages"),
    [O_PACKET_SIZE] = INFO(WEIR_DRV_T_INT,
                           KEY,
                           "Packet Size",
                           NOTHING,
                           NOTHING,
                           TEXT("8000"),
                           "512 to 32767; at most 16383 with TLS"),
    [O_PREPARED] = INFO(WEIR_DRV_T_INT,
                        KEY,
                        "Prepared Statements",
                        NOTHING,
                        NOTHING,
                        TEXT("64"),
                        "kept on a connection, 0 to 1024; 0: none is prepared"),
    [O_INTENT] = INFO(WEIR_DRV_T_TEXT,
                      KEY,
                      "ApplicationIntent",
                      TEXT("Application Intent"),
                      TEXT("ReadWrite,ReadOnly"),
                      TEXT("ReadWrite"),
                      "ReadOnly lets the server send us to a replica"),
    [O_ADDRESSES] = INFO(WEIR_DRV_T_TEXT,
                         KEY,
                         "IPAddressPreference",
                         TEXT("IP Address Preference"),
                         TEXT("IPv4First,IPv6First,UsePlatformDefault"),
                         TEXT("IPv4First"),
                         "which addresses of a name are tried first"),
    [O_MULTI_SUBNET] =
        INFO(WEIR_DRV_T_BOOL,
             KEY,
             "MultiSubnetFailover",
             TEXT("Multi Subnet Failover"),
             NOTHING,
             TEXT("false"),
             "the addresses of a name are tried at once, not in turn"),
    [O_PARTNER] = INFO(WEIR_DRV_T_TEXT,
                       0,
                       "Failover Partner",
                       TEXT("FailoverPartner"),
                       NOTHING,
                       NOTHING,
                       "not built yet"),
    [O_PARTNER_SPN] = INFO(WEIR_DRV_T_TEXT,
                           0,
                           "Failover Partner SPN",
                           TEXT("FailoverPartnerSPN"),
                           NOTHING,
                           NOTHING,
                           "not built yet"),
    [O_SERVER_SPN] = INFO(WEIR_DRV_T_TEXT,
                          0,
                          "Server SPN",
                          TEXT("ServerSPN"),
                          NOTHING,
                          NOTHING,
                          "not built yet: belongs to integrated security"),
    [O_RETRY_COUNT] = INFO(WEIR_DRV_T_INT,
                           0,
                           "ConnectRetryCount",
                           TEXT("Connect Retry Count"),
                           NOTHING,
                           TEXT("1"),
                           "0 to 255; accepted: the pool replaces broken "
                           "connections by itself"),
    [O_RETRY_INTERVAL] = INFO(WEIR_DRV_T_INT,
                              0,
                              "ConnectRetryInterval",
                              TEXT("Connect Retry Interval"),
                              NOTHING,
                              TEXT("10"),
                              "1 to 60; accepted, as ConnectRetryCount is"),
    [O_PERSIST] = INFO(WEIR_DRV_T_BOOL,
                       0,
                       "Persist Security Info",
                       TEXT("PersistSecurityInfo"),
                       NOTHING,
                       TEXT("false"),
                       "accepted; secrets are never shown"),
    [O_TYPE_SYSTEM] = INFO(WEIR_DRV_T_TEXT,
                           0,
                           "Type System Version",
                           TEXT("TypeSystemVersion"),
                           TEXT("Latest,SQL Server 2012,SQL Server 2008,"
                                "SQL Server 2005,SQL Server 2000"),
                           TEXT("Latest"),
                           "only Latest and what equals it on the wire: SQL "
                           "Server 2012 and 2008"),
    [O_MARS] = INFO(WEIR_DRV_T_BOOL,
                    0,
                    "MultipleActiveResultSets",
                    TEXT("Multiple Active Result Sets"),
                    NOTHING,
                    TEXT("false"),
                    "only false is supported"),
    [O_ENCRYPTION_SETTING] = INFO(WEIR_DRV_T_TEXT,
                                  0,
                                  "Column Encryption Setting",
                                  TEXT("ColumnEncryptionSetting"),
                                  TEXT("Disabled,Enabled"),
                                  TEXT("Disabled"),
                                  "only Disabled is supported"),
    [O_ENCLAVE_URL] = INFO(WEIR_DRV_T_TEXT,
                           0,
                           "Enclave Attestation Url",
                           TEXT("EnclaveAttestationUrl"),
                           NOTHING,
                           NOTHING,
                           "not supported, as column encryption is not"),
    [O_ATTESTATION] = INFO(WEIR_DRV_T_TEXT,
                           0,
                           "Attestation Protocol",
                           TEXT("AttestationProtocol"),
                           TEXT("NotSpecified,None,AAS,HGS"),
                           TEXT("NotSpecified"),
                           "only NotSpecified and None are supported"),
    [O_ATTACH] = INFO(WEIR_DRV_T_TEXT,
                      WEIR_DRV_OPT_DEPRECATED,
                      "AttachDbFilename",
                      TEXT("Initial File Name,Extended Properties"),
                      NOTHING,
                      NOTHING,
                      "not supported: files of SQL Server Express"),
    [O_USER_INSTANCE] = INFO(WEIR_DRV_T_BOOL,
                             WEIR_DRV_OPT_DEPRECATED,
                             "User Instance",
                             TEXT("UserInstance"),
                             NOTHING,
                             TEXT("false"),
                             "only false is supported"),
    [O_REPLICATION] = INFO(WEIR_DRV_T_BOOL,
                           0,
                           "Replication",
                           NOTHING,
                           NOTHING,
                           TEXT("false"),
                           "only false is supported"),
    [O_CONTEXT] = INFO(WEIR_DRV_T_BOOL,
                       WEIR_DRV_OPT_DEPRECATED,
                       "Context Connection",
                       TEXT("ContextConnection"),
                       NOTHING,
                       TEXT("false"),
                       "only false is supported: there is no server around us"),
    [O_LIBRARY] = INFO(WEIR_DRV_T_TEXT,
                       WEIR_DRV_OPT_DEPRECATED,
                       "Network Library",
                       TEXT("Net,Network"),
                       NOTHING,
                       TEXT("dbmssocn"),
                       "only TCP is supported: dbmssocn"),
    [O_ASYNC] = INFO(WEIR_DRV_T_BOOL,
                     WEIR_DRV_OPT_DEPRECATED,
                     "Asynchronous Processing",
                     TEXT("Async"),
                     NOTHING,
                     TEXT("false"),
                     "accepted; any connection can be used either way"),
};

const struct weir_drv_option_info *tds_options_list(uint32_t *out_n) {
  *out_n = O_COUNT;
  return list;
}

const char *tds_option_name(enum tds_option o) {
  return list[o].name.p;
}

enum tds_option tds_option_find(struct weir_drv_text name) {
  for (int i = 0; i < O_COUNT; i++) {
    const char *p = list[i].aliases.p;
    if (tds_option_same(name, list[i].name.p)) {
      return (enum tds_option)i;
    }
    while (p != NULL) {
      const char *comma = strchr(p, ',');
      size_t n = comma == NULL ? strlen(p) : (size_t)(comma - p);
      if (n == name.n && strncasecmp(p, name.p, n) == 0) {
        return (enum tds_option)i;
      }
      p = comma == NULL ? NULL : comma + 1;
    }
  }
  return O_COUNT;
}
