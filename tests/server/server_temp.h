/* SPDX-License-Identifier: MIT */
/* The #temporary tables of a session: their names and columns.  There are no
 * rows: they exist so that a reset can be seen to take them away. */
#ifndef TDSD_SERVER_TEMP_H
#define TDSD_SERVER_TEMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tdsd_temp {
  char *name;
  char *columns; /* "a int, b nvarchar(10)" */
  int32_t id;    /* of OBJECT_ID */
  struct tdsd_temp *next;
};

/* Zeroed is empty. */
struct tdsd_temps {
  struct tdsd_temp *first;
  uint32_t n;
  int32_t last_id;
};

/* Returns 0; -1 without memory or room (TDSD_CAP_TEMPS).  The name is new. */
int tdsd_temp_add(struct tdsd_temps *temps,
                  const char *name,
                  const char *columns);

/* Returns the table, NULL if there is none.  A name may have parts before it. */
const struct tdsd_temp *tdsd_temp_find(const struct tdsd_temps *temps,
                                       const char *name);

bool tdsd_temp_drop(struct tdsd_temps *temps, const char *name);
void tdsd_temp_drop_all(struct tdsd_temps *temps);

/* Whether the last part of a name begins with #. */
bool tdsd_temp_is_name(const char *name);

#endif
