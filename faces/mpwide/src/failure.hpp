// An error of the face: MPWide's number, and words for people.

#pragma once

#include <ligament.h>

#include <cerrno>
#include <string>

namespace mpwide {

struct Failure {
    // The result of a call: a negative error number.
    int number;
    std::string text;
};

// The failure that a status of the C ABI means. MPWide returns -1 where the other end has closed.
inline Failure failure_of(lig_status status, const lig_error &error) {
    switch (status) {
        case LIG_ERR_CLOSED:
            return {-1, error.message};
        case LIG_ERR_USAGE:
            return {-EINVAL, error.message};
        case LIG_ERR_TIMED_OUT:
            return {-ETIMEDOUT, error.message};
        case LIG_ERR_OUT_OF_MEMORY:
            return {-ENOMEM, error.message};
        default:
            return {-ECONNRESET, error.message};
    }
}

}  // namespace mpwide
