// The folder of a model: which of its files hold tensors, and which names in it may be followed.
// Names in a folder come from whoever made it, so a symlink counts only when its target stays in the folder or is a
// blob of the Hugging Face cache that the folder is a snapshot of (docs/design/containers.md).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// folder/name, or name where the folder is "".
std::string join_path(const std::string& folder, std::string_view name);
// The folder part of a path, without a trailing separator; "" when there is none.
std::string folder_of(const std::string& path);

// The path of a file of the folder; none when there is no such file. Throws kCorrupt for a symlink that leaves the
// folder.
std::optional<std::string> resolve_member(const std::string& folder, std::string_view name);

// The name of the index: model.safetensors.index.json, diffusion_pytorch_model.safetensors.index.json, or the only
// *.safetensors.index.json. Throws kInvalid when there are several others.
std::optional<std::string> find_index(const std::string& folder);

// The names of the files that hold the model's tensors where there is no index, sorted. The names that loaders look for
// come first, and what stands beside them is no part of the model: model.safetensors, else model-*-of-*, the same of
// diffusers; else every safetensors file, without consolidated* where there are model*: they repeat them.
std::vector<std::string> list_safetensors(const std::string& folder);

}  // namespace tessera
