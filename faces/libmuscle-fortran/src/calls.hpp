// The parts that all calls of the Fortran modules share: objects by number, errors, texts and arrays.
//
// A variable in Fortran holds the number of an object. The object lives until it is freed, so that a variable
// which was never set, or whose object was freed, is found before any memory is touched.
#ifndef LIGAMENT_FACE_FORTRAN_CALLS_HPP
#define LIGAMENT_FACE_FORTRAN_CALLS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <vector>
#include <ymmsl/ymmsl.hpp>

namespace face_fortran {

// The codes of errors in Fortran.
enum Code : int { success, domain_error, out_of_range, logic_error, runtime_error, bad_cast };

// The error of the last call of this thread, and the text that it has returned.
struct Outcome {
    Code code = success;
    std::string error;
    std::string text;
    std::vector<std::string> texts;
};

Outcome &outcome();

// Makes a call. An exception becomes this thread's error, and the result is then 0.
template <class Function>
auto attempt(Function const &function) -> decltype(function()) {
    Outcome &now = outcome();
    now.code = success;
    now.text.clear();
    now.texts.clear();
    auto const fail = [&now](Code code, std::exception const &thrown) {
        now.code = code;
        now.error = thrown.what();
    };
    try {
        return function();
    } catch (std::domain_error const &thrown) {
        fail(domain_error, thrown);
    } catch (std::out_of_range const &thrown) {
        fail(out_of_range, thrown);
    } catch (std::logic_error const &thrown) {
        fail(logic_error, thrown);
    } catch (std::bad_cast const &thrown) {
        fail(bad_cast, thrown);
    } catch (std::exception const &thrown) {
        fail(runtime_error, thrown);
    }
    return decltype(function())();
}

// The objects of one type, by number. They are not freed at the end of the program: the end of an instance
// waits for its peers, and MPI may have ended before.
template <class T>
class Objects {
public:
    static Objects &all() {
        static auto *const objects = new Objects;
        return *objects;
    }

    std::intptr_t add(T object) {
        std::lock_guard<std::mutex> const lock(mutex_);
        objects_.emplace(++last_, std::make_shared<T>(std::move(object)));
        return last_;
    }

    // Throws std::logic_error if there is no such object.
    std::shared_ptr<T> get(std::intptr_t number, char const *type) {
        std::lock_guard<std::mutex> const lock(mutex_);
        auto const found = objects_.find(number);
        if (found == objects_.end()) refuse(number, type);
        return found->second;
    }

    // Throws std::logic_error if the object was freed before. A variable that was never set has none.
    void free(std::intptr_t number, char const *type) {
        if (number == 0) return;
        std::shared_ptr<T> last;  // ends after the lock
        std::lock_guard<std::mutex> const lock(mutex_);
        auto const found = objects_.find(number);
        if (found == objects_.end()) refuse(number, type);
        last.swap(found->second);
        objects_.erase(found);
    }

private:
    [[noreturn]] static void refuse(std::intptr_t number, char const *type) {
        char const *const why = number == 0 ? " has not been made" : " has been freed";
        throw std::logic_error(std::string("the ") + type + why + "; make one by " + type +
                               "_create, or take one that a call returns");
    }

    std::mutex mutex_;
    std::intptr_t last_ = 0;
    std::unordered_map<std::intptr_t, std::shared_ptr<T>> objects_;
};

// An array of Fortran, whose first index runs fastest.
template <class T>
struct Array {
    T *elements;
    std::vector<std::size_t> shape;

    std::size_t size() const {
        std::size_t product = 1;
        for (std::size_t const extent : shape) product *= extent;
        return product;
    }
};

inline std::string shown(std::vector<std::size_t> const &shape) {
    std::string text;
    for (std::size_t const extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return "(" + text + ")";
}

// The place in memory of the item that Fortran counts from 1. Throws std::out_of_range if there is none.
inline std::size_t position(std::size_t number, std::size_t size, char const *what) {
    if (number == 0 || number > size) {
        throw std::out_of_range(std::string("the ") + what + " has no item " +
                                std::to_string(static_cast<std::intptr_t>(number)) + "; it has " +
                                std::to_string(size) + ", which count from 1");
    }
    return number - 1;
}

// The texts between zero bytes.
inline std::vector<std::string> words_of(char const *text, std::size_t size) {
    std::vector<std::string> words;
    for (char const *end = text + size; text != end;) {
        char const *const zero = std::find(text, end, '\0');
        words.emplace_back(text, zero);
        text = zero == end ? end : zero + 1;
    }
    return words;
}

inline std::vector<std::vector<double>> rows_of(double const *elements, std::size_t const *shape) {
    std::vector<std::vector<double>> rows(shape[0], std::vector<double>(shape[1]));
    for (std::size_t i = 0; i < shape[0]; ++i) {
        for (std::size_t j = 0; j < shape[1]; ++j) rows[i][j] = elements[i + shape[0] * j];
    }
    return rows;
}

// Copies values to the first elements of the caller's array. Throws std::runtime_error if it is too short.
template <class T>
void give(std::vector<T> const &values, T *array, std::size_t size) {
    if (values.size() > size) {
        throw std::runtime_error("there are " + std::to_string(values.size()) +
                                 " values, but the array has room for " + std::to_string(size));
    }
    std::copy(values.begin(), values.end(), array);
}

// The same for a table; the array has its shape, and all rows have one length. Throws std::runtime_error.
inline void give(std::vector<std::vector<double>> const &rows, double *array, std::size_t const *shape) {
    std::size_t const columns = rows.empty() ? 0 : rows[0].size();
    for (auto const &row : rows) {
        if (row.size() != columns) {
            throw std::runtime_error("the rows of the table have different lengths, such as " +
                                     std::to_string(columns) + " and " + std::to_string(row.size()));
        }
    }
    std::vector<std::size_t> const given(shape, shape + 2), wanted{rows.size(), columns};
    if (given != wanted) {
        throw std::runtime_error("the table has the shape " + shown(wanted) + ", but the array has " +
                                 shown(given));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t j = 0; j < columns; ++j) array[i + rows.size() * j] = rows[i][j];
    }
}

}  // namespace face_fortran

#endif
