/* SPDX-License-Identifier: MIT */
#include "server_context.h"

#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_text.h"

static void free_entry(struct tdsd_context_entry *entry) {
  free(entry->key);
  free((void *)(uintptr_t)entry->value.bytes);
  free(entry);
}

static struct tdsd_context_entry **place_of(
    struct tdsd_session_context *context,
    const char *key) {
  struct tdsd_context_entry **at = &context->first;
  while (*at != NULL && !tdsd_text_same((*at)->key, key)) {
    at = &(*at)->next;
  }
  return at;
}

static struct tdsd_context_entry *new_entry(const char *key,
                                            const struct tdsd_value *value) {
  struct tdsd_context_entry *entry = calloc(1, sizeof *entry);
  if (entry == NULL) {
    return NULL;
  }
  char *bytes = calloc(1, value->len + 1);
  entry->key = strdup(key);
  entry->value = *value;
  entry->value.bytes = bytes;
  if (bytes == NULL || entry->key == NULL) {
    free_entry(entry);
    return NULL;
  }
  if (value->len != 0) {
    memcpy(bytes, value->bytes, value->len);
  }
  return entry;
}

static size_t size_of(const struct tdsd_context_entry *entry) {
  return strlen(entry->key) + entry->value.len;
}

int tdsd_context_set(struct tdsd_session_context *context,
                     const char *key,
                     const struct tdsd_value *value,
                     bool read_only,
                     struct tdsd_fault *fault) {
  struct tdsd_context_entry **at = place_of(context, key);
  struct tdsd_context_entry *old = *at;
  if (old != NULL && old->read_only) {
    return tdsd_fault_set(fault, 15664, 16,
                          "Cannot set key '%.128s' in the session context. The "
                          "key has been set as read_only for this session.",
                          key);
  }
  struct tdsd_context_entry *entry = NULL;
  size_t kept = context->bytes - (old != NULL ? size_of(old) : 0);
  if (!value->is_null) {
    if (strlen(key) + value->len > TDSD_CAP_CONTEXT - kept) {
      return tdsd_fault_set(fault, 15665, 16,
                            "The value was not set for key '%.128s' because "
                            "the total size of keys and values in the session "
                            "context would exceed the 1 MB limit.",
                            key);
    }
    entry = new_entry(key, value);
    if (entry == NULL) {
      return tdsd_fault_set(fault, 701, 17,
                            "There is insufficient memory for this query.");
    }
    entry->read_only = read_only;
    entry->next = old != NULL ? old->next : NULL;
    kept += size_of(entry);
    *at = entry;
  } else if (old != NULL) {
    *at = old->next;
  }
  if (old != NULL) {
    free_entry(old);
  }
  context->bytes = kept;
  return 0;
}

const struct tdsd_value *tdsd_context_get(
    const struct tdsd_session_context *context,
    const char *key) {
  const struct tdsd_context_entry *entry = context->first;
  while (entry != NULL && !tdsd_text_same(entry->key, key)) {
    entry = entry->next;
  }
  return entry == NULL ? NULL : &entry->value;
}

void tdsd_context_clear(struct tdsd_session_context *context) {
  while (context->first != NULL) {
    struct tdsd_context_entry *next = context->first->next;
    free_entry(context->first);
    context->first = next;
  }
  context->bytes = 0;
}
