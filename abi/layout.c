/* SPDX-License-Identifier: MIT */
/* layout.c - where every member of every struct of the driver ABI lies.
 *
 * Compiled in every build and never linked: a header whose layout has moved
 * does not compile.  A line here changes only together with the version rules of
 * weir_driver.h: members are added at the end of a struct, and none moves. */
#include "weir_driver.h"

#if UINTPTR_MAX == UINT64_MAX
/* Sizes of pointers are meant. */
/* NOLINTBEGIN(bugprone-sizeof-expression) */

#  define MEMBER(type, member, at, bytes)                         \
    _Static_assert(offsetof(struct type, member) == (at),         \
                   #type "." #member " moved");                   \
    _Static_assert(sizeof(((struct type *)0)->member) == (bytes), \
                   #type "." #member " changed size")
#  define WHOLE(type, bytes) \
    _Static_assert(sizeof(struct type) == (bytes), #type " changed size")

MEMBER(weir_drv_text, p, 0, 8);
MEMBER(weir_drv_text, n, 8, 8);
WHOLE(weir_drv_text, 16);

MEMBER(weir_drv_bytes, p, 0, 8);
MEMBER(weir_drv_bytes, n, 8, 8);
WHOLE(weir_drv_bytes, 16);

MEMBER(weir_drv_value, type, 0, 4);
MEMBER(weir_drv_value, flags, 4, 4);
MEMBER(weir_drv_value, n, 8, 8);
MEMBER(weir_drv_value, p, 16, 8);
MEMBER(weir_drv_value, i, 24, 8);
MEMBER(weir_drv_value, u, 32, 8);
MEMBER(weir_drv_value, f, 40, 8);
WHOLE(weir_drv_value, 48);

MEMBER(weir_drv_error, struct_size, 0, 4);
MEMBER(weir_drv_error, scope, 4, 4);
MEMBER(weir_drv_error, kind, 8, 4);
MEMBER(weir_drv_error, retry, 12, 4);
MEMBER(weir_drv_error, txn, 16, 4);
MEMBER(weir_drv_error, flags, 20, 4);
MEMBER(weir_drv_error, native, 24, 4);
MEMBER(weir_drv_error, native_severity, 28, 4);
MEMBER(weir_drv_error, retry_after_ms, 32, 4);
MEMBER(weir_drv_error, native_state, 36, 4);
MEMBER(weir_drv_error, sqlstate, 40, 8);
MEMBER(weir_drv_error, message, 48, 8);
MEMBER(weir_drv_error, message_cap, 56, 4);
MEMBER(weir_drv_error, message_len, 60, 4);
MEMBER(weir_drv_error, line, 64, 4);
MEMBER(weir_drv_error, reserved0, 68, 4);
WHOLE(weir_drv_error, 72);

MEMBER(weir_drv_diag, struct_size, 0, 4);
MEMBER(weir_drv_diag, native, 4, 4);
MEMBER(weir_drv_diag, severity, 8, 4);
MEMBER(weir_drv_diag, line, 12, 4);
MEMBER(weir_drv_diag, sqlstate, 16, 16);
MEMBER(weir_drv_diag, message, 32, 16);
MEMBER(weir_drv_diag, server, 48, 16);
MEMBER(weir_drv_diag, procedure, 64, 16);
MEMBER(weir_drv_diag, state, 80, 4);
MEMBER(weir_drv_diag, reserved0, 84, 4);
WHOLE(weir_drv_diag, 88);

MEMBER(weir_drv_want, stream, 0, 8);
MEMBER(weir_drv_want, fd, 8, 8);
MEMBER(weir_drv_want, events, 16, 4);
MEMBER(weir_drv_want, ready, 20, 4);
WHOLE(weir_drv_want, 24);

MEMBER(weir_drv_wait, struct_size, 0, 4);
MEMBER(weir_drv_wait, flags, 4, 4);
MEMBER(weir_drv_wait, timer, 8, 8);
MEMBER(weir_drv_wait, request, 16, 4);
MEMBER(weir_drv_wait, n_want, 20, 4);
MEMBER(weir_drv_wait, request_arg, 24, 8);
MEMBER(weir_drv_wait, want, 32, 192);
MEMBER(weir_drv_wait, usable, 224, 4);
MEMBER(weir_drv_wait, txn, 228, 4);
MEMBER(weir_drv_wait, dirty, 232, 4);
MEMBER(weir_drv_wait, reserved0, 236, 4);
MEMBER(weir_drv_wait, row_count, 240, 8);
MEMBER(weir_drv_wait, auth_expires_unix, 248, 8);
WHOLE(weir_drv_wait, 256);

MEMBER(weir_drv_wake, struct_size, 0, 4);
MEMBER(weir_drv_wake, why, 4, 4);
MEMBER(weir_drv_wake, now, 8, 8);
MEMBER(weir_drv_wake, n_want, 16, 4);
MEMBER(weir_drv_wake, reply_status, 20, 4);
MEMBER(weir_drv_wake, want, 24, 8);
MEMBER(weir_drv_wake, reply, 32, 8);
MEMBER(weir_drv_wake, reply_error, 40, 8);
WHOLE(weir_drv_wake, 48);

MEMBER(weir_drv_addr, len, 0, 4);
MEMBER(weir_drv_addr, family, 4, 4);
MEMBER(weir_drv_addr, bytes, 8, 128);
WHOLE(weir_drv_addr, 136);

MEMBER(weir_drv_req_resolve, struct_size, 0, 4);
MEMBER(weir_drv_req_resolve, port, 4, 4);
MEMBER(weir_drv_req_resolve, host, 8, 16);
MEMBER(weir_drv_req_resolve, family, 24, 4);
MEMBER(weir_drv_req_resolve, reserved0, 28, 4);
WHOLE(weir_drv_req_resolve, 32);

MEMBER(weir_drv_rep_resolve, struct_size, 0, 4);
MEMBER(weir_drv_rep_resolve, n, 4, 4);
MEMBER(weir_drv_rep_resolve, addr, 8, 8);
WHOLE(weir_drv_rep_resolve, 16);

MEMBER(weir_drv_req_cred, struct_size, 0, 4);
MEMBER(weir_drv_req_cred, kind, 4, 4);
MEMBER(weir_drv_req_cred, attempt, 8, 4);
MEMBER(weir_drv_req_cred, reserved0, 12, 4);
MEMBER(weir_drv_req_cred, resource, 16, 16);
MEMBER(weir_drv_req_cred, scope, 32, 16);
MEMBER(weir_drv_req_cred, authority, 48, 16);
MEMBER(weir_drv_req_cred, server, 64, 16);
MEMBER(weir_drv_req_cred, principal, 80, 16);
MEMBER(weir_drv_req_cred, option, 96, 16);
MEMBER(weir_drv_req_cred, nonce, 112, 16);
WHOLE(weir_drv_req_cred, 128);

MEMBER(weir_drv_rep_cred, struct_size, 0, 4);
MEMBER(weir_drv_rep_cred, kind, 4, 4);
MEMBER(weir_drv_rep_cred, principal, 8, 16);
MEMBER(weir_drv_rep_cred, secret, 24, 16);
MEMBER(weir_drv_rep_cred, expires_unix_s, 40, 8);
WHOLE(weir_drv_rep_cred, 48);

MEMBER(weir_drv_req_offload, struct_size, 0, 4);
MEMBER(weir_drv_req_offload, flags, 4, 4);
MEMBER(weir_drv_req_offload, fn, 8, 8);
MEMBER(weir_drv_req_offload, arg, 16, 8);
WHOLE(weir_drv_req_offload, 24);

MEMBER(weir_drv_host, struct_size, 0, 4);
MEMBER(weir_drv_host, abi_minor, 4, 4);
MEMBER(weir_drv_host, ctx, 8, 8);
MEMBER(weir_drv_host, now, 16, 8);
MEMBER(weir_drv_host, unix_ms, 24, 8);
MEMBER(weir_drv_host, alloc, 32, 8);
MEMBER(weir_drv_host, release, 40, 8);
MEMBER(weir_drv_host, wipe, 48, 8);
MEMBER(weir_drv_host, random, 56, 8);
MEMBER(weir_drv_host, log_on, 64, 8);
MEMBER(weir_drv_host, log, 72, 8);
MEMBER(weir_drv_host, diag, 80, 8);
MEMBER(weir_drv_host, batch, 88, 8);
MEMBER(weir_drv_host, batch_space, 96, 8);
MEMBER(weir_drv_host, batch_grow, 104, 8);
MEMBER(weir_drv_host, batch_cell, 112, 8);
MEMBER(weir_drv_host, stream_open, 120, 8);
MEMBER(weir_drv_host, stream_connected, 128, 8);
MEMBER(weir_drv_host, stream_read, 136, 8);
MEMBER(weir_drv_host, stream_write, 144, 8);
MEMBER(weir_drv_host, stream_peek, 152, 8);
MEMBER(weir_drv_host, stream_close, 160, 8);
MEMBER(weir_drv_host, fd_forget, 168, 8);
MEMBER(weir_drv_host, service, 176, 8);
WHOLE(weir_drv_host, 184);

MEMBER(weir_drv_tls_args, struct_size, 0, 4);
MEMBER(weir_drv_tls_args, flags, 4, 4);
MEMBER(weir_drv_tls_args, server_name, 8, 16);
MEMBER(weir_drv_tls_args, verify_name, 24, 16);
MEMBER(weir_drv_tls_args, ca_file, 40, 16);
MEMBER(weir_drv_tls_args, pin_file, 56, 16);
MEMBER(weir_drv_tls_args, alpn, 72, 16);
MEMBER(weir_drv_tls_args, min_version, 88, 16);
MEMBER(weir_drv_tls_args, peer, 104, 16);
WHOLE(weir_drv_tls_args, 120);

MEMBER(weir_drv_tls_api, struct_size, 0, 4);
MEMBER(weir_drv_tls_api, version, 4, 4);
MEMBER(weir_drv_tls_api, open, 8, 8);
MEMBER(weir_drv_tls_api, handshake, 16, 8);
MEMBER(weir_drv_tls_api, feed, 24, 8);
MEMBER(weir_drv_tls_api, drain, 32, 8);
MEMBER(weir_drv_tls_api, read, 40, 8);
MEMBER(weir_drv_tls_api, write, 48, 8);
MEMBER(weir_drv_tls_api, pending, 56, 8);
MEMBER(weir_drv_tls_api, binding, 64, 8);
MEMBER(weir_drv_tls_api, info, 72, 8);
MEMBER(weir_drv_tls_api, close, 80, 8);
WHOLE(weir_drv_tls_api, 88);

MEMBER(weir_drv_option_info, struct_size, 0, 4);
MEMBER(weir_drv_option_info, type, 4, 4);
MEMBER(weir_drv_option_info, flags, 8, 4);
MEMBER(weir_drv_option_info, since_minor, 12, 4);
MEMBER(weir_drv_option_info, name, 16, 16);
MEMBER(weir_drv_option_info, aliases, 32, 16);
MEMBER(weir_drv_option_info, choices, 48, 16);
MEMBER(weir_drv_option_info, fallback, 64, 16);
MEMBER(weir_drv_option_info, help, 80, 16);
WHOLE(weir_drv_option_info, 96);

MEMBER(weir_drv_option, name, 0, 16);
MEMBER(weir_drv_option, value, 16, 48);
WHOLE(weir_drv_option, 64);

MEMBER(weir_drv_key_sink, struct_size, 0, 4);
MEMBER(weir_drv_key_sink, reserved0, 4, 4);
MEMBER(weir_drv_key_sink, ctx, 8, 8);
MEMBER(weir_drv_key_sink, part, 16, 8);
WHOLE(weir_drv_key_sink, 24);

MEMBER(weir_drv_connect_args, struct_size, 0, 4);
MEMBER(weir_drv_connect_args, attempt, 4, 4);
MEMBER(weir_drv_connect_args, deadline, 8, 8);
MEMBER(weir_drv_connect_args, app_name, 16, 16);
MEMBER(weir_drv_connect_args, client_id, 32, 16);
MEMBER(weir_drv_connect_args, avoid, 48, 16);
WHOLE(weir_drv_connect_args, 64);

MEMBER(weir_drv_reset_args, struct_size, 0, 4);
MEMBER(weir_drv_reset_args, mode, 4, 4);
MEMBER(weir_drv_reset_args, deadline, 8, 8);
MEMBER(weir_drv_reset_args, cfg, 16, 8);
WHOLE(weir_drv_reset_args, 24);

MEMBER(weir_drv_txn_args, struct_size, 0, 4);
MEMBER(weir_drv_txn_args, verb, 4, 4);
MEMBER(weir_drv_txn_args, isolation, 8, 4);
MEMBER(weir_drv_txn_args, flags, 12, 4);
MEMBER(weir_drv_txn_args, deadline, 16, 8);
MEMBER(weir_drv_txn_args, name, 24, 16);
MEMBER(weir_drv_txn_args, branch, 40, 16);
WHOLE(weir_drv_txn_args, 56);

MEMBER(weir_drv_param, struct_size, 0, 4);
MEMBER(weir_drv_param, flags, 4, 4);
MEMBER(weir_drv_param, name, 8, 16);
MEMBER(weir_drv_param, type_hint, 24, 16);
MEMBER(weir_drv_param, value, 40, 48);
WHOLE(weir_drv_param, 88);

MEMBER(weir_drv_exec_args, struct_size, 0, 4);
MEMBER(weir_drv_exec_args, flags, 4, 4);
MEMBER(weir_drv_exec_args, deadline, 8, 8);
MEMBER(weir_drv_exec_args, sql, 16, 16);
MEMBER(weir_drv_exec_args, params, 32, 8);
MEMBER(weir_drv_exec_args, n_params, 40, 4);
MEMBER(weir_drv_exec_args, params_stride, 44, 4);
MEMBER(weir_drv_exec_args, batch_rows, 48, 4);
MEMBER(weir_drv_exec_args, batch_bytes, 52, 4);
WHOLE(weir_drv_exec_args, 56);

MEMBER(weir_drv_stmt_stats, struct_size, 0, 4);
MEMBER(weir_drv_stmt_stats, cached, 4, 4);
MEMBER(weir_drv_stmt_stats, prepared, 8, 8);
MEMBER(weir_drv_stmt_stats, reused, 16, 8);
WHOLE(weir_drv_stmt_stats, 24);

MEMBER(weir_drv_stmt_api, struct_size, 0, 4);
MEMBER(weir_drv_stmt_api, version, 4, 4);
MEMBER(weir_drv_stmt_api, exec, 8, 8);
MEMBER(weir_drv_stmt_api, stats, 16, 8);
WHOLE(weir_drv_stmt_api, 24);

MEMBER(weir_drv_column, struct_size, 0, 4);
MEMBER(weir_drv_column, type, 4, 4);
MEMBER(weir_drv_column, name, 8, 16);
MEMBER(weir_drv_column, native_type, 24, 16);
MEMBER(weir_drv_column, native_code, 40, 4);
MEMBER(weir_drv_column, nullable, 44, 4);
MEMBER(weir_drv_column, precision, 48, 4);
MEMBER(weir_drv_column, scale, 52, 4);
MEMBER(weir_drv_column, max_bytes, 56, 8);
WHOLE(weir_drv_column, 64);

MEMBER(weir_drv_config_info, struct_size, 0, 4);
MEMBER(weir_drv_config_info, flags, 4, 4);
WHOLE(weir_drv_config_info, 8);

MEMBER(weir_drv_open_args, struct_size, 0, 4);
MEMBER(weir_drv_open_args, flags, 4, 4);
MEMBER(weir_drv_open_args, resource_dir, 8, 16);
WHOLE(weir_drv_open_args, 24);

MEMBER(weir_driver, struct_size, 0, 4);
MEMBER(weir_driver, magic, 4, 4);
MEMBER(weir_driver, abi_hash, 8, 8);
MEMBER(weir_driver, abi_minor, 16, 4);
MEMBER(weir_driver, min_host_minor, 20, 4);
MEMBER(weir_driver, thread_model, 24, 4);
MEMBER(weir_driver, reserved0, 28, 4);
MEMBER(weir_driver, caps, 32, 8);
MEMBER(weir_driver, name, 40, 8);
MEMBER(weir_driver, version, 48, 8);
MEMBER(weir_driver, open, 56, 8);
MEMBER(weir_driver, close, 64, 8);
MEMBER(weir_driver, extension, 72, 8);
MEMBER(weir_driver, options, 80, 8);
MEMBER(weir_driver, config_create, 88, 8);
MEMBER(weir_driver, config_destroy, 96, 8);
MEMBER(weir_driver, config_key, 104, 8);
MEMBER(weir_driver, config_info, 112, 8);
MEMBER(weir_driver, conn_create, 120, 8);
MEMBER(weir_driver, conn_destroy, 128, 8);
MEMBER(weir_driver, abort_conn, 136, 8);
MEMBER(weir_driver, interrupt, 144, 8);
MEMBER(weir_driver, get, 152, 8);
MEMBER(weir_driver, health, 160, 8);
MEMBER(weir_driver, idle, 168, 8);
MEMBER(weir_driver, connect, 176, 8);
MEMBER(weir_driver, ping, 184, 8);
MEMBER(weir_driver, reset, 192, 8);
MEMBER(weir_driver, txn, 200, 8);
MEMBER(weir_driver, exec, 208, 8);
MEMBER(weir_driver, logout, 216, 8);
MEMBER(weir_driver, step, 224, 8);
MEMBER(weir_driver, cancel, 232, 8);
MEMBER(weir_driver, columns, 240, 8);
WHOLE(weir_driver, 248);

MEMBER(weir_drv_elf_note, namesz, 0, 4);
MEMBER(weir_drv_elf_note, descsz, 4, 4);
MEMBER(weir_drv_elf_note, type, 8, 4);
MEMBER(weir_drv_elf_note, name, 12, 8);
MEMBER(weir_drv_elf_note, abi_minor, 20, 4);
MEMBER(weir_drv_elf_note, min_host_minor, 24, 4);
MEMBER(weir_drv_elf_note, abi_hash_low, 28, 4);
MEMBER(weir_drv_elf_note, abi_hash_high, 32, 4);
MEMBER(weir_drv_elf_note, flags, 36, 4);
MEMBER(weir_drv_elf_note, reserved0, 40, 4);
WHOLE(weir_drv_elf_note, 44);

/* NOLINTEND(bugprone-sizeof-expression) */
#else
#  error "the layout of the driver ABI is not written down for this machine"
#endif
