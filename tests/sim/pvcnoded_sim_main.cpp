// pvcnoded-sim: whole clusters of the real daemon on simulated time, with random faults, from one seed.
#include "sim/world/command_line.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <iostream>

int main(int count, char** arguments) {
    // Nothing here needs this loop, but Asio keeps the memory of ended coroutines for new ones only inside of one.
    boost::asio::io_context loop;
    int status = 0;
    boost::asio::post(
        loop, [&] { status = pvc::sim::run_command({arguments + 1, arguments + count}, std::cout, std::cerr); });
    loop.run();
    return status;
}
