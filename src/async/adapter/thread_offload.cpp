#include "pvcnoded/async/adapter/thread_offload.hpp"

#include <boost/asio/post.hpp>

#include <pthread.h>
#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <utility>

namespace pvc::async {

struct thread_offload::pool {
    struct item {
        std::function<void()> work;
        std::function<void()> done;
    };

    pool(boost::asio::io_context& context, offload_limits given) : limits(given), loop(context.get_executor()) {}

    offload_limits limits;
    const boost::asio::io_context::executor_type loop;
    std::mutex mutex;
    std::condition_variable changed;  // an item for an idle thread; an ended thread for the destructor
    std::deque<item> queue;
    std::size_t threads = 0;
    std::size_t busy = 0;  // threads with an item; the others take one or are about to
    bool closed = false;   // the loop may be gone: nothing is posted any more

    // With the mutex held.
    static bool start_thread(const std::shared_ptr<pool>& self);
    static void* thread_main(void* self);
    void serve();
    bool take(item& next);
    void finish(item& finished);
};

bool thread_offload::pool::start_thread(const std::shared_ptr<pool>& self) {
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0) {
        return false;
    }
    ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    ::pthread_attr_setstacksize(&attributes, self->limits.stack_bytes);
    // Signals are for the loop thread: the new thread inherits a mask that blocks all of them.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    auto handed_over = std::make_unique<std::shared_ptr<pool>>(self);
    pthread_t thread{};
    const bool started = ::pthread_create(&thread, &attributes, &thread_main, handed_over.get()) == 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&attributes);
    if (started) {
        static_cast<void>(handed_over.release());  // thread_main owns it
        ++self->threads;
    }
    return started;
}

void* thread_offload::pool::thread_main(void* self) {
    ::pthread_setname_np(::pthread_self(), "pvc-offload");
    const std::unique_ptr<std::shared_ptr<pool>> owner(static_cast<std::shared_ptr<pool>*>(self));
    (*owner)->serve();
    return nullptr;
}

void thread_offload::pool::serve() {
    item next;
    while (take(next)) {
        next.work();
        finish(next);
    }
}

// False: nothing came for a while, or the pool is closed; the thread ends and no longer counts.
bool thread_offload::pool::take(item& next) {
    std::unique_lock lock(mutex);
    const auto give_up = std::chrono::steady_clock::now() + limits.idle;
    const bool woken =
        changed.wait_until(lock, give_up, [this] { return closed || !queue.empty() || threads > limits.threads; });
    if (!woken || closed || threads > limits.threads) {
        --threads;
        changed.notify_all();
        return false;
    }
    next = std::move(queue.front());
    queue.pop_front();
    ++busy;
    return true;
}

void thread_offload::pool::finish(item& finished) {
    // What the work captured goes here, on its own thread; what waits for it is touched by the loop thread only.
    finished.work = nullptr;
    std::function<void()> done = std::exchange(finished.done, nullptr);
    const std::lock_guard lock(mutex);
    --busy;
    if (!closed) {
        boost::asio::post(loop, std::move(done));
    }
}

thread_offload::thread_offload(boost::asio::io_context& context, offload_limits limits)
    : pool_(std::make_shared<pool>(context, limits)) {}

thread_offload::~thread_offload() {
    std::deque<pool::item> dropped;
    std::unique_lock lock(pool_->mutex);
    pool_->closed = true;
    dropped.swap(pool_->queue);
    pool_->changed.notify_all();
    pool_->changed.wait_for(lock, pool_->limits.farewell, [this] { return pool_->threads == 0; });
}

void thread_offload::allow_threads(std::size_t most) {
    const std::lock_guard lock(pool_->mutex);
    pool_->limits.threads = std::max<std::size_t>(most, 1);
    const std::size_t free_threads = pool_->threads - pool_->busy;
    for (std::size_t wanted = pool_->queue.size(); wanted > free_threads && pool_->threads < pool_->limits.threads;
         --wanted) {
        if (!pool::start_thread(pool_)) {
            break;
        }
    }
    pool_->changed.notify_all();
}

std::size_t thread_offload::threads() const {
    const std::lock_guard lock(pool_->mutex);
    return pool_->threads;
}

std::size_t thread_offload::waiting() const {
    const std::lock_guard lock(pool_->mutex);
    return pool_->queue.size();
}

bool thread_offload::submit(std::function<void()> work, std::function<void()> done) {
    const std::lock_guard lock(pool_->mutex);
    if (pool_->closed) {
        return false;
    }
    // Each thread that is not busy takes one item; what is beyond them needs a new thread or a place in the queue.
    const std::size_t free_threads = pool_->threads - pool_->busy;
    bool served = pool_->queue.size() < free_threads;
    if (!served && pool_->threads < pool_->limits.threads) {
        served = pool::start_thread(pool_);
    }
    if (!served && (pool_->threads == 0 || pool_->queue.size() >= free_threads + pool_->limits.waiting)) {
        return false;
    }
    pool_->queue.push_back({std::move(work), std::move(done)});
    pool_->changed.notify_one();
    return true;
}

}  // namespace pvc::async
