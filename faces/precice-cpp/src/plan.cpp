#include "plan.hpp"

#include <charconv>
#include <sstream>

#include <precice/Exceptions.hpp>

namespace precice::impl {

namespace {

constexpr char SEPARATOR = '\t';
// The number of words of each kind of line.
const std::map<std::string, std::size_t> WORDS = {
    {"scheme", 2},  {"first", 2}, {"data", 3}, {"mesh", 5}, {"participant", 2}, {"provide", 3},
    {"receive", 5}, {"write", 4}, {"read", 4}, {"map", 10}, {"exchange", 8},    {"clock", 4}};

std::vector<std::string> split(const std::string &line) {
    std::vector<std::string> words(1);
    for (const char letter : line) {
        if (letter == SEPARATOR)
            words.emplace_back();
        else
            words.back() += letter;
    }
    return words;
}

// A number, whatever the locale of the program.
template <class Number>
Number number(const std::string &word) {
    Number value{};
    const auto end = word.data() + word.size();
    const auto found = std::from_chars(word.data(), end, value);
    if (found.ec != std::errc() || found.ptr != end) {
        throw Error("the setting precice_plan has \"" + word + "\" in the place of a number");
    }
    return value;
}

}  // namespace

Plan::Plan(const std::string &text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto words = split(line);
        const auto known = WORDS.find(words[0]);
        if (known == WORDS.end() || known->second != words.size()) {
            throw Error("the setting precice_plan has a line \"" + line +
                        "\", which this library does not know; "
                        "make the model by the precice-to-ligament of the same version");
        }
        read(words);
    }
}

void Plan::read(const std::vector<std::string> &words) {
    const std::string &kind = words[0];
    if (kind == "scheme") {
        scheme = words[1];
    } else if (kind == "first") {
        firsts.insert(words[1]);
    } else if (kind == "data") {
        vectors[words[1]] = words[2] == "vector";
    } else if (kind == "mesh") {
        meshes[words[1]] = {number<int>(words[2]), words[3], words[4] == "cells"};
    } else if (kind == "participant") {
        roles[words[1]];
    } else if (kind == "provide") {
        roles[words[1]].provided.push_back(words[2]);
    } else if (kind == "receive") {
        roles[words[1]].received[words[2]] = words[3];
        if (words[4] == "access") roles[words[1]].accessed.insert(words[2]);
    } else if (kind == "write") {
        roles[words[1]].written.emplace_back(words[2], words[3]);
    } else if (kind == "read") {
        roles[words[1]].read.emplace_back(words[2], words[3]);
    } else if (kind == "map") {
        const Basis basis{words[6], number<double>(words[7]), number<double>(words[8]), words[9]};
        roles[words[1]].mappings.push_back({words[2], words[3], words[4], words[5] == "conservative", basis});
    } else if (kind == "clock") {
        clocks.push_back({words[1], words[2], words[3]});
    } else {
        exchanges.push_back({words[1], words[2], words[3], words[4], words[5], words[6] == "initialize",
                             number<std::size_t>(words[7])});
    }
}

bool Plan::is_implicit() const {
    const std::string ending = "implicit";
    return scheme.size() >= ending.size() &&
           scheme.compare(scheme.size() - ending.size(), ending.size(), ending) == 0;
}

int Plan::width(const std::string &data, const std::string &mesh) const {
    return vectors.at(data) ? meshes.at(mesh).dimensions : 1;
}

}  // namespace precice::impl
