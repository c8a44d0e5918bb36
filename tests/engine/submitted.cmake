# The tests of statements and transactions once more, by the submit forms
# (submitted_forms.h), and the same on a loop that is not the engine's.
foreach(name exec txn)
  weir_test(NAME ${name}_submitted
    SOURCES test_${name}.c fixture.c submitted_forms.c
    LABELS unit LIBS weir_support)
  add_dependencies(test_${name}_submitted weir_drv_mock weir_rogue)
  target_include_directories(test_${name}_submitted PRIVATE
    ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/drivers/mock)
  target_compile_options(test_${name}_submitted PRIVATE
    -include ${CMAKE_CURRENT_SOURCE_DIR}/submitted_forms.h)
  set_source_files_properties(submitted_forms.c PROPERTIES
    COMPILE_DEFINITIONS SUBMITTED_FORMS_PLAIN)
  if(NOT WEIR_SANITIZE STREQUAL "thread")
    add_test(NAME ${name}_submitted_foreign COMMAND test_${name}_submitted)
    set_tests_properties(${name}_submitted_foreign PROPERTIES
      LABELS unit TIMEOUT 120
      ENVIRONMENT "WEIR_FIXTURE_LOOP=foreign;WEIR_BUILD_DIR=${CMAKE_BINARY_DIR};WEIR_SOURCE_DIR=${PROJECT_SOURCE_DIR};CRITERION_JOBS=1")
  endif()
endforeach()
