// A way to end a call of the library from outside: it knows the socket of one connection and shuts it down. The library
// then finds the end of the stream, and every call on that connection returns. Any thread.
#pragma once

#include <mutex>

namespace pvc::hypervisor {

class breaker {
public:
    breaker() = default;
    breaker(const breaker&) = delete;
    breaker& operator=(const breaker&) = delete;
    ~breaker() { release(); }

    // Takes a duplicate of the descriptor, which must be a socket; once cut, what comes later is cut at once.
    void take(int descriptor);
    void cut();
    // Closes the duplicate: the peer sees the end of a connection only when all are gone.
    void release();

private:
    std::mutex mutex_;
    int descriptor_ = -1;
    bool is_cut_ = false;
};

}  // namespace pvc::hypervisor
