// pvcnoded-ceph: asks Ceph for the daemon, which alone starts it, over a socket that it inherits as descriptor 3.
#pragma once

namespace pvc::ceph_helper {

// All of main(); a function of this library so that nothing of the program itself is seen by Ceph's libraries, which
// hold another version of Boost.
int run_program(int argc, char** argv);

}  // namespace pvc::ceph_helper
