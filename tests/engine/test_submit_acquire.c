/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
Test(submit_acquire, x) {}
