// SPDX-License-Identifier: MIT
//
// The file modelDescription.xml of both versions.
#include "export.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Text {
  char* data;
  size_t used, capacity;
  bool failed;
} Text;

static void put_bytes(Text* text, const char* data, size_t length) {
  if (text->failed) return;
  if (text->capacity - text->used <= length) {
    size_t wanted = text->capacity ? text->capacity : 4096;
    while (wanted - text->used <= length)
      wanted *= 2;
    char* moved = realloc(text->data, wanted);
    text->failed = !moved;
    if (!moved) return;
    text->data = moved;
    text->capacity = wanted;
  }
  memcpy(text->data + text->used, data, length);
  text->used += length;
  text->data[text->used] = '\0';
}

__attribute__((format(printf, 2, 3))) static void put(Text* text, const char* format, ...) {
  char line[600];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  if (length > 0)
    put_bytes(text, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

/// ` name="value"` with what XML needs quoted; control characters have no place in it.
static void put_attribute(Text* text, const char* name, const char* value) {
  put(text, " %s=\"", name);
  for (; *value; value++) {
    switch (*value) {
    case '<': put(text, "&lt;"); break;
    case '&': put(text, "&amp;"); break;
    case '"': put(text, "&quot;"); break;
    default: put_bytes(text, (unsigned char)*value < 0x20 ? " " : value, 1); break;
    }
  }
  put(text, "\"");
}

static void put_number(Text* text, const char* name, double value) {
  char number[40];
  slt_number_text(value, number);
  put(text, " %s=\"%s\"", name, number);
}

static int compare_texts(const void* a, const void* b) {
  return strcmp(*(const char* const*)a, *(const char* const*)b);
}

static void put_units(Text* text, const FmuVariables* variables) {
  const char** units = calloc(variables->count + 1u, sizeof *units);
  uint32_t count = 0;
  text->failed |= !units;
  for (uint32_t i = 0; i < variables->count && units; i++) {
    if (variables->items[i].unit[0]) units[count++] = variables->items[i].unit;
  }
  if (count) qsort((void*)units, count, sizeof *units, compare_texts);
  if (count) put(text, "  <UnitDefinitions>\n");
  for (uint32_t i = 0; i < count; i++) {
    if (i && strcmp(units[i], units[i - 1]) == 0) continue;
    put(text, "    <Unit");
    put_attribute(text, "name", units[i]);
    put(text, "/>\n");
  }
  if (count) put(text, "  </UnitDefinitions>\n");
  free((void*)units);
}

static void put_items(Text* text, const FmuVariable* v, const SltModel* model) {
  for (uint32_t s = 0; s < v->states; s++) {
    put(text, "        <Item");
    put_attribute(text, "name", slt_model_state_name(model, v->quantity, s));
    put(text, " value=\"%u\"/>\n", s + 1);
  }
}

static void put_types(Text* text, const FmuVariables* variables, const SltModel* model,
                      uint32_t version) {
  bool any = false;
  for (uint32_t i = 0; i < variables->count; i++) {
    const FmuVariable* v = &variables->items[i];
    if (v->role != FMU_STATE) continue;
    if (!any) put(text, "  <TypeDefinitions>\n");
    any = true;
    put(text, version == 2 ? "    <SimpleType" : "    <EnumerationType");
    put_attribute(text, "name", v->name);
    put(text, version == 2 ? ">\n      <Enumeration>\n" : ">\n");
    put_items(text, v, model);
    put(text,
        version == 2 ? "      </Enumeration>\n    </SimpleType>\n" : "    </EnumerationType>\n");
  }
  if (any) put(text, "  </TypeDefinitions>\n");
}

static const char* causality(const FmuVariable* v) {
  switch (v->role) {
  case FMU_TIME: return "independent";
  case FMU_INPUT: return "input";
  case FMU_PARAMETER: return "parameter";
  case FMU_FOLLOWING: return "calculatedParameter";
  case FMU_SHAPE:
  case FMU_RATE:
  case FMU_HIDDEN:
  case FMU_INDICATOR: return "local";
  case FMU_OUTPUT:
  case FMU_STATE: break;
  }
  return "output";
}

static const char* variability(const FmuVariable* v, FmuKind kind) {
  switch (v->role) {
  case FMU_TIME:
  case FMU_RATE:
  case FMU_HIDDEN:
  case FMU_INDICATOR: return "continuous";
  // between communication points inputs are held; who integrates may change them all the time
  case FMU_INPUT: return kind & FMU_EXCHANGE ? "continuous" : "discrete";
  case FMU_PARAMETER:
  case FMU_FOLLOWING: return v->tunable ? "tunable" : "fixed";
  case FMU_SHAPE: return "constant";
  case FMU_OUTPUT: return v->discrete ? "discrete" : "continuous";
  case FMU_STATE: break;
  }
  return "discrete";
}

static bool has_start(const FmuVariable* v) {
  return v->role == FMU_INPUT || v->role == FMU_PARAMETER || v->role == FMU_SHAPE ||
         v->initial != FMU_CALCULATED;
}

static void put_initial(Text* text, const FmuVariable* v) {
  static const char* const words[] = {"calculated", "approx", "exact"};
  bool constant = v->role == FMU_PARAMETER || v->role == FMU_SHAPE;
  if (v->role == FMU_TIME || v->role == FMU_INPUT) return;
  put(text, " initial=\"%s\"", words[constant ? FMU_EXACT : v->initial]);
}

static void put_variable(Text* text, const FmuVariable* v, uint32_t reference, FmuKind kind,
                         uint32_t version) {
  const char* type = v->role == FMU_STATE ? "Enumeration" : version == 2 ? "Real" : "Float64";
  put(text, "    <%s", version == 2 ? "ScalarVariable" : type);
  put_attribute(text, "name", v->name);
  put(text, " valueReference=\"%u\" causality=\"%s\" variability=\"%s\"", reference, causality(v),
      variability(v, kind));
  put_initial(text, v);
  if (version == 2) put(text, "><%s", type);
  if (v->role == FMU_STATE) put_attribute(text, "declaredType", v->name);
  if (v->unit[0]) put_attribute(text, "unit", v->unit);
  if (has_start(v)) put_number(text, "start", v->start);
  // version 2 counts variables from 1
  if (v->rate_of) put(text, " derivative=\"%u\"", version == 2 ? v->rate_of + 1 : v->rate_of);
  put(text, version == 2 ? "/></ScalarVariable>\n" : "/>\n");
}

/// A list of ModelStructure: variables by what they are.
typedef struct Part {
  const char* list;     // version 2; NULL: there is none
  const char* element;  // version 3
  bool (*belongs)(const FmuVariables* variables, uint32_t i);
} Part;

static bool is_output(const FmuVariables* variables, uint32_t i) {
  FmuRole role = variables->items[i].role;
  return role == FMU_OUTPUT || role == FMU_STATE;
}

static bool is_rate(const FmuVariables* variables, uint32_t i) {
  return variables->items[i].role == FMU_RATE;
}

static bool is_indicator(const FmuVariables* variables, uint32_t i) {
  return variables->items[i].role == FMU_INDICATOR;
}

static bool is_initial_unknown(const FmuVariables* variables, uint32_t i) {
  FmuRole role = variables->items[i].role;
  if (variables->items[i].initial == FMU_EXACT) return false;
  return is_output(variables, i) || is_rate(variables, i) || role == FMU_HIDDEN ||
         role == FMU_FOLLOWING;
}

/// What an initial value follows from, where it is known; without this, it may be anything.
static void put_dependencies(Text* text, const FmuVariables* variables, uint32_t i,
                             uint32_t version) {
  if (!variables->items[i].by_constants) return;
  uint32_t first = version == 2 ? 1 : 0;
  put(text, " dependencies=\"%u", first);  // the time of the start
  for (uint32_t k = 1; k < variables->count; k++) {
    if (variables->items[k].role == FMU_PARAMETER) put(text, " %u", k + first);
  }
  put(text, "\"");
}

static void put_structure(Text* text, const FmuVariables* variables, uint32_t version) {
  static const Part parts[] = {{"Outputs", "Output", is_output},
                               {"Derivatives", "ContinuousStateDerivative", is_rate},
                               {"InitialUnknowns", "InitialUnknown", is_initial_unknown},
                               {NULL, "EventIndicator", is_indicator}};
  put(text, "  <ModelStructure>\n");
  for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
    bool any = false;
    for (uint32_t i = 0; i < variables->count; i++) {
      if (!parts[p].belongs(variables, i) || (version == 2 && !parts[p].list)) continue;
      if (version == 2 && !any) put(text, "    <%s>\n", parts[p].list);
      any = true;
      if (version == 2) {
        put(text, "      <Unknown index=\"%u\"", i + 1);
      } else {
        put(text, "    <%s valueReference=\"%u\"", parts[p].element, i);
      }
      if (parts[p].belongs == is_initial_unknown) put_dependencies(text, variables, i, version);
      put(text, "/>\n");
    }
    if (any && version == 2) put(text, "    </%s>\n", parts[p].list);
  }
  put(text, "  </ModelStructure>\n");
}

static void put_experiment(Text* text, const FmuVariables* variables) {
  put(text, "  <DefaultExperiment");
  put_number(text, "startTime", isnan(variables->start) ? 0.0 : variables->start);
  put_number(text, "stopTime", isnan(variables->end) ? 10.0 : variables->end);
  put_number(text, "tolerance", isnan(variables->rtol) ? 1e-6 : variables->rtol);
  if (!isnan(variables->every)) put_number(text, "stepSize", variables->every);
  put(text, "/>\n");
}

static void put_source_files(Text* text, const FmuSources* sources, const char* element,
                             const char* indent) {
  for (uint32_t i = 0; i < sources->count; i++) {
    if (!fmu_source_is_code(sources->names[i])) continue;
    put(text, "%s<%s", indent, element);
    put_attribute(text, "name", sources->names[i]);
    put(text, "/>\n");
  }
}

static void put_interface(Text* text, FmuKind kind, const char* identifier, uint32_t version,
                          const FmuSources* sources) {
  put(text, "  <%s modelIdentifier=\"%s\"", kind == FMU_EXCHANGE ? "ModelExchange" : "CoSimulation",
      identifier);
  if (kind == FMU_CO_SIMULATION) put(text, " canHandleVariableCommunicationStepSize=\"true\"");
  if (version == 2) put(text, " canNotUseMemoryManagementFunctions=\"true\"");
  put(text, " canGetAndSetFMU%s=\"true\" canSerializeFMU%s=\"true\"",
      version == 2 ? "state" : "State", version == 2 ? "state" : "State");
  if (kind == FMU_EXCHANGE)
    put(text, " providesDirectionalDerivative%s=\"true\"", version == 2 ? "" : "s");
  if (version == 3 && kind == FMU_EXCHANGE) put(text, " needsCompletedIntegratorStep=\"true\"");
  if (version == 3 && kind == FMU_CO_SIMULATION) {
    put(text, " hasEventMode=\"true\" mightReturnEarlyFromDoStep=\"true\"");
  }
  if (version == 3 || sources->count == 0) {
    put(text, "/>\n");
    return;
  }
  put(text, ">\n    <SourceFiles>\n");
  put_source_files(text, sources, "File", "      ");
  put(text, "    </SourceFiles>\n  </%s>\n",
      kind == FMU_EXCHANGE ? "ModelExchange" : "CoSimulation");
}

static char* finish(Text* text, size_t* length) {
  *length = text->used;
  if (!text->failed) return text->data;
  free(text->data);
  return NULL;
}

char* fmu_build_description(const FmuExport* e, const FmuSources* sources, size_t* length) {
  Text text = {.data = NULL};
  char identifier[128];
  fmu_identifier(e->name, identifier, sizeof identifier);
  put(&text,
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiBuildDescription fmiVersion=\"3.0\">\n"
      "  <BuildConfiguration modelIdentifier=\"%s\">\n"
      "    <SourceFileSet language=\"C11\" compilerOptions=\"-O2 -ffp-contract=off\">\n",
      identifier);
  put_source_files(&text, sources, "SourceFile", "      ");
  put(&text, "      <IncludeDirectory name=\".\"/>\n    </SourceFileSet>\n"
             "    <Library name=\"m\" external=\"true\"/>\n"
             "  </BuildConfiguration>\n</fmiBuildDescription>\n");
  return finish(&text, length);
}

/// The variable of the FMU for a quantity of a port: the input that it is, where it is one.
static const char* member_variable(const char** inputs, uint32_t count,
                                   const SltPortQuantity* quantity) {
  bool input = bsearch(&quantity->given, inputs, count, sizeof *inputs, compare_texts) != NULL;
  return input ? quantity->given : quantity->variable;
}

char* fmu_terminals(const FmuVariables* variables, const SltModel* model, size_t* length) {
  Text text = {.data = NULL};
  SltPortQuantity before = {.port = ""};
  uint32_t count = slt_model_port_quantity_count(model);
  const char** inputs = count ? calloc(variables->count, sizeof *inputs) : NULL;
  uint32_t input_count = 0;
  *length = 0;
  if (!inputs) return NULL;
  for (uint32_t i = 0; i < variables->count; i++) {
    const FmuVariable* v = &variables->items[i];
    if (v->role == FMU_INPUT) inputs[input_count++] = v->name;
  }
  qsort((void*)inputs, input_count, sizeof *inputs, compare_texts);
  put(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<fmiTerminalsAndIcons fmiVersion=\"3.0\">\n  <Terminals>\n");
  for (uint32_t i = 0; i < count; i++) {
    SltPortQuantity q = slt_model_port_quantity(model, i);
    if (strcmp(q.port, before.port) != 0) {
      if (before.port[0]) put(&text, "    </Terminal>\n");
      put(&text, "    <Terminal");
      put_attribute(&text, "name", q.port);
      put(&text, " matchingRule=\"plug\">\n");
    }
    before = q;
    put(&text, "      <TerminalMemberVariable");
    put_attribute(&text, "variableName", member_variable(inputs, input_count, &q));
    put_attribute(&text, "memberName", q.name);
    put(&text, " variableKind=\"%s\"/>\n", q.through ? "inflow" : "signal");
  }
  if (before.port[0]) put(&text, "    </Terminal>\n");
  put(&text, "  </Terminals>\n</fmiTerminalsAndIcons>\n");
  free((void*)inputs);
  return finish(&text, length);
}

char* fmu_description(const FmuVariables* variables, const FmuExport* e, const FmuSources* sources,
                      const char* token, size_t* length) {
  Text text = {.data = NULL};
  char identifier[128];
  uint32_t version = e->version;
  fmu_identifier(e->name, identifier, sizeof identifier);
  put(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription fmiVersion=\"%u.0\"",
      version);
  put_attribute(&text, "modelName", e->name);
  put_attribute(&text, version == 2 ? "guid" : "instantiationToken", token);
  put(&text, " generationTool=\"Saltus %s\" variableNamingConvention=\"flat\"", slt_version());
  if (version == 2 && (e->kind & FMU_EXCHANGE)) {
    put(&text, " numberOfEventIndicators=\"%u\"", variables->indicator_count);
  }
  put(&text, ">\n");
  if (e->kind & FMU_EXCHANGE) put_interface(&text, FMU_EXCHANGE, identifier, version, sources);
  if (e->kind & FMU_CO_SIMULATION)
    put_interface(&text, FMU_CO_SIMULATION, identifier, version, sources);
  put_units(&text, variables);
  put_types(&text, variables, e->model, version);
  put(&text, "  <LogCategories>\n    <Category name=\"logStatusError\"/>\n  </LogCategories>\n");
  put_experiment(&text, variables);
  put(&text, "  <ModelVariables>\n");
  FmuVariables seen = *variables;
  // event indicators are the last ones
  if (!(e->kind & FMU_EXCHANGE)) seen.count -= seen.indicator_count;
  for (uint32_t i = 0; i < seen.count; i++)
    put_variable(&text, &seen.items[i], i, e->kind, version);
  put(&text, "  </ModelVariables>\n");
  put_structure(&text, &seen, version);
  put(&text, "</fmiModelDescription>\n");
  return finish(&text, length);
}
