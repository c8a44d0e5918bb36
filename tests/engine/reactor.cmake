# The reactor and what it stands on; included by CMakeLists.txt.
foreach(part heap reactor)
  weir_test(NAME ${part} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${part}.c
    LABELS unit LIBS weir_seams)
  # Criterion's macros declare what this warns about; a source's options come
  # after those of the flags target.
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/test_${part}.c PROPERTIES
    COMPILE_OPTIONS
      $<$<C_COMPILER_ID:Clang>:-Wno-missing-variable-declarations>)
endforeach()
