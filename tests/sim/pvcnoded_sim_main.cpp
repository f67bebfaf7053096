// pvcnoded-sim: whole clusters of the real daemon on simulated time, with random faults, from one seed.
#include "sim/world/command_line.hpp"

#include <iostream>

int main(int count, char** arguments) {
    // No loop of Asio's here: outside of one it takes the memory of every coroutine and handler from operator new
    // (block_allocator.cpp), which is faster than what it would keep by itself.
    return pvc::sim::run_command({arguments + 1, arguments + count}, std::cout, std::cerr);
}
