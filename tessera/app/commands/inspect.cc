#include "tessera/app/commands/inspect.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tessera/app/report.h"
#include "tessera/base/progress.h"
#include "tessera/io/checkpoint.h"
#include "tessera/io/module_names.h"
#include "tessera/numeric/describe.h"
#include "tessera/weights/fingerprint.h"
#include "tessera/weights/report.h"

namespace tessera::commands {
namespace {

std::string kind_name(Container::Kind kind) {
  return std::array{"folder", "file", "gguf"}[static_cast<std::size_t>(kind)];
}

Json shape_json(std::span<const std::int64_t> shape) {
  Json list = JsonArray{};
  for (const std::int64_t n : shape) list.push(n);
  return list;
}

std::string_view simple_sense(Sense sense) {
  return sense_name(sense == Sense::kReciprocalFirst ? Sense::kDivide : sense);
}

std::string format_of(const Module& m) {
  return m.reading.complaints.empty() ? format_label(m.reading.format) : "unreadable";
}

// Elements and bytes of one format.
struct Total {
  std::uint64_t modules = 0, parameters = 0, bytes = 0;
};

class Inspect final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("PATH", path_, "a model's folder, a .safetensors or .gguf file, or an index file");
    v.flag("--tensors", tensors_, "list every tensor");
    v.flag("--fingerprint", fingerprint_,
           fmt::format(
               "look at up to {} KiB of codes and block scales of each weight, or one row of blocks, to tell which "
               "exporter wrote them and which of its faults they show; without it, names and globals tell what "
               "they can",
               kFingerprintBytes >> 10));
  }

  app::Answer run(app::Session& session) override {
    const Checkpoint model = Checkpoint::open(path_, {.strict = session.strict});
    for (const ContainerWarning& w : model.warnings()) session.warn(w);
    if (session.strict) model.require_usable();
    const std::vector<Problem> problems(model.problems().begin(), model.problems().end());
    app::Answer answer;
    answer.status = std::any_of(problems.begin(), problems.end(), [](const Problem& p) { return !p.harmless; }) ? 1 : 0;
    add_totals(model);
    report_ = take_fingerprint(model, fingerprint_ ? kFingerprintBytes : 0);
    answer.json = json_of_model(model, problems);
    answer.text = text_of_model(model, problems);
    return answer;
  }

 private:
  void add_totals(const Checkpoint& model) {
    for (const StoredTensor& t : model.container().tensors()) {
      const Checkpoint::Place place = model.place(t);
      const Module* m = place.module.empty() ? nullptr : model.find(place.module);
      const Bank* bank = place.module.empty() ? nullptr : model.find_bank(place.module);
      if (bank != nullptr) m = model.find(expert_module(bank->name, 0, bank->parts.front().name));
      const bool quantized = m != nullptr && m->is_quantized();
      Total& total = by_format_[quantized ? format_of(*m) : t.ggml_type >= 0 ? t.type : lower(t.type)];
      total.bytes += t.bytes;
      all_.bytes += t.bytes;
      if (quantized && &t != m->codes) continue;
      const std::int64_t own = bank != nullptr ? bank->experts * bank->extent.count()
                               : quantized     ? m->reading.extent.count()
                                               : t.elements();
      const auto elements = static_cast<std::uint64_t>(own);
      if (place.role == Role::kKvScale) continue;
      total.parameters += elements;
      all_.parameters += elements;
      ++total.modules;
      if (m != nullptr) dialects_.emplace(m->reading.dialect->name);
    }
    if (model.container().kind() == Container::Kind::kGguf) dialects_ = {"gguf"};
    if (dialects_.size() > 1) dialects_.erase("dense");  // beside quantized weights it says nothing
  }

