// What nearly every test of something that waits needs; rarely changes.
#include "precompiled.hpp"

#include <gtest/gtest.h>

#include <algorithm>
