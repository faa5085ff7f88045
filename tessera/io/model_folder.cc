#include "tessera/io/model_folder.h"

#include <algorithm>
#include <filesystem>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> list_names(const std::string& folder, std::string_view ending) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entry(folder.empty() ? "." : folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(ending) && name[0] != '.') names.push_back(std::move(name));
  }
  require(!error, Errc::kResource, "cannot list the folder {}: {}", folder, error.message());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// hub/models--x--y/snapshots/<revision>/... has its contents in hub/models--x--y/blobs.
std::optional<fs::path> blobs_of_cache(const fs::path& folder) {
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path())
    if (at.filename() == "snapshots") return at.parent_path() / "blobs";
  return std::nullopt;
}

}  // namespace

std::string join_path(const std::string& folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return folder.back() == '/' ? folder + std::string(name) : folder + "/" + std::string(name);
}

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

std::optional<std::string> resolve_member(const std::string& folder, std::string_view name) {
  std::string path = join_path(folder, name);
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return std::nullopt;
  if (!fs::is_symlink(status)) return path;
  const fs::path target = fs::canonical(path, error);
  if (error) return std::nullopt;  // a link to nothing
  const fs::path home = fs::canonical(folder.empty() ? "." : folder, error);
  require(!error, Errc::kResource, "cannot resolve the folder {}: {}", folder, error.message());
  const std::optional<fs::path> blobs = blobs_of_cache(home);
  const bool allowed = is_inside(target, home) || (blobs && is_inside(target, *blobs));
  if (allowed) return path;
  fail_file(Errc::kCorrupt, path,
            fmt::format("{} is a link out of its folder, to {}: open that file by its own path, or copy it here", path,
                        printable(target.string(), 4096)));
}

std::optional<std::string> find_index(const std::string& folder) {
  const std::vector<std::string> names = list_names(folder, ".safetensors.index.json");
  for (const char* usual : {"model.safetensors.index.json", "diffusion_pytorch_model.safetensors.index.json"})
    if (std::find(names.begin(), names.end(), usual) != names.end()) return usual;
  if (names.empty()) return std::nullopt;
  require(names.size() == 1, Errc::kInvalid, "{} has several indexes ({}): open one of them by its path", folder,
          fmt::join(names, ", "));
  return names.front();
}

std::vector<std::string> list_safetensors(const std::string& folder) {
  std::vector<std::string> names = list_names(folder, ".safetensors");
  for (const std::string_view whole : {"model.safetensors", "diffusion_pytorch_model.safetensors"})
    if (std::find(names.begin(), names.end(), whole) != names.end()) return {std::string(whole)};
  const auto begins = [](std::string_view prefix) {
    return [prefix](const std::string& name) { return name.starts_with(prefix); };
  };
  for (const std::string_view shards : {"model-", "diffusion_pytorch_model-"}) {
    std::vector<std::string> found;
    for (const std::string& name : names)
      if (name.starts_with(shards) && name.find("-of-") != std::string::npos) found.push_back(name);
    if (!found.empty()) return found;
  }
  if (std::any_of(names.begin(), names.end(), begins("model"))) std::erase_if(names, begins("consolidated"));
  return names;
}

}  // namespace tessera
