// The contents of Data, and what they are in Ligament's values.
#ifndef LIGAMENT_FACE_NODE_HPP
#define LIGAMENT_FACE_NODE_HPP

#include <ligament/ligament.hpp>
#include <variant>

#include "libmuscle/data.hpp"
#include "libmuscle/message.hpp"

namespace libmuscle {
namespace face {

using Item = std::shared_ptr<Node>;
using List = std::vector<Item>;

struct Dict {
    std::vector<std::pair<std::string, Item>> entries;
    // The value under a key; null if there is none.
    Item find(std::string const &key) const;
};

// Bytes: of this face, of the caller, or in a received value.
struct Bytes {
    std::vector<char> own;
    std::shared_ptr<ligament::Value> received;
    char const *data = nullptr;
    std::size_t size = 0;
};

// An array, sent or received.
struct Grid {
    ligament::Value value;
    lig_array_view view;
    // A copy in row-major order, made if the elements do not lie next to each other.
    std::vector<char> packed;

    explicit Grid(ligament::Value array);
    void const *elements();
    bool has_names() const;
};

// A value that MUSCLE 3 has no type for, such as a complex number. It can be sent on.
using Other = std::shared_ptr<ligament::Value>;

// One value. Copies of Data share it; lists and the like are shared by assignment too.
struct Node {
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, std::shared_ptr<List>,
                 std::shared_ptr<Dict>, std::shared_ptr<Bytes>, std::shared_ptr<Grid>,
                 std::shared_ptr<ymmsl::Settings const>, Other>
        value;

    template <class T>
    T const *get_if() const {
        return std::get_if<T>(&value);
    }
    // The value in words, for errors: "a list".
    std::string name() const;
    // Throws std::runtime_error: "the data is …, not …".
    [[noreturn]] void refuse(std::string const &wanted) const;
};

// The way from Data to its node and back.
struct Access {
    static Node const &node(DataConstRef const &data) { return *data.node_; }
    static DataConstRef data(Item node) { return DataConstRef(std::move(node)); }
};

// The value that Ligament sends for a node. Throws std::runtime_error if it cannot be sent.
ligament::Value to_ligament(Node const &node);
// The node of a received value; arrays and bytes are shared with it.
Item from_ligament(ligament::ValueView const &value);

ligament::Value settings_to_ligament(ymmsl::Settings const &settings);
// The settings of a map of Ligament's.
ymmsl::Settings settings_from_ligament(ligament::ValueView const &map);

}  // namespace face
}  // namespace libmuscle

#endif
