#include "pvcnoded/ceph_helper/program.hpp"

int main(int argc, char** argv) {
    return pvc::ceph_helper::run_program(argc, argv);
}
