// Names in yMMSL: reading and writing them.
#include "ymmsl/identity.hpp"

#include <limits>
#include <ostream>
#include <stdexcept>

namespace ymmsl {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void refuse(std::string const &text, std::string const &why) {
    throw std::invalid_argument("\"" + text + "\" is no name in yMMSL: " + why);
}

// Reads the index of a reference whose '[' is at `at`, and moves `at` behind the ']'.
int read_index(std::string const &text, std::size_t &at) {
    std::size_t const end = text.find(']', at);
    if (end == std::string::npos) refuse(text, "a '[' has no ']'");
    if (end == at + 1) refuse(text, "an index is empty");
    long long index = 0;
    for (std::size_t i = at + 1; i < end; ++i) {
        if (!is_digit(text[i])) refuse(text, "an index is a whole number of at least 0");
        index = index * 10 + (text[i] - '0');
        if (index > std::numeric_limits<int>::max()) refuse(text, "an index is too large");
    }
    at = end + 1;
    return static_cast<int>(index);
}

std::vector<ReferencePart> read_parts(std::string const &text) {
    std::size_t at = text.find_first_of(".[");
    std::vector<ReferencePart> parts{Identifier(text.substr(0, at))};
    while (at < text.size()) {
        if (text[at] == '[') {
            parts.emplace_back(read_index(text, at));
        } else if (text[at] == '.') {
            std::size_t const end = text.find_first_of(".[", at + 1);
            parts.emplace_back(Identifier(text.substr(at + 1, end == std::string::npos ? end : end - at - 1)));
            at = end;
        } else {
            refuse(text, "after an index there is a '.' or a '['");
        }
    }
    return parts;
}

}  // namespace

Identifier::Identifier(std::string const &text) : text_(text) {
    if (text.empty()) refuse(text, "it is empty");
    if (is_digit(text[0])) refuse(text, "it begins with a digit");
    for (char const c : text) {
        if (!is_letter(c) && !is_digit(c)) refuse(text, "it has letters, digits and underscores only");
    }
}

bool operator==(std::string const &left, Identifier const &right) { return right == left; }
bool operator!=(std::string const &left, Identifier const &right) { return right != left; }
std::string operator+(std::string const &left, Identifier const &right) { return left + right.text(); }
std::string operator+(Identifier const &left, std::string const &right) { return left.text() + right; }
std::ostream &operator<<(std::ostream &out, Identifier const &identifier) { return out << identifier.text(); }

ReferencePart::ReferencePart(int index) : identifier_("_"), index_(index) {
    if (index < 0) throw std::invalid_argument("a reference has no index " + std::to_string(index));
}

Identifier const &ReferencePart::identifier() const {
    if (is_index()) {
        throw std::runtime_error("the part [" + std::to_string(index_) +
                                 "] of a reference is an index; ask is_identifier() first");
    }
    return identifier_;
}

int ReferencePart::index() const {
    if (is_identifier()) {
        throw std::runtime_error("the part \"" + identifier_.text() +
                                 "\" of a reference is an identifier; ask is_index() first");
    }
    return index_;
}

Reference::Reference(std::string const &text) : parts_(read_parts(text)) {}

Reference::Reference(std::vector<ReferencePart> parts) : parts_(std::move(parts)) {
    if (parts_.empty() || parts_.front().is_index()) {
        throw std::invalid_argument("a reference begins with an identifier");
    }
}

Reference::operator std::string() const {
    std::string text;
    for (ReferencePart const &part : parts_) {
        if (part.is_index()) text += "[" + std::to_string(part.index()) + "]";
        else text += (text.empty() ? "" : ".") + part.identifier().text();
    }
    return text;
}

ReferencePart const &Reference::operator[](int index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= parts_.size()) {
        throw std::out_of_range("the reference \"" + std::string(*this) + "\" has no part " +
                                std::to_string(index) + "; it has " + std::to_string(parts_.size()));
    }
    return parts_[static_cast<std::size_t>(index)];
}

Reference const &Reference::operator+=(ReferencePart const &part) {
    parts_.push_back(part);
    return *this;
}

Reference const &Reference::operator+=(std::vector<int> const &indexes) {
    for (int const index : indexes) parts_.emplace_back(index);
    return *this;
}

Reference Reference::operator+(Reference const &other) const {
    Reference made(*this);
    made.parts_.insert(made.parts_.end(), other.begin(), other.end());
    return made;
}

Reference Reference::operator+(ReferencePart const &part) const {
    Reference made(*this);
    made += part;
    return made;
}

Reference Reference::operator+(std::vector<int> const &indexes) const {
    Reference made(*this);
    made += indexes;
    return made;
}

bool operator==(std::string const &left, Reference const &right) { return right == left; }
bool operator!=(std::string const &left, Reference const &right) { return right != left; }
std::ostream &operator<<(std::ostream &out, Reference const &reference) {
    return out << static_cast<std::string>(reference);
}

}  // namespace ymmsl
