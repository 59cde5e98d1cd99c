/// \file
/// Hands a new model to a real-time loop, which changes to it when it can; needs no ROS.

#ifndef SYSID_ROS__REALTIME_HANDOVER_HPP_
#define SYSID_ROS__REALTIME_HANDOVER_HPP_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace sysid_ros
{

/// Exchange of one model between a thread that makes models and a real-time loop that runs them.
///
/// The loop neither waits nor frees memory: a model that it has left is freed by the other thread,
/// with the next offer or in the destructor.
template<class Model>
class RealtimeHandover
{
public:
  RealtimeHandover() = default;
  RealtimeHandover(const RealtimeHandover &) = delete;
  RealtimeHandover & operator=(const RealtimeHandover &) = delete;

  /// The loop must have ended.
  ~RealtimeHandover()
  {
    delete offered_.load();
    delete current_;
    free_left();
  }

  /// Offer a model, in the thread that makes them; it replaces one that was not taken yet.
  /// \returns Number of the offer, from 1, which running() tells once the loop has taken it.
  std::uint64_t offer(std::unique_ptr<Model> model)
  {
    free_left();
    delete offered_.exchange(new Offer{std::move(model), ++offers_});
    return offers_;
  }

  /// Change to the model that is offered, if there is one: in the loop, at a moment when other
  /// torques do no harm, such as at rest. \returns Whether it changed.
  bool take()
  {
    Offer * const next = offered_.exchange(nullptr);
    if (next == nullptr) {
      return false;
    }
    if (current_ != nullptr) {
      // The other thread does nothing but empty the list: a second try at the most in each offer.
      current_->next = left_.load();
      while (!left_.compare_exchange_weak(current_->next, current_)) {}
    }
    current_ = next;
    running_.store(next->number);
    return true;
  }

  /// The model that the loop runs, in the loop; null before the first was taken.
  Model * current() {return current_ == nullptr ? nullptr : current_->model.get();}

  /// Number of the offer that the loop runs, in any thread; 0 before the first.
  std::uint64_t running() const {return running_.load();}

private:
  struct Offer
  {
    std::unique_ptr<Model> model;
    std::uint64_t number;
    Offer * next = nullptr;  // in the list of those that the loop has left
  };

  void free_left()
  {
    for (Offer * one = left_.exchange(nullptr); one != nullptr;) {
      delete std::exchange(one, one->next);
    }
  }

  std::atomic<Offer *> offered_{nullptr}, left_{nullptr};
  std::atomic<std::uint64_t> running_{0};
  Offer * current_ = nullptr;  // of the loop alone
  std::uint64_t offers_ = 0;   // of the other thread alone
};

}  // namespace sysid_ros

#endif  // SYSID_ROS__REALTIME_HANDOVER_HPP_
