#include "tessera/nn/module.h"

namespace tessera::nn {
namespace {

class Namer final : public ModuleVisitor {
 public:
  explicit Namer(std::string_view prefix) : path_(prefix) {}
  void param(std::string_view name, Param& param) override {
    param.name = joined(name);
    params.push_back(&param);
  }
  void child(std::string_view name, Module& module) override {
    const std::string outer = path_;
    path_ = joined(name);
    module.visit(*this);
    path_ = outer;
  }
  std::vector<Param*> params;

 private:
  std::string joined(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }
  std::string path_;
};

}  // namespace

std::vector<Param*> name_params(Module& root, std::string_view prefix) {
  Namer namer(prefix);
  root.visit(namer);
  return std::move(namer.params);
}

}  // namespace tessera::nn
