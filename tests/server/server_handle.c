/* SPDX-License-Identifier: MIT */
#include "server_handle.h"

#include <stdlib.h>
#include <string.h>

#include "server_const.h"

int32_t tdsd_handle_add(struct tdsd_handles *handles,
                        const char *sql,
                        size_t len,
                        const char *declared,
                        size_t declared_len) {
  size_t bytes = len + declared_len;
  if (handles->n == TDSD_CAP_HANDLES || handles->last_number == INT32_MAX ||
      bytes > TDSD_CAP_HANDLE_BYTES - handles->bytes) {
    return 0;
  }
  struct tdsd_handle *handle = malloc(sizeof *handle + bytes + 2);
  if (handle == NULL) {
    return 0;
  }
  char *text = (char *)(handle + 1);
  memset(text, 0, bytes + 2);
  if (len != 0) {
    memcpy(text, sql, len);
  }
  if (declared_len != 0) {
    memcpy(text + len + 1, declared, declared_len);
  }
  *handle = (struct tdsd_handle){.number = ++handles->last_number,
                                 .sql = text,
                                 .len = len,
                                 .declared = text + len + 1,
                                 .declared_len = declared_len,
                                 .next = handles->first};
  handles->first = handle;
  handles->n++;
  handles->bytes += bytes;
  return handle->number;
}

const struct tdsd_handle *tdsd_handle_find(const struct tdsd_handles *handles,
                                           int32_t number) {
  const struct tdsd_handle *handle = handles->first;
  while (handle != NULL && handle->number != number) {
    handle = handle->next;
  }
  return handle;
}

bool tdsd_handle_drop(struct tdsd_handles *handles, int32_t number) {
  struct tdsd_handle **at = &handles->first;
  while (*at != NULL && (*at)->number != number) {
    at = &(*at)->next;
  }
  struct tdsd_handle *handle = *at;
  if (handle == NULL) {
    return false;
  }
  *at = handle->next;
  handles->n--;
  handles->bytes -= handle->len + handle->declared_len;
  free(handle);
  return true;
}

void tdsd_handle_drop_all(struct tdsd_handles *handles, bool restart) {
  int32_t last = handles->last_number;
  while (handles->first != NULL) {
    struct tdsd_handle *next = handles->first->next;
    free(handles->first);
    handles->first = next;
  }
  *handles = (struct tdsd_handles){.last_number = restart ? 0 : last};
}
