# Flags and helpers that every folder uses.

# Warnings, sanitizers and hardening as one target that ours link privately.
add_library(weir_flags INTERFACE)
target_compile_definitions(weir_flags INTERFACE _GNU_SOURCE)
target_compile_options(weir_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual
  -Wcast-align -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes
  -Wold-style-definition -Wvla -Wformat=2 -Wundef -Wwrite-strings
  -Wredundant-decls -Wswitch-enum -Wimplicit-fallthrough -Wnull-dereference
  -Wdouble-promotion -Wunused-macros -Wdate-time -Wenum-conversion
  -fno-omit-frame-pointer)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(weir_flags INTERFACE
    -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init
    -Wformat-signedness -Wformat-truncation=2 -Walloc-zero -Warith-conversion
    -Wshift-overflow=2 -Wtrampolines -Wcast-align=strict)
elseif(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  target_compile_options(weir_flags INTERFACE
    -Wthread-safety -Watomic-implicit-seq-cst -Wcomma
    -Wconditional-uninitialized -Wmissing-variable-declarations
    -Wunreachable-code -Wextra-semi-stmt -Wassign-enum -Wnewline-eof
    -Wover-aligned -Wdocumentation)
endif()
if(WEIR_WERROR)
  target_compile_options(weir_flags INTERFACE -Werror)
endif()
if(WEIR_FUZZERS)
  # Coverage for libFuzzer in everything a fuzz target links.
  target_compile_options(weir_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(WEIR_SANITIZE)
  target_compile_options(weir_flags INTERFACE
    -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
else()
  target_link_options(weir_flags INTERFACE -Wl,-z,defs)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(weir_flags INTERFACE
      -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
      -fstack-clash-protection -fcf-protection)
  endif()
endif()
target_link_options(weir_flags INTERFACE
  -Wl,-z,relro -Wl,-z,now -Wl,--as-needed)

# weir_protect(TARGET): the loader refuses what others than its owner may write,
# which is what a umask of 002 makes of a file and of its directory.
function(weir_protect target)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND chmod go-w $<TARGET_FILE_DIR:${target}> $<TARGET_FILE:${target}>
    VERBATIM)
endfunction()

# weir_driver(NAME SOURCES file...): one driver, lib/weir/drivers/NAME.so.
# A driver sees the driver ABI and nothing else of this tree.
function(weir_driver name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  add_library(weir_drv_${name} MODULE ${arg_SOURCES})
  set_target_properties(weir_drv_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${WEIR_DRIVER_OUTPUT_DIRECTORY})
  target_link_libraries(weir_drv_${name} PRIVATE weir_abi weir_flags)
  target_link_options(weir_drv_${name} PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/abi/weir_driver.map
    -Wl,-Bsymbolic -Wl,-z,nodelete)
  set_target_properties(weir_drv_${name} PROPERTIES
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/abi/weir_driver.map)
  weir_protect(weir_drv_${name})
endfunction()
