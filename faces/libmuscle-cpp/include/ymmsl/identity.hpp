// Names in yMMSL: identifiers, and references such as `macro.out[2]`.
#ifndef LIGAMENT_FACE_YMMSL_IDENTITY_HPP
#define LIGAMENT_FACE_YMMSL_IDENTITY_HPP

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace ymmsl {

// A name of letters, digits and underscores, which does not begin with a digit.
class Identifier {
public:
    // Throws std::invalid_argument if the text is no identifier.
    Identifier(std::string const &text);
    Identifier(char const *text) : Identifier(std::string(text)) {}

    operator std::string() const { return text_; }
    std::string const &text() const noexcept { return text_; }

    bool operator==(Identifier const &other) const { return text_ == other.text_; }
    bool operator==(std::string const &other) const { return text_ == other; }
    bool operator==(char const *other) const { return text_ == other; }
    bool operator!=(Identifier const &other) const { return text_ != other.text_; }
    bool operator!=(std::string const &other) const { return text_ != other; }
    bool operator!=(char const *other) const { return text_ != other; }

private:
    std::string text_;
};

bool operator==(std::string const &left, Identifier const &right);
bool operator!=(std::string const &left, Identifier const &right);
std::string operator+(std::string const &left, Identifier const &right);
std::string operator+(Identifier const &left, std::string const &right);
std::ostream &operator<<(std::ostream &out, Identifier const &identifier);

// A part of a reference: an identifier, or an index of at least 0.
class ReferencePart {
public:
    ReferencePart(Identifier const &identifier) : identifier_(identifier), index_(-1) {}
    // Throws std::invalid_argument if the index is negative.
    ReferencePart(int index);

    bool is_identifier() const noexcept { return index_ < 0; }
    bool is_index() const noexcept { return index_ >= 0; }
    // The identifier or the index. Throws std::runtime_error if the part is the other one.
    Identifier const &identifier() const;
    int index() const;

    bool operator==(ReferencePart const &other) const {
        return index_ == other.index_ && (is_index() || identifier_ == other.identifier_);
    }
    bool operator!=(ReferencePart const &other) const { return !(*this == other); }

private:
    Identifier identifier_;
    int index_;  // below 0 for an identifier
};

// Identifiers and indexes in a row; the first one is an identifier.
class Reference {
public:
    using const_iterator = std::vector<ReferencePart>::const_iterator;

    // Throws std::invalid_argument if the text is no reference.
    Reference(std::string const &text);
    Reference(char const *text) : Reference(std::string(text)) {}
    // A reference of these parts.
    template <class Iterator>
    Reference(Iterator begin, Iterator end) : Reference(std::vector<ReferencePart>(begin, end)) {}

    explicit operator std::string() const;
    std::size_t length() const noexcept { return parts_.size(); }

    bool operator==(Reference const &other) const { return parts_ == other.parts_; }
    bool operator==(std::string const &other) const { return std::string(*this) == other; }
    bool operator==(char const *other) const { return std::string(*this) == other; }
    bool operator!=(Reference const &other) const { return !(*this == other); }
    bool operator!=(std::string const &other) const { return !(*this == other); }
    bool operator!=(char const *other) const { return !(*this == other); }

    const_iterator begin() const noexcept { return parts_.begin(); }
    const_iterator end() const noexcept { return parts_.end(); }
    const_iterator cbegin() const noexcept { return parts_.begin(); }
    const_iterator cend() const noexcept { return parts_.end(); }
    // Throws std::out_of_range if there is no such part.
    ReferencePart const &operator[](int index) const;

    Reference const &operator+=(ReferencePart const &part);
    Reference const &operator+=(std::vector<int> const &indexes);
    Reference operator+(Reference const &other) const;
    Reference operator+(ReferencePart const &part) const;
    Reference operator+(std::vector<int> const &indexes) const;

private:
    explicit Reference(std::vector<ReferencePart> parts);

    std::vector<ReferencePart> parts_;
};

bool operator==(std::string const &left, Reference const &right);
bool operator!=(std::string const &left, Reference const &right);
std::ostream &operator<<(std::ostream &out, Reference const &reference);

}  // namespace ymmsl

namespace std {

template <>
struct hash<::ymmsl::Identifier> {
    size_t operator()(::ymmsl::Identifier const &identifier) const noexcept {
        return hash<string>()(identifier.text());
    }
};

template <>
struct hash<::ymmsl::ReferencePart> {
    size_t operator()(::ymmsl::ReferencePart const &part) const {
        return part.is_index() ? hash<int>()(part.index()) : hash<string>()(part.identifier().text());
    }
};

template <>
struct hash<::ymmsl::Reference> {
    size_t operator()(::ymmsl::Reference const &reference) const {
        return hash<string>()(static_cast<string>(reference));
    }
};

}  // namespace std

#endif
