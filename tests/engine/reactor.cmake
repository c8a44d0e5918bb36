# The reactor and what it stands on; included by CMakeLists.txt.
weir_test(NAME heap SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_heap.c
  LABELS unit LIBS weir_seams)
weir_test(NAME reactor SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_reactor.c
  LABELS unit LIBS weir_seams)
