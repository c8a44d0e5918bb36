/* SPDX-License-Identifier: MIT */
/* The numbers of the TDS protocol that the server needs, and every size cap of
 * the server with its reason.  Nothing here is shared with the driver: a wrong
 * number must show up as a disagreement between the two. */
#ifndef TDSD_SERVER_CONST_H
#define TDSD_SERVER_CONST_H

/* Packet header (MS-TDS 2.2.3.1). */
#define TDSD_HEADER_BYTES   8u
#define TDSD_PACKET_MIN     512u
#define TDSD_PACKET_MAX     32767u
#define TDSD_PACKET_DEFAULT 4096u
/* A packet of full encryption has to fit one TLS record. */
#define TDSD_PACKET_MAX_TLS 16383u

/* Packet types. */
#define TDSD_PKT_BATCH     0x01u
#define TDSD_PKT_RPC       0x03u
#define TDSD_PKT_REPLY     0x04u
#define TDSD_PKT_ATTENTION 0x06u
#define TDSD_PKT_BULK      0x07u
#define TDSD_PKT_FEDAUTH   0x08u
#define TDSD_PKT_TM        0x0Eu
#define TDSD_PKT_LOGIN7    0x10u
#define TDSD_PKT_SSPI      0x11u
#define TDSD_PKT_PRELOGIN  0x12u

/* Packet status bits. */
#define TDSD_ST_EOM            0x01u
#define TDSD_ST_IGNORE         0x02u
#define TDSD_ST_MORE           0x04u /* SqlClient's, where EOM is not */
#define TDSD_ST_RESET          0x08u
#define TDSD_ST_RESET_SKIPTRAN 0x10u

/* PRELOGIN options and encryption values. */
#define TDSD_PRE_VERSION    0x00u
#define TDSD_PRE_ENCRYPTION 0x01u
#define TDSD_PRE_INSTOPT    0x02u
#define TDSD_PRE_THREADID   0x03u
#define TDSD_PRE_MARS       0x04u
#define TDSD_PRE_TRACEID    0x05u
#define TDSD_PRE_FEDAUTH    0x06u
#define TDSD_PRE_NONCE      0x07u
#define TDSD_PRE_END        0xFFu
#define TDSD_ENC_OFF        0u
#define TDSD_ENC_ON         1u
#define TDSD_ENC_NOT_SUP    2u
#define TDSD_ENC_REQ        3u

/* TDS versions as LOGIN7 carries them (little-endian there). */
#define TDSD_V71  0x71000001u
#define TDSD_V72  0x72090002u
#define TDSD_V73A 0x730A0003u
#define TDSD_V73B 0x730B0003u
#define TDSD_V74  0x74000004u
#define TDSD_V80  0x08000000u

/* Feature extensions of LOGIN7. */
#define TDSD_FEAT_RECOVERY 0x01u
#define TDSD_FEAT_FEDAUTH  0x02u
#define TDSD_FEAT_UTF8     0x0Au
#define TDSD_FEAT_END      0xFFu

/* Tokens. */
#define TDSD_TOK_RETURNSTATUS  0x79u
#define TDSD_TOK_COLMETADATA   0x81u
#define TDSD_TOK_ERROR         0xAAu
#define TDSD_TOK_INFO          0xABu
#define TDSD_TOK_LOGINACK      0xADu
#define TDSD_TOK_FEATUREEXTACK 0xAEu
#define TDSD_TOK_ROW           0xD1u
#define TDSD_TOK_NBCROW        0xD2u
#define TDSD_TOK_RETURNVALUE   0xACu
#define TDSD_TOK_FEDAUTHINFO   0xEEu
#define TDSD_TOK_ENVCHANGE     0xE3u
#define TDSD_TOK_DONE          0xFDu
#define TDSD_TOK_DONEPROC      0xFEu
#define TDSD_TOK_DONEINPROC    0xFFu

/* DONE status bits and commands. */
#define TDSD_DONE_MORE    0x0001u
#define TDSD_DONE_ERROR   0x0002u
#define TDSD_DONE_COUNT   0x0010u
#define TDSD_DONE_ATTN    0x0020u
#define TDSD_CMD_SELECT   0x00C1u
#define TDSD_CMD_CREATE   0x00C6u
#define TDSD_CMD_DROP     0x00C7u
#define TDSD_CMD_ROLLBACK 0x00D2u
#define TDSD_CMD_BEGIN    0x00D4u
#define TDSD_CMD_COMMIT   0x00D5u
#define TDSD_CMD_EXECUTE  0x00E0u
#define TDSD_CMD_SET      0x00FDu

/* ENVCHANGE types. */
#define TDSD_ENV_DATABASE    1u
#define TDSD_ENV_LANGUAGE    2u
#define TDSD_ENV_PACKET_SIZE 4u
#define TDSD_ENV_COLLATION   7u
#define TDSD_ENV_BEGIN       8u
#define TDSD_ENV_COMMIT      9u
#define TDSD_ENV_ROLLBACK    10u
#define TDSD_ENV_RESET       18u

/* Transaction manager requests. */
#define TDSD_TM_BEGIN    5u
#define TDSD_TM_COMMIT   7u
#define TDSD_TM_ROLLBACK 8u
#define TDSD_TM_SAVE     9u

/* Caps.  A LOGIN7 record is below 128 KiB by specification; a PRELOGIN never
 * needs more than one packet; other messages carry test data, for which 32 MiB
 * (16 million characters of SQL) is plenty. */
#define TDSD_CAP_PRELOGIN     4096u
#define TDSD_CAP_LOGIN        (128u * 1024u)
#define TDSD_CAP_MESSAGE      (32u * 1024u * 1024u)
/* Memory one batch may use for its parse tree and values. */
#define TDSD_CAP_ARENA        (256u * 1024u * 1024u)
/* The largest string or binary value an expression may have. */
#define TDSD_CAP_VALUE        (64u * 1024u * 1024u)
/* Depth of nested expressions and blocks; SQL Server stops too (error 191). */
#define TDSD_CAP_DEPTH        200u
/* Columns of one SELECT, and variables of one batch, as in SQL Server. */
#define TDSD_CAP_COLUMNS      4096u
#define TDSD_CAP_VARIABLES    2100u
/* Prepared statements of one session, and the bytes of their texts. */
#define TDSD_CAP_HANDLES      4096u
#define TDSD_CAP_HANDLE_BYTES (16u * 1024u * 1024u)
/* Temporary tables of one session, and what its SESSION_CONTEXT may hold (as in
 * SQL Server). */
#define TDSD_CAP_TEMPS        256u
#define TDSD_CAP_CONTEXT      (1024u * 1024u)
/* A response is held back while this much waits for a slow reader. */
#define TDSD_CAP_OUTPUT       (256u * 1024u)
/* Bytes read ahead from a client whose request is still running. */
#define TDSD_CAP_INPUT        (128u * 1024u)
/* A script, and the rules it may have. */
#define TDSD_CAP_SCRIPT       (1024u * 1024u)
#define TDSD_CAP_SCRIPT_RULES 1024u
/* One line of the control socket. */
#define TDSD_CAP_CONTROL_LINE 1024u
/* How long a closed connection may linger for its peer's end. */
#define TDSD_LINGER_NS        (2000u * UINT64_C(1000000))

#endif
