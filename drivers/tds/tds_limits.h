/* SPDX-License-Identifier: MIT */
/* tds_limits.h - every size cap of the driver, each with its reason.  Nothing
 * that a server says makes the driver hold more than these allow. */
#ifndef TDS_LIMITS_H
#define TDS_LIMITS_H

/* MS-TDS 2.2.3.1: a packet holds its 8-byte header and at most 32767 bytes. */
#define TDS_PACKET_HEAD 8u
#define TDS_PACKET_MIN  512u
#define TDS_PACKET_MAX  32767u

/* Asked for unless Packet Size= says otherwise. */
#define TDS_PACKET_DEFAULT 8000u

/* No packet is larger than this until login has agreed on a size. */
#define TDS_PACKET_LOGIN 4096u

/* A larger packet does not fit one TLS record with its overhead; servers end
 * such connections. */
#define TDS_PACKET_MAX_TLS 16383u

/* Our PRELOGIN needs 40 bytes and servers answer about as many; the whole
 * reply must fit the largest packet that is legal before login. */
#define TDS_PRELOGIN_MAX TDS_PACKET_LOGIN

/* One handshake flight holds a certificate chain; 256 KiB is more than any
 * chain in use and bounds a server that never ends its handshake. */
#define TDS_HANDSHAKE_MAX 262144u

/* MS-TDS 2.2.6.4: each text of LOGIN7 has at most 128 UTF-16 units. */
#define TDS_LOGIN_UNITS 128u

/* 94 fixed bytes, seven texts of 256 bytes, names of ours and the feature
 * list without a token: below 2.5 KiB, so login is one packet, as login-only
 * encryption wants. */
#define TDS_LOGIN_MAX (TDS_PACKET_LOGIN - TDS_PACKET_HEAD)

/* MS-TDS 2.2.6.4: the whole of LOGIN7 is shorter than 128 KiB.  Only an access
 * token makes it longer than a packet. */
#define TDS_LOGIN_RECORD_MAX 131071u

/* FEDAUTHINFO holds a URL and a name of a service. */
#define TDS_FEDAUTH_MAX 16384u

/* A SELECT may have 4096 columns (the server's own limit). */
#define TDS_COLUMNS_MAX 4096u

/* Names of the columns of one result, as UTF-8: 4096 of 128 units (the server's
 * own limit for a name), three bytes each. */
#define TDS_NAMES_MAX 1572864u

/* A token with a two-byte length is gathered whole; that is 65535 bytes. */
#define TDS_TOKEN_MAX 65535u

/* FEATUREEXTACK data is a byte or two for the features asked here. */
#define TDS_FEATURE_MAX 4096u

/* Bytes of one cell.  The server's own limit is 2^31-1 bytes a value. */
#define TDS_VALUE_MAX 2147483647u

/* A sql_variant (8009 bytes with its properties) and a vector (1998 elements
 * behind 8 bytes) are gathered whole. */
#define TDS_WHOLE_MAX 8016u

/* First block taken for a value of unknown or announced length: announcements
 * are never believed beyond this. */
#define TDS_VALUE_FIRST 65536u

/* Input read at once; also what an idle connection keeps. */
#define TDS_READ_BYTES 16384u

/* A buffer of the decoder that has grown beyond this is not kept by an idle
 * connection. */
#define TDS_KEEP_BYTES 16384u

/* Wire bytes handled in one step before giving the CPU back (rule B1: 1 ms). */
#define TDS_STEP_BYTES 262144u

/* Server limit on a batch: 65536 packets of the negotiated size. */
#define TDS_BATCH_PACKETS 65536u

/* Parameters of a statement: the server takes 2100 in a call, and sp_prepexec has
 * three of its own. */
#define TDS_PARAMS_MAX 2097u

/* Prepared statements of a connection: asked for unless Prepared Statements=
 * says otherwise, and at most. */
#define TDS_PREPARED_DEFAULT 64u
#define TDS_PREPARED_MAX     1024u

/* A longer statement is not prepared: its text is kept with its handle. */
#define TDS_PREPARED_TEXT_MAX 32768u

/* Handles given back in front of one call; the rest waits for the next. */
#define TDS_UNPREPARE_MAX 16u

/* Rows and bytes of a batch if the caller leaves the choice to us. */
#define TDS_ROWS_DEFAULT  1024u
#define TDS_BYTES_DEFAULT 262144u

/* Kept of the error that ends a request; diag() has seen all of it. */
#define TDS_ERROR_TEXT 2048u

/* A name of a transaction or savepoint: the server looks at no more. */
#define TDS_TXN_NAME_UNITS 32u

/* Addresses tried for one name; more are ignored (a name with more is a load
 * balancer, and each attempt costs the caller's time). */
#define TDS_ADDRESSES_MAX 16u

/* Time for an address that is not the last one, if the connect has no deadline:
 * SYN is sent again after 1 and 3 seconds. */
#define TDS_ADDRESS_NS UINT64_C(5000000000)

/* One option of the connection string; names and paths are far shorter. */
#define TDS_OPTION_MAX 4096u

#endif
