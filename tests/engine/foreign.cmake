# The tests of the core once more, on a loop that is not the engine's
# (fixture.h).  Not engine, whose tests count descriptors.
if(NOT WEIR_SANITIZE STREQUAL "thread")
  foreach(name
      acquire
      cleanup
      close
      credential
      exec
      lease
      pool
      queue
      race
      registry
      shutdown
      submit_acquire
      submit_exec
      submit_txn
      tend
      txn)
    add_test(NAME ${name}_foreign COMMAND test_${name})
    set_tests_properties(${name}_foreign PROPERTIES LABELS unit TIMEOUT 120
      ENVIRONMENT "WEIR_FIXTURE_LOOP=foreign;WEIR_BUILD_DIR=${CMAKE_BINARY_DIR};WEIR_SOURCE_DIR=${PROJECT_SOURCE_DIR};CRITERION_JOBS=1")
  endforeach()
endif()
