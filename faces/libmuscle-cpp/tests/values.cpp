// Data, messages, and the names and settings of yMMSL, each call at least once, outside of any run.
#include <libmuscle/libmuscle.hpp>
#include <limits>
#include <sstream>
#include <typeinfo>
#include <ymmsl/ymmsl.hpp>

#include "check.hpp"

using libmuscle::Data;
using libmuscle::DataConstRef;
using libmuscle::Message;
using libmuscle::Optional;
using libmuscle::StorageOrder;
using ymmsl::Identifier;
using ymmsl::Operator;
using ymmsl::Reference;
using ymmsl::ReferencePart;
using ymmsl::Settings;
using ymmsl::SettingValue;
using Numbers = std::vector<double>;
using Table = std::vector<Numbers>;
using Integers = std::vector<std::int64_t>;

template <class T>
static std::string written(T const &value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

static void plain_values() {
    CHECK(Data().is_nil() && !Data(false).is_nil());
    CHECK(Data(true).is_a<bool>() && Data(true).as<bool>() && !Data(1).is_a<bool>());
    CHECK(Data("text").as<std::string>() == "text");
    CHECK(Data(std::string("a\0b", 3)).as<std::string>().size() == 3);
    CHECK(Data(0.5).is_a<double>() && Data(0.5).as<double>() == 0.5 && !Data(1).is_a<double>());
    CHECK(Data(0.5f).is_a<float>() && Data(0.5f).as<float>() == 0.5f && !Data(0.1).is_a<float>());
    CHECK(Data(-3).is_a<char>() && Data(-3).is_a<short>());
    CHECK(Data(-3).is_a<long>() && Data(-3).is_a<long long>());
    CHECK(!Data(-3).is_a<unsigned>() && Data(3u).is_a<unsigned char>() && Data(3ul).is_a<unsigned short>());
    CHECK(Data(3ull).is_a<unsigned long>() && Data(3).is_a<unsigned long long>());
    CHECK(Data(-128).as<char>() == -128 && Data(255).as<unsigned char>() == 255 && Data(-3l).as<int>() == -3);
    auto const large = std::numeric_limits<unsigned long long>::max();
    CHECK(Data(large).as<unsigned long>() == large && Data(-(1ll << 62)).as<long long>() == -(1ll << 62));
    CHECK_THROWS(Data(128).as<char>(), std::runtime_error, "the integer 128, which does not fit");
    CHECK_THROWS(Data(-1).as<unsigned long>(), std::runtime_error, "does not fit");
    CHECK_THROWS(Data(large).as<long>(), std::runtime_error, "does not fit");
    CHECK_THROWS(Data(70000).as<short>(), std::runtime_error, "does not fit");
    CHECK_THROWS(Data(0.1).as<float>(), std::runtime_error, "not a number that a float can hold");
    CHECK_THROWS(Data("1").as<int>(), std::runtime_error, "the data is a text, not an integer");
    CHECK_THROWS(Data(1).as<double>(), std::runtime_error, "the integer 1, not a number");
    CHECK_THROWS(Data().as<bool>(), std::runtime_error, "nil, not a truth value");
    CHECK_THROWS(Data(1).as<std::string>(), std::runtime_error, "not a text");
    CHECK_THROWS(Data(1).size(), std::runtime_error, "not a list, dict, grid or byte array");
}

static void lists_and_dicts() {
    Data list = Data::list(1, "two", 3.0, Data::list(), DataConstRef(true));
    CHECK(list.is_a_list() && list.size() == 5 && list[1].as<std::string>() == "two" && list[4].as<bool>());
    Data const &constant = list;
    CHECK(constant[2].as<double>() == 3.0);
    list[0] = Data::dict("a", 1);
    list[0]["a"] = 2;
    CHECK(list[0]["a"].as<int>() == 2);
    CHECK_THROWS(list[5], std::out_of_range, "the list has no item 5; it has 5");
    CHECK_THROWS(constant[5], std::out_of_range, "no item 5");
    CHECK_THROWS(list["a"], std::runtime_error, "a list, not a dict");
    CHECK(Data::nils(2).size() == 2 && Data::nils(2)[1].is_nil() && DataConstRef::nils(3).size() == 3);
    CHECK(DataConstRef::list(1, 2).size() == 2 && DataConstRef::dict("k", 1)["k"].as<int>() == 1);

    Data dict = Data::dict("id", "one", "stress", 12.5);
    CHECK(dict.is_a_dict() && !dict.is_a_list() && dict.size() == 2 && Data::dict().size() == 0);
    dict["new"] = SettingValue(7);
    CHECK(dict.size() == 3 && dict.key(2) == "new" && dict.value(2).as<int>() == 7);
    dict.value(2) = 8;
    DataConstRef const reading = dict;
    CHECK(reading["new"].as<int>() == 8);
    CHECK(reading.value(0).as<std::string>() == "one" && reading.key(1) == "stress");
    CHECK_THROWS(reading["none"], std::out_of_range, "the dict has no key \"none\"");
    CHECK_THROWS(reading.key(3), std::out_of_range, "no item 3");
    CHECK_THROWS(reading.value(3), std::out_of_range, "no item 3");
    CHECK_THROWS(reading[std::size_t{0}], std::runtime_error, "a dict, not a list");
    CHECK(Data::dict("k", 1, "k", 2).size() == 1);
}

static void copies_share_one_value() {
    Data first(1);
    Data second(first);
    second = 2;
    CHECK(first.as<int>() == 2);
    DataConstRef const reading(first);
    first = "text";
    CHECK(reading.as<std::string>() == "text");
    Data list = Data::list(1, 2), same;
    same = list;  // the same list from now on
    same[0] = 5;
    CHECK(list[0].as<int>() == 5);
    Data dict = Data::dict(), alike;
    alike = dict;
    alike["key"] = 1;  // an addition too is seen by both
    CHECK(dict.size() == 1);
    same = 3;
    CHECK(list.is_a_list());
    DataConstRef other;
    other.reseat(list);
    CHECK(other.size() == 2);
}

static void bytes() {
    Data own = Data::byte_array(4);
    CHECK(own.is_a_byte_array() && own.size() == 4 && own.as_byte_array()[3] == 0);
    own.as_byte_array()[1] = 'x';
    DataConstRef const reading = own;
    CHECK(reading.as_byte_array()[1] == 'x');
    char buffer[] = "abc";
    Data const there = Data::byte_array(buffer, 3);
    buffer[0] = 'A';
    CHECK(there.as_byte_array() == buffer && there.as_byte_array()[0] == 'A');
    CHECK_THROWS(Data(1).as_byte_array(), std::runtime_error, "not a byte array");
}

template <class T>
static void one_grid(std::vector<T> const &elements) {
    Data const grid = Data::grid(elements.data(), {2, 3}, {"x", "y"}, StorageOrder::first_adjacent);
    CHECK(grid.is_a_grid_of<T>() && grid.size() == 6 && (grid.shape() == std::vector<std::size_t>{2, 3}));
    CHECK(grid.storage_order() == StorageOrder::first_adjacent && grid.elements<T>()[5] == elements[5]);
    CHECK(grid.has_indexes() && (grid.indexes() == std::vector<std::string>{"x", "y"}));
    CHECK(grid.elements<T>() != elements.data());
    CHECK((DataConstRef::grid(elements.data(), {6}).storage_order() == StorageOrder::last_adjacent));
}

static void grids() {
    one_grid(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
    one_grid(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
    one_grid(std::vector<long long>{1, 2, 3, 4, 5, 6});
    one_grid(std::vector<float>{1, 2, 3, 4, 5, 6});
    one_grid(std::vector<double>{1, 2, 3, 4, 5, 6});
    bool const truths[] = {true, false};
    Data const grid = Data::grid(truths, {2});
    CHECK(grid.is_a_grid_of<bool>() && grid.elements<bool>()[0] && !grid.elements<bool>()[1]);
    CHECK(!grid.has_indexes() && !grid.is_a_grid_of<double>() && !Data(1).is_a_grid_of<bool>());
    CHECK_THROWS(grid.indexes(), std::runtime_error, "no names of its indexes");
    CHECK_THROWS(grid.elements<double>(), std::runtime_error, "a grid of bool, not a grid of float64");
    CHECK_THROWS(Data::grid(truths, {2}, {"x", "y"}), std::runtime_error, "1 dimensions and 2 names");
    CHECK_THROWS(Data::grid(truths, {1, 1, 1, 1, 1, 1, 1, 1, 2}), std::runtime_error, "at most 8 dimensions");
    CHECK_THROWS(Data::grid(truths, {std::size_t{1} << 40, std::size_t{1} << 40}), std::runtime_error, "");
    CHECK_THROWS(Data().shape(), std::runtime_error, "nil, not a grid");
    CHECK_THROWS(Data().storage_order(), std::runtime_error, "not a grid");
    CHECK_THROWS(Data().has_indexes(), std::runtime_error, "not a grid");
    double const none = 0;
    CHECK(Data::grid(&none, {0, 3}).size() == 0);
}

static void settings_in_data() {
    CHECK(Data(SettingValue("a")).is_a<SettingValue>() && Data(SettingValue(true)).as<bool>());
    CHECK(Data(SettingValue(Numbers{1, 2}))[1].as<double>() == 2);
    CHECK(Data(SettingValue(Integers{1})).size() == 1);
    CHECK(Data(SettingValue(Table{{1}, {2, 3}}))[1][1].as<double>() == 3 && Data(SettingValue()).is_nil());
    CHECK(Data::list(1, 2).as<SettingValue>() == SettingValue(Integers{1, 2}));
    CHECK(Data::list(1.0, 2.0).as<SettingValue>() == SettingValue(Numbers{1, 2}));
    CHECK(Data::list(Data::list(1.0)).as<SettingValue>() == SettingValue(Table{{1}}));
    CHECK(!Data::list("a").is_a<SettingValue>());
    CHECK(!Data::dict().is_a<SettingValue>() && !Data().is_a<SettingValue>());
    CHECK_THROWS(Data::dict().as<SettingValue>(), std::runtime_error, "not the value of a setting");
    Settings settings;
    settings["a.b"] = 1;
    CHECK(Data(settings).is_a<Settings>() && Data(settings).as<Settings>() == settings);
    CHECK_THROWS(Data(1).as<Settings>(), std::runtime_error, "not settings");
}

static void messages() {
    Settings settings;
    settings["k"] = 2.0;
    Message plain(1.0, Data(5)), full(1.0, 2.0, Data(6), settings), overlaid(3.0, Data(), settings);
    CHECK(plain.timestamp() == 1.0 && !plain.has_next_timestamp() && plain.data().as<int>() == 5);
    CHECK(full.next_timestamp() == 2.0 && full.settings() == settings && overlaid.has_settings());
    CHECK_THROWS(plain.next_timestamp(), std::logic_error, "has_next_timestamp");
    CHECK_THROWS(plain.settings(), std::logic_error, "has_settings");
    plain.set_timestamp(4.0);
    plain.set_next_timestamp(5.0);
    plain.set_settings(settings);
    CHECK(plain.next_timestamp() == 5.0 && plain.has_settings());
    plain.unset_next_timestamp();
    plain.unset_settings();
    CHECK(!plain.has_next_timestamp() && !plain.has_settings() && plain.timestamp() == 4.0);
    Message copy(full);
    copy = plain;
    CHECK(full.data().as<int>() == 6 && copy.data().as<int>() == 5);
    copy.set_data(Data("new"));
    CHECK(copy.data().as<std::string>() == "new" && plain.data().as<int>() == 5);
    copy = Message(0.0, 1.0, Data());
    CHECK(copy.has_next_timestamp() && copy.data().is_nil() && Message(1.5).data().is_nil());
    Optional<int> one(1), none;
    CHECK(one.is_set() && one.get() == 1 && one != none && written(one) == "Optional(1)");
}

static void names() {
    Identifier const name("a_1");
    CHECK(name == "a_1" && name != "b");
    CHECK(std::string(name) == "a_1" && ("x" + name) == "xa_1" && name + "y" == "a_1y");
    for (char const *wrong : {"", "1a", "a b", "a.b"}) {
        CHECK_THROWS(Identifier(wrong), std::invalid_argument, "no name");
    }
    Reference const reference("macro.out[2][3].x");
    CHECK(reference.length() == 5 && reference[0].identifier() == "macro" && reference[2].index() == 2);
    CHECK(reference[2].is_index());
    CHECK(reference[1].is_identifier() && std::string(reference) == "macro.out[2][3].x");
    CHECK(reference == "macro.out[2][3].x");
    CHECK(reference != Reference("macro") && written(reference) == "macro.out[2][3].x");
    CHECK(Reference(reference.begin(), reference.begin() + 2) == "macro.out");
    CHECK(Reference("a") + Reference("b") == "a.b" && Reference("a") + ReferencePart(1) == "a[1]");
    CHECK((Reference("a") + std::vector<int>{1, 2} == "a[1][2]"));
    Reference grown("a");
    grown += Identifier("b");
    grown += std::vector<int>{4};
    CHECK(grown == "a.b[4]" && std::hash<Reference>()(grown) == std::hash<Reference>()(Reference("a.b[4]")));
    for (char const *wrong : {"", "a.", "a[", "a[x]", "a[]", "[1]", "a[1]b", "a[99999999999]", "a[-1]"}) {
        CHECK_THROWS(Reference(wrong), std::invalid_argument, "no name in yMMSL");
    }
    CHECK_THROWS(reference[5], std::out_of_range, "no part 5");
    CHECK_THROWS(reference[0].index(), std::runtime_error, "is an identifier");
    CHECK_THROWS(reference[2].identifier(), std::runtime_error, "is an index");
    ymmsl::Conduit const conduit("a.b.out[1]", "c.in");
    CHECK(conduit.sending_component() == "a.b");
    CHECK(conduit.sending_port() == "out" && conduit.sending_slot().at(0) == 1);
    CHECK(conduit.receiving_component() == "c");
    CHECK(conduit.receiving_port() == "in" && conduit.receiving_slot().empty());
    CHECK(std::string(conduit) == "a.b.out[1] -> c.in" && conduit == ymmsl::Conduit("a.b.out[1]", "c.in"));
    CHECK_THROWS(ymmsl::Conduit("a", "c.in"), std::invalid_argument, "a component and a port");
    CHECK(ymmsl::allows_sending(Operator::O_F) && !ymmsl::allows_sending(Operator::S));
    CHECK(ymmsl::allows_receiving(Operator::F_INIT) && ymmsl::operator_name(Operator::O_I) == "O_I");
    CHECK(ymmsl::operator_for_name("S") == Operator::S && ymmsl::Port("in", Operator::S).name == "in");
    CHECK_THROWS(ymmsl::operator_for_name("T"), std::out_of_range, "no operator \"T\"");
}

static void settings() {
    SettingValue const list({12.5, 56.75}), table({{12.5, 0.0}, {56.75, 0.0}}), row({{3.5, 2.5}}), one({1.5});
    CHECK(list.as<Numbers>()[1] == 56.75 && table.as<Table>()[1][0] == 56.75 && row.as<Table>()[0][1] == 2.5);
    CHECK(one.is_a<Numbers>() && SettingValue({{7.5}, {5.5, 3.5}}) == SettingValue(Table{{7.5}, {5.5, 3.5}}));
    CHECK(SettingValue(13) != SettingValue(13.0) && SettingValue("13") != SettingValue(13));
    CHECK(SettingValue(13).as<int>() == 13);
    CHECK(SettingValue(std::int64_t{1} << 40).as<std::int64_t>() == std::int64_t{1} << 40);
    CHECK_THROWS(SettingValue(std::int64_t{1} << 40).as<int>(), std::bad_cast, "not an integer of 32 bits");
    CHECK_THROWS(SettingValue("a").as<double>(), std::bad_cast, "is a text, not a number");
    CHECK(SettingValue(13).as<double>() == 13.0 && !SettingValue(13).is_a<double>());
    CHECK_THROWS(SettingValue((std::int64_t{1} << 53) + 1).as<double>(), std::bad_cast, "not a number");
    SettingValue from("text"), to;
    to = std::move(from);
    CHECK(to.as<std::string>() == "text" && !from.is_a<std::string>());
    CHECK(written(SettingValue(Integers{1, 2})) == "[1, 2]" && written(SettingValue(true)) == "true");
    Settings all, same;
    CHECK(all.empty());
    all["test"] = "text";
    all["list"] = {1.5, 2.5};
    CHECK(all.at("test") == "text" && all.at("list").is_a<Numbers>());
    CHECK(all.size() == 2 && all.contains("test"));
    CHECK(written(SettingValue("a")) == "\"a\"" && all != same);
    same["list"] = {1.5, 2.5};
    CHECK(all.erase("test") == 1 && all.erase("test") == 0);
    CHECK(all == same && written(all) == "Settings(list: [1.5, 2.5])");
    for (auto const &setting : all) CHECK(setting.first == "list");
    CHECK_THROWS(all.at("none"), std::out_of_range, "no setting \"none\"");
    CHECK_THROWS(all.at("0wrong"), std::invalid_argument, "begins with a digit");
    all.clear();
    CHECK(all.empty());
}

int main() {
    plain_values();
    lists_and_dicts();
    copies_share_one_value();
    bytes();
    grids();
    settings_in_data();
    messages();
    names();
    settings();
    std::cout << (failures ? "failures" : "all as it should be") << std::endl;
    return failures != 0;
}
