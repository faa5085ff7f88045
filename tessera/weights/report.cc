#include "tessera/weights/report.h"

#include <cmath>

namespace tessera {
namespace {

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json json_of(const ModuleVerdict& v) {
  Json m;
  m.set("name", v.name);
  m.set("format", v.format);
  m.set("max_abs_error", number_or_null(v.max_abs_error));
  m.set("relative_error", number_or_null(v.relative_error));
  m.set("verdict", verdict_name(v.verdict));
  m.set("writer", v.writer.empty() ? Json() : Json(v.writer));
  m.set("bits_equal", v.bits_equal ? Json(*v.bits_equal) : Json());
  Json& first = m.set("first_difference", nullptr);
  if (v.first_difference) {
    first.set("part", v.first_difference->part);
    first.set("index", v.first_difference->index);
    first.set("expected", v.first_difference->expected);
    first.set("found", v.first_difference->found);
  }
  return m;
}

Json json_of(const QuantizedSummary& q) {
  Json j;
  j.set("name", q.module);
  j.set("format", q.format);
  j.set("writer", q.writer);
  j.set("shape", JsonArray{q.extent.rows, q.extent.cols});
  j.set("bytes_before", q.bytes_before);
  j.set("bytes_after", q.bytes_after);
  return j;
}

}  // namespace

Json json_of(const Problem& problem) {
  Json j;
  j.set("code", problem.code);
  j.set("tensor", problem.tensor);
  j.set("message", problem.message);
  if (problem.harmless) j.set("harmless", true);
  return j;
}

Json json_of(std::span<const Problem> problems) {
  Json list = JsonArray{};
  for (const Problem& p : problems) list.push(json_of(p));
  return list;
}

Json json_of(std::span<const ContainerWarning> warnings) {
  Json list = JsonArray{};
  for (const ContainerWarning& w : warnings) {
    Json entry;
    entry.set("code", w.code);
    entry.set("tensor", w.tensor);
    entry.set("message", w.message);
    list.push(std::move(entry));
  }
  return list;
}

Json json_of(const VerifyReport& report) {
  Json j;
  j.set("holds", report.holds);
  j.set("checked", static_cast<std::uint64_t>(report.checked));
  j.set("problems", json_of(std::span<const Problem>(report.problems)));
  Json& modules = j.set("modules", JsonArray{});
  for (const ModuleVerdict& v : report.modules) modules.push(json_of(v));
  return j;
}

Json json_of(const QuantizeReport& report) {
  Json j;
  j.set("bytes_before", report.bytes_before);
  j.set("bytes_after", report.bytes_after);
  Json& modules = j.set("modules", JsonArray{});
  for (const QuantizedSummary& q : report.quantized) modules.push(json_of(q));
  return j;
}

Json json_of(const ConvertReport& report) {
  Json j;
  j.set("converted", static_cast<std::uint64_t>(report.converted));
  Json& changed = j.set("requantized", JsonArray{});
  for (const std::string& line : report.requantized) changed.push(line);
  j.set("bytes_before", report.bytes_before);
  j.set("bytes_after", report.bytes_after);
  return j;
}

Json json_of(const DequantizeReport& report) {
  Json j;
  j.set("dequantized", static_cast<std::uint64_t>(report.dequantized));
  j.set("bytes_before", report.bytes_before);
  j.set("bytes_after", report.bytes_after);
  return j;
}

Json json_of(const GgufImportReport& report) {
  Json j;
  j.set("dequantized", report.tensors);
  j.set("bytes_after", report.bytes);
  j.set("source", report.statement);
  return j;
}

Json json_of(const FingerprintReport& report) {
  Json j;
  Json& exporters = j.set("exporters", JsonArray{});
  for (const Attribution& a : report.exporters) {
    Json entry;
    entry.set("name", a.exporter->name);
    entry.set("versions", a.versions);
    Json& evidence = entry.set("evidence", JsonArray{});
    for (const std::string& line : a.evidence) evidence.push(line);
    exporters.push(std::move(entry));
  }
  Json& faults = j.set("faults", JsonArray{});
  for (const Fault& f : report.faults) {
    Json entry;
    entry.set("code", f.code);
    entry.set("report", f.report);
    entry.set("tensor", f.tensor);
    entry.set("message", f.message);
    entry.set("fix", f.fix != nullptr ? Json(f.fix->name) : Json());
    faults.push(std::move(entry));
  }
  return j;
}

Json json_of(std::span<const AppliedFix> fixes) {
  Json list = JsonArray{};
  for (const AppliedFix& applied : fixes) {
    Json entry;
    entry.set("name", applied.fix->name);
    Json& findings = entry.set("findings", JsonArray{});
    for (const Finding& f : applied.findings) {
      Json finding;
      finding.set("tensor", f.tensor);
      finding.set("message", f.message);
      findings.push(std::move(finding));
    }
    list.push(std::move(entry));
  }
  return list;
}

std::vector<ContainerWarning> warnings_of(const GgufImportReport& report) {
  std::vector<ContainerWarning> warnings = report.warnings;
  for (const GgufLeftOut& left : report.left_out)
    warnings.push_back({"left_out", left.name, left.name + " is left out: " + left.reason});
  return warnings;
}

}  // namespace tessera
