// Messages of protobuf on arenas: their parts are freed all at once.
#pragma once
#include <google/protobuf/arena.h>

#include <memory>

namespace tenon::converter::onnx {

template <class Message>
std::shared_ptr<Message> on_own_arena() {
  const auto arena = std::make_shared<google::protobuf::Arena>();
  return {arena, google::protobuf::Arena::CreateMessage<Message>(arena.get())};
}

/// On the arena of a message that on_own_arena() made; it lives as long as either.
template <class Message, class Other>
std::shared_ptr<Message> on_arena_of(const std::shared_ptr<Other>& other) {
  return {other, google::protobuf::Arena::CreateMessage<Message>(other->GetArena())};
}

}  // namespace tenon::converter::onnx
