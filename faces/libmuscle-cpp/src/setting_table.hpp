// All settings of an instance as bytes, for ranks that cannot ask.
#ifndef LIGAMENT_FACE_SETTING_TABLE_HPP
#define LIGAMENT_FACE_SETTING_TABLE_HPP

#include <map>
#include <string>

#include "ymmsl/settings.hpp"

namespace libmuscle {
namespace face {

using SettingTable = std::map<std::string, ymmsl::SettingValue>;

std::string to_bytes(SettingTable const &table);
SettingTable from_bytes(std::string const &bytes);

}  // namespace face
}  // namespace libmuscle

#endif
