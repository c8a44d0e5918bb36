# The reactor and what it stands on; included by CMakeLists.txt.
foreach(part heap reactor)
  weir_test(NAME ${part} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${part}.c
    LABELS unit LIBS weir_seams)
endforeach()
