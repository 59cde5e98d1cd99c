/// Models handed to a loop in another thread; says what came out wrong.

#include <atomic>
#include <iostream>
#include <memory>
#include <thread>

#include "sysid_ros/realtime_handover.hpp"

namespace
{

std::atomic<int> alive{0};

/// Counts those that are not freed.
struct Model
{
  explicit Model(int given) : value(given) {++alive;}
  ~Model() {value = -1; --alive;}
  int value;
};

int wrong = 0;

void expect(const char * what, bool holds)
{
  if (!holds) {
    std::cout << what << '\n';
    ++wrong;
  }
}

void in_turn()
{
  sysid_ros::RealtimeHandover<Model> handover;
  expect("something runs before the first offer", handover.current() == nullptr);
  expect("nothing was taken", !handover.take() && handover.running() == 0);
  handover.offer(std::make_unique<Model>(1));
  expect("the second replaces the first", handover.offer(std::make_unique<Model>(2)) == 2);
  expect("the first was not freed", alive == 1);
  expect("it is not taken by itself", handover.current() == nullptr);
  expect("the offer is taken", handover.take() && handover.current()->value == 2);
  expect("its number runs", handover.running() == 2);
  handover.offer(std::make_unique<Model>(3));
  expect("the next is taken", handover.take() && handover.current()->value == 3);
  expect("the loop freed the one it left", alive == 2);
  handover.offer(std::make_unique<Model>(4));
  expect("the one that was left was not freed", alive == 2);
}

void in_two_threads()
{
  constexpr int last = 20000;
  sysid_ros::RealtimeHandover<Model> handover;
  std::thread loop([&handover] {
      int before = 0;
      bool rising = true;
      while (before < last) {
        if (handover.take()) {
          rising = rising && handover.current()->value > before;
          before = handover.current()->value;
        }
      }
      expect("a model came late or was freed", rising);
    });
  for (int value = 1; value <= last; ++value) {
    handover.offer(std::make_unique<Model>(value));
  }
  loop.join();
  expect("the last does not run", handover.running() == last);
}

}  // namespace

int main()
{
  in_turn();
  in_two_threads();
  expect("models were not freed", alive == 0);
  return wrong;
}
