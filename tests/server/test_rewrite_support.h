/* SPDX-License-Identifier: MIT */
/* A catalog of three tables for the rewriter's tests:
 *   t (id int identity, name nvarchar(20), price decimal(10,2), at datetime2(3),
 *      qty int, b varbinary(8), g uniqueidentifier, ok bit, f float, m money,
 *      d date)
 *   u (id int, t_id int, note varchar(30))
 *   #tmp (a int, b varchar(5))
 * and the variables @id int, @n int, @name nvarchar(20). */
#ifndef TDSD_TEST_REWRITE_SUPPORT_H
#define TDSD_TEST_REWRITE_SUPPORT_H

#include <stddef.h>

/* Rewrites one statement into out: SQLite's text, or "!number text". */
void rewrite_text(const char *sql, char *out, size_t cap);

/* The types of a query's columns, as "name type[ null], ...". */
void rewrite_columns(const char *sql, char *out, size_t cap);

#endif
