// A small HTTP server on loopback that breaks off and refuses as it is told, and a maker of zip archives.
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "minbert/error.h"

namespace minbert::test {

// What the server does with one address: it breaks off `cuts` answers in their middle, and may not know ranges.
struct Page {
  std::string content;
  int cuts = 0;
  bool ranges = true;
};

// HTTP/1.1 on a port of its own choice, one connection after the other, in a thread. Pages are set before a request.
class Server {
 public:
  explicit Server(std::map<std::string, Page> pages) : pages_(std::move(pages)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(listener_ >= 0);
    REQUIRE(bind(listener_, any, length) == 0);
    REQUIRE(listen(listener_, 8) == 0);
    REQUIRE(getsockname(listener_, any, &length) == 0);
    root_ = formatted("http://127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] {
      for (int client; (client = accept(listener_, nullptr, nullptr)) >= 0; close(client)) answer(client);
    });
  }
  ~Server() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  const std::string& root() const { return root_; }
  Page& page(const std::string& path) { return pages_.at(path); }

  // "PATH@FIRST" for each request since the last call; FIRST is the first byte it asked for.
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  void answer(int client) {
    std::string head;
    for (char c; head.find("\r\n\r\n") == head.npos && recv(client, &c, 1, 0) == 1;) head += c;
    const size_t blank = head.find(' ');
    if (blank == head.npos) return;
    const std::string path = head.substr(blank + 1, head.find(' ', blank + 1) - blank - 1);
    const size_t range = head.find("Range: bytes=");
    const size_t asked = range == head.npos ? 0 : std::stoul(head.substr(range + 13));
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(formatted("{}@{}", path, asked));
    }
    const auto found = pages_.find(path);
    if (found == pages_.end()) return send_all(client, "404 Not Found", "", "sorry", 5);
    Page& page = found->second;
    const size_t first = page.ranges ? asked : 0, size = page.content.size();
    if (first > 0 && first >= size)
      return send_all(client, "416 Range Not Satisfiable", formatted("Content-Range: bytes */{}\r\n", size), "", 0);
    const std::string rest = page.content.substr(first);
    const bool cut = page.cuts > 0 && page.cuts--;
    send_all(client, first ? "206 Partial Content" : "200 OK",
             first ? formatted("Content-Range: bytes {}-{}/{}\r\n", first, size - 1, size) : "", rest,
             cut ? rest.size() / 2 : rest.size());
  }
  // Announces all of `body` and sends the first `most` bytes of it.
  static void send_all(int client, const char* status, const std::string& headers, const std::string& body,
                       size_t most) {
    std::string all = formatted("HTTP/1.1 {}\r\n{}Content-Length: {}\r\n", status, headers, body.size());
    all += "Connection: close\r\n\r\n" + body.substr(0, most);
    for (size_t at = 0; at < all.size();) {
      const ssize_t sent = send(client, all.data() + at, all.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return;
      at += size_t(sent);
    }
    shutdown(client, SHUT_WR);
  }

  std::map<std::string, Page> pages_;
  std::string root_;
  int listener_ = -1;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<std::string> requests_;
};

// A zip archive of stored files. With a bitwise CRC-32 it is short; the files are.
class Zip {
 public:
  void add(const std::string& name, const std::string& content) {
    uint32_t crc = ~0u;
    for (const char c : content) {
      crc ^= uint8_t(c);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    const std::string about = number(10, 2) + number(0, 2) + number(0, 2) + number(0, 2) + number(0x21, 2) +
                              number(~crc, 4) + number(content.size(), 4) + number(content.size(), 4) +
                              number(name.size(), 2) + number(0, 2);   // version, flags, stored, time, date, ...
    list_ += "PK\1\2" + number(10, 2) + about + number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
             number(files_.size(), 4) + name;
    files_ += "PK\3\4" + about + name + content;
    ++count_;
  }
  std::string archive() const {
    return files_ + list_ + "PK\5\6" + number(0, 4) + number(count_, 2) + number(count_, 2) +
           number(list_.size(), 4) + number(files_.size(), 4) + number(0, 2);
  }

 private:
  static std::string number(uint64_t value, int bytes) {   // little-endian
    std::string text;
    for (; bytes-- > 0; value >>= 8) text += char(value & 255);
    return text;
  }
  std::string files_, list_;
  uint64_t count_ = 0;
};

}  // namespace minbert::test
