/* SPDX-License-Identifier: MIT */
#include "server_temp.h"

#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_text.h"

static const char *last_part(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot == NULL ? name : dot + 1;
}

bool tdsd_temp_is_name(const char *name) {
  return last_part(name)[0] == '#';
}

static void free_temp(struct tdsd_temp *temp) {
  free(temp->name);
  free(temp->columns);
  free(temp);
}

int tdsd_temp_add(struct tdsd_temps *temps,
                  const char *name,
                  const char *columns) {
  if (temps->n == TDSD_CAP_TEMPS) {
    return -1;
  }
  struct tdsd_temp *temp = calloc(1, sizeof *temp);
  if (temp == NULL) {
    return -1;
  }
  temp->name = strdup(last_part(name));
  temp->columns = strdup(columns);
  if (temp->name == NULL || temp->columns == NULL) {
    free_temp(temp);
    return -1;
  }
  temp->id = --temps->last_id;
  temp->next = temps->first;
  temps->first = temp;
  temps->n++;
  return 0;
}

const struct tdsd_temp *tdsd_temp_find(const struct tdsd_temps *temps,
                                       const char *name) {
  const struct tdsd_temp *temp = temps->first;
  while (temp != NULL && !tdsd_text_same(temp->name, last_part(name))) {
    temp = temp->next;
  }
  return temp;
}

bool tdsd_temp_drop(struct tdsd_temps *temps, const char *name) {
  struct tdsd_temp **at = &temps->first;
  while (*at != NULL && !tdsd_text_same((*at)->name, last_part(name))) {
    at = &(*at)->next;
  }
  struct tdsd_temp *temp = *at;
  if (temp == NULL) {
    return false;
  }
  *at = temp->next;
  temps->n--;
  free_temp(temp);
  return true;
}

void tdsd_temp_drop_all(struct tdsd_temps *temps) {
  while (temps->first != NULL) {
    struct tdsd_temp *next = temps->first->next;
    free_temp(temps->first);
    temps->first = next;
  }
  temps->n = 0;
}