  static std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }

  double bits_per_weight() const {
    return all_.parameters > 0 ? 8.0 * static_cast<double>(all_.bytes) / static_cast<double>(all_.parameters) : 0;
  }

  Json json_of_model(const Checkpoint& model, const std::vector<Problem>& problems) const {
    Json j;
    j.set("path", path_);
    j.set("kind", kind_name(model.container().kind()));
    Json& dialects = j.set("dialects", JsonArray{});
    for (const std::string& d : dialects_) dialects.push(d);
    const Declaration* declared = model.declared();
    Json& exporter = j.set("exporter", nullptr);
    if (declared != nullptr && !declared->exporter.empty()) {
      exporter.set("name", declared->exporter);
      exporter.set("version", declared->version.empty() ? Json() : Json(declared->version));
    }
    j.set("declared", declared != nullptr ? declared->text : Json(JsonObject{}));
    Json& modules = j.set("modules", JsonArray{});
    for (const Module& m : model.modules()) modules.push(json_of_module(m));
    if (model.container().kind() == Container::Kind::kGguf)
      for (const StoredTensor& t : model.container().tensors())
        if (t.shape.size() >= 2) modules.push(json_of_gguf_module(t));
    j.set("problems", json_of(std::span<const Problem>(problems)));
    j.set("fingerprint", json_of(report_));
    Json& totals = j.set("totals", JsonObject{});
    totals.set("parameters", all_.parameters);
    totals.set("bytes", all_.bytes);
    totals.set("bits_per_weight", bits_per_weight());
    Json& by = totals.set("by_format", JsonObject{});
    for (const auto& [name, t] : by_format_) {
      Json& entry = by.set(name, JsonObject{});
      entry.set("tensors", t.modules);
      entry.set("parameters", t.parameters);
      entry.set("bytes", t.bytes);
    }
    if (tensors_) {
      Json& list = j.set("tensors", JsonArray{});
      for (const StoredTensor& t : model.container().tensors()) list.push(json_of_tensor(model, t));
    }
    return j;
  }

  static Json json_of_module(const Module& m) {
    Json j;
    j.set("name", m.name);
    j.set("format", format_of(m));
    j.set("dialect", m.reading.dialect->name);
    j.set("shape", m.is_quantized() ? Json(JsonArray{m.reading.extent.rows, m.reading.extent.cols})
                                    : shape_json(m.codes->shape));
    j.set("bytes", m.bytes());
    Json& global = j.set("global", nullptr);
    if (m.global) {
      global.set("value", static_cast<double>(m.global->value()));
      global.set("stored", static_cast<double>(m.global_in_file));
      global.set("sense", sense_name(m.reading.sense));
      if (m.global->sense != m.reading.sense) {  // converted: what it was made from
        Json& original = global.set("original", JsonObject{});
        original.set("stored", static_cast<double>(m.global->bits));
        original.set("sense", simple_sense(m.global->sense));
      }
    }
    Json& activation = j.set("activation", nullptr);
    if (m.activation_scheme != ActivationScheme::kNone) {
      activation.set("scheme", activation_name(m.activation_scheme));
      activation.set("scale", m.activation ? Json(static_cast<double>(m.activation->value())) : Json());
    }
    return j;
  }

  // A matrix of a GGUF file, by the name that it has there: scales are inside its blocks.
  static Json json_of_gguf_module(const StoredTensor& t) {
    Json j;
    j.set("name", t.name.ends_with(".weight") ? t.name.substr(0, t.name.size() - 7) : t.name);
    j.set("format", lower(t.type));
    j.set("dialect", "gguf");
    j.set("shape", shape_json(t.shape));
    j.set("bytes", t.bytes);
    j.set("global", nullptr);
    j.set("activation", nullptr);
    return j;
  }

  static Json json_of_tensor(const Checkpoint& model, const StoredTensor& t) {
    const Checkpoint::Place place = model.place(t);
    Json j;
    j.set("name", t.name);
    j.set("dtype", t.type);
    j.set("shape", shape_json(t.shape));
    j.set("bytes", t.bytes);
    j.set("file", model.container().files()[t.file].path);
    j.set("role", role_name(place.role));
    j.set("module", place.module.empty() ? Json() : Json(place.module));
    return j;
  }

  std::string text_of_model(const Checkpoint& model, const std::vector<Problem>& problems) const {
    std::string dialects;
    for (const std::string& d : dialects_) dialects.append(dialects.empty() ? "" : ", ").append(d);
    std::string text = fmt::format("{}: {}, {} file{}, {} parameters in {}, {:.2f} bits a weight\n", path_,
                                   kind_name(model.container().kind()), model.container().files().size(),
                                   model.container().files().size() == 1 ? "" : "s", app::format_count(all_.parameters),
                                   format_bytes(static_cast<double>(all_.bytes)), bits_per_weight());
    if (!dialects.empty()) text += fmt::format("dialect   {}\n", dialects);
    if (const Declaration* d = model.declared(); d != nullptr)
      text += fmt::format("declared  {} in {}{}\n", d->dialect, d->where,
                          d->exporter.empty() ? "" : fmt::format(", written by {} {}", d->exporter, d->version));
    if (!report_.exporters.empty()) text += fmt::format("exporter  {}\n", exporters_text());
    app::TextTable formats({"format", "tensors", "parameters", "bytes"});
    for (const auto& [name, t] : by_format_)
      formats.add({name, std::to_string(t.modules), app::format_count(t.parameters),
                   format_bytes(static_cast<double>(t.bytes))});
    text += "\n" + formats.text("lrrr");
    if (!model.modules().empty()) text += "\n" + families(model);
    if (tensors_) {
      app::TextTable table({"tensor", "dtype", "shape", "bytes", "role"});
      for (const StoredTensor& t : model.container().tensors())
        table.add({t.name, t.type, fmt::format("[{}]", fmt::join(t.shape, ", ")), std::to_string(t.bytes),
                   std::string(role_name(model.place(t).role))});
      text += "\n" + table.text("lllr");
    }
    if (fingerprint_) text += evidence_text();
    if (!report_.faults.empty()) text += faults_text();
    if (!problems.empty())
      text +=
          fmt::format("\n{} problem{}\n{}", problems.size(), problems.size() == 1 ? "" : "s", app::text_of(problems));
    return text;
  }

  std::string exporters_text() const {
    std::string text;
    for (const Attribution& a : report_.exporters)
      text += fmt::format("{}{}{}", text.empty() ? "" : " or ", a.exporter->name,
                          a.versions == "any" ? "" : fmt::format(" ({})", a.versions));
    return text + (fingerprint_ ? ", by its bytes" : ", by names and globals");
  }

  std::string evidence_text() const {
    std::string text;
    for (const Attribution& a : report_.exporters) {
      text += fmt::format("\nevidence for {}\n", a.exporter->name);
      for (const std::string& line : a.evidence) text += fmt::format("  {}\n", line);
    }
    return text;
  }

  // A line for each kind: the layers of a model are wrong together. What is wrong with each is in the JSON.
  std::string faults_text() const {
    std::map<std::string, std::pair<const Fault*, std::size_t>> kinds;
    for (const Fault& f : report_.faults) {
      auto& [first, count] = kinds[f.code];
      if (count++ == 0) first = &f;
    }
    std::string text = "\nknown faults\n";
    for (const auto& [code, kind] : kinds) {
      const auto& [first, count] = kind;
      text += fmt::format("  {}: {}{}{}\n", code, first->tensor.empty() ? "the configuration" : first->tensor,
                          count > 1 ? fmt::format(" and {} more (--json lists all)", count - 1) : "",
                          first->fix != nullptr ? fmt::format(" (convert --fix {})", first->fix->name) : "");
    }
    return text;
  }

  // Modules of one kind in one line: layers differ in their numbers only.
  static std::string families(const Checkpoint& model) {
    struct Family {
      std::size_t count = 0;
      double low = 0, high = 0;
      bool has_global = false;
    };
    std::map<std::array<std::string, 4>, Family> families;
    for (const Module& m : model.modules()) {
      const std::string shape = m.is_quantized() ? fmt::format("[{}, {}]", m.reading.extent.rows, m.reading.extent.cols)
                                                 : fmt::format("[{}]", fmt::join(m.codes->shape, ", "));
      std::string dialect(m.is_quantized() ? m.reading.dialect->name : "");
      Family& f = families[std::array{numbers_hidden(m.name), format_of(m), shape, dialect}];
      const double g = m.global ? static_cast<double>(m.global_in_file) : 0;
      f.low = f.count == 0 ? g : std::min(f.low, g);
      f.high = f.count == 0 ? g : std::max(f.high, g);
      f.has_global = f.has_global || m.global.has_value();
      ++f.count;
    }
    app::TextTable table({"modules", "count", "format", "shape", "dialect", "stored global"});
    for (const auto& [key, f] : families) {
      const std::string globals = !f.has_global     ? ""
                                  : f.low == f.high ? fmt::format("{:.6g}", f.low)
                                                    : fmt::format("{:.4g} .. {:.4g}", f.low, f.high);
      table.add({key[0], std::to_string(f.count), key[1], key[2], key[3], globals});
    }
    return table.text("lrlll");
  }

  std::string path_;
  bool tensors_ = false, fingerprint_ = false;
  FingerprintReport report_;
  Total all_;
  std::map<std::string, Total> by_format_;
  std::set<std::string> dialects_;
};

}  // namespace

std::unique_ptr<app::Command> make_inspect() { return std::make_unique<Inspect>(); }

}  // namespace tessera::commands
