# Ways in which pools fail in the field, by number.
foreach(name
    cancel
    connects
    deadlines
    herd
    wakeups)
  weir_test(NAME scenario_${name} SOURCES test_scenario_${name}.c LABELS unit
    LIBS weir_engine_fixture)
endforeach()
