# Read by CTest after the tests were discovered: a second label, which gtest_discover_tests cannot set (CMake 3.25 splits
# the list).
foreach(test IN LISTS contract_console_TESTS contract_netlink_TESTS contract_offload_TESTS contract_services_TESTS)
  set_tests_properties("${test}" PROPERTIES LABELS "contract;offload")
endforeach()
