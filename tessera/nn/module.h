// Module: a part of a model, which names its parameters and its children. Names joined by dots are those of the
// checkpoint: "model.layers.0.mlp.up_proj.weight".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tessera/graph/graph.h"
#include "tessera/weights/param.h"

namespace tessera::nn {

class Module;

class ModuleVisitor {
 public:
  virtual ~ModuleVisitor() = default;
  virtual void param(std::string_view name, Param& param) = 0;
  virtual void child(std::string_view name, Module& module) = 0;
};

class Module {
 public:
  virtual ~Module() = default;
  virtual void visit(ModuleVisitor& v) = 0;
};

// Gives every parameter its full name, and returns them in the order of visit.
std::vector<Param*> name_params(Module& root, std::string_view prefix);

}  // namespace tessera::nn
