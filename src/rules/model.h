// SPDX-License-Identifier: MIT
//
// The table model: what the tables say, with every name looked up.
#ifndef SALTUS_RULES_MODEL_H
#define SALTUS_RULES_MODEL_H

#include "base/base.h"

#define RULES_NONE UINT32_MAX

typedef enum RulesSection {
  RULES_SECTION_NONE,
  RULES_SECTION_SETTINGS,
  RULES_SECTION_CONSTANTS,
  RULES_SECTION_STATES,
  RULES_SECTION_PREDICATES,
  RULES_SECTION_SITUATIONS,
  RULES_SECTION_RULES,
  RULES_SECTION_DRAWING,
  RULES_SECTION_CONTROLS,
  RULES_SECTION_COUNT
} RulesSection;

// ---- expressions of constants and predicates
// ------------------------------------------------------

typedef enum RulesOp {
  RULES_OP_NUMBER,
  RULES_OP_NAME,  // before it is looked up
  RULES_OP_CONSTANT,
  RULES_OP_STATE,
  RULES_OP_TIME,
  RULES_OP_NEG,
  RULES_OP_ABS,
  RULES_OP_ADD,
  RULES_OP_SUB,
  RULES_OP_MUL,
  RULES_OP_DIV,
  RULES_OP_LT,
  RULES_OP_LE,
  RULES_OP_GT,
  RULES_OP_GE,
  RULES_OP_AND
} RulesOp;

typedef struct RulesExpr {
  uint8_t op;
  double value;    // NUMBER
  uint32_t index;  // CONSTANT, STATE
  Str name;        // NAME
  const struct RulesExpr* a;
  const struct RulesExpr* b;
  Span span;
} RulesExpr;

/// An argument: a state, a constant, the time or a number.
typedef struct RulesArg {
  const RulesExpr* expr;  // NULL when the cell is empty; one node, never an operation
} RulesArg;

// ---- conditions
// -----------------------------------------------------------------------------------

typedef enum RulesLogic {
  RULES_LOGIC_TRUE,
  RULES_LOGIC_STATE,
  RULES_LOGIC_PREDICATE,
  RULES_LOGIC_SITUATION
} RulesLogic;

typedef struct RulesLiteral {
  uint8_t kind;  // RulesLogic
  bool negated;
  uint32_t index;
  Span span;
} RulesLiteral;

/// A conjunction; empty is true.
typedef struct RulesWhen {
  BASE_VEC(RulesLiteral) literals;
} RulesWhen;

// ---- procedures
// -----------------------------------------------------------------------------------

#define RULES_PARAM_LIST(X) \
  X(K2, "second coefficient|2nd coefficient|k2|2nd coef|offset", \
    "второй коэффициент|2-ой коэфф|2-ой кэфф|2-й коэффициент|к2") \
  X(UP, "upper limit|up|upper|limit", "верхнее ограничение|верх.огран|верхний предел|верх") \
  X(LO, "lower limit|lo|lower", "нижнее ограничение|ниж.огран|нижний предел|низ") \
  X(T, "time constant|time|t", "постоянная времени|время|т") \
  X(PERIOD, "period|t", "период|т") \
  X(WIDTH, "width|w", "ширина") \
  X(START, "start|t0|start time", "начало|время начала") \
  X(SLOPE, "slope|rate", "наклон") \
  X(FREQUENCY, "frequency|f", "частота") \
  X(PHASE, "phase", "фаза") \
  X(DAMPING, "damping|zeta", "затухание|демпфирование") \
  X(ZONE, "zone|d|half width", "зона|полузона|люфт") \
  X(QUANTUM, "quantum|q|step", "квант|шаг") \
  X(TI, "integral time|ti", "время интегрирования|ти") \
  X(TD, "derivative time|td", "время дифференцирования|тд") \
  X(FILTER, "filter|filter time|tf", "фильтр|время фильтра|тф") \
  X(EXPONENT, "exponent|power", "показатель") \
  X(SEED, "seed", "зерно") \
  X(POINTS, "points", "точки") \
  X(OUTSIDE, "outside", "вне") \
  X(INTERPOLATION, "interpolation", "интерполяция") \
  X(KEEP, "keep", "держать") \
  X(RESTART, "restart", "сброс") \
  X(OTHERWISE, "otherwise|argument 3|c", "иначе|аргумент 3")

typedef enum RulesParam {
#define X(id, en, ru) RULES_PARAM_##id,
  RULES_PARAM_LIST(X)
#undef X
      RULES_PARAM_COUNT
} RulesParam;

/// Procedures: id, class, least and most arguments, required parameters, optional ones, English
/// names, Russian names. The first English name is the one shown.
#define RULES_P(id) (1u << RULES_PARAM_##id)
#define RULES_PROCEDURE_LIST(X) \
  X(MULTIPLICATION, ALGEBRAIC, 2, 2, 0, 0, "multiplication|multiply|product", \
    "умножение|произведение") \
  X(PROPORTIONAL, ALGEBRAIC, 1, 1, 0, RULES_P(K2), "proportional|gain", \
    "пропорциональная|усиление") \
  X(ADDING, ALGEBRAIC, 1, 2, 0, RULES_P(K2), "adding|sum|addition", "сумма|сложение") \
  X(DIVISION, ALGEBRAIC, 2, 2, 0, 0, "division|divide|quotient", "деление|частное") \
  X(INTEGRAL, FLOW, 1, 1, 0, RULES_P(UP) | RULES_P(LO), "integral|integration|integrator", \
    "интеграл|интегрирование") \
  X(DIFFERENTIATION, MEMORY, 1, 1, 0, RULES_P(FILTER), "differentiation|derivative", \
    "дифференцирование|производная") \
  X(SMOOTHING, FLOW, 1, 1, RULES_P(T), 0, "smoothing|lag|first order lag", \
    "сглаживание|инерционное звено|апериодическое звено") \
  X(ABSOLUTE, ALGEBRAIC, 1, 1, 0, 0, "absolute|abs|absolute value", "абсолютная|модуль") \
  X(RELAY, ALGEBRAIC, 1, 1, 0, RULES_P(UP) | RULES_P(LO) | RULES_P(KEEP), "relay", "реле") \
  X(HYSTERESIS, DISCRETE, 1, 1, RULES_P(ZONE), RULES_P(UP) | RULES_P(LO), \
    "relay with hysteresis|hysteresis", "реле с гистерезисом|гистерезис") \
  X(DEAD_ZONE, ALGEBRAIC, 1, 1, RULES_P(ZONE), 0, "dead zone", \
    "зона нечувствительности|мертвая зона") \
  X(SATURATION, ALGEBRAIC, 1, 1, 0, RULES_P(UP) | RULES_P(LO), "saturation|limit|limiter", \
    "насыщение|ограничение") \
  X(DELAY, MEMORY, 1, 1, RULES_P(T), RULES_P(INTERPOLATION), "delay|dead time", \
    "запаздывание|задержка") \
  X(BACKLASH, PLAY, 1, 1, RULES_P(ZONE), 0, "backlash|play", "люфт") \
  X(QUANTISE, ALGEBRAIC, 1, 1, RULES_P(QUANTUM), 0, "quantise|quantize|quantisation", \
    "квантование") \
  X(SAMPLE_HOLD, DISCRETE, 1, 1, RULES_P(PERIOD), 0, "sample-hold|sample and hold", \
    "выборка-хранение|выборка и хранение") \
  X(TABLE, ALGEBRAIC, 1, 1, RULES_P(POINTS), RULES_P(OUTSIDE) | RULES_P(INTERPOLATION), \
    "table|lookup", "таблица") \
  X(SINE, ALGEBRAIC, 1, 1, 0, RULES_P(K2) | RULES_P(PHASE), "sine|sin", "синус") \
  X(COSINE, ALGEBRAIC, 1, 1, 0, RULES_P(K2) | RULES_P(PHASE), "cosine|cos", "косинус") \
  X(EXPONENTIAL, ALGEBRAIC, 1, 1, 0, RULES_P(K2), "exponential|exp", "экспонента") \
  X(LOGARITHM, ALGEBRAIC, 1, 1, 0, RULES_P(K2), "logarithm|ln", "логарифм") \
  X(SQUARE_ROOT, ALGEBRAIC, 1, 1, 0, RULES_P(K2), "square root|sqrt", "квадратный корень|корень") \
  X(POWER, ALGEBRAIC, 1, 2, 0, RULES_P(EXPONENT), "power|pow", "степень") \
  X(MINIMUM, ALGEBRAIC, 2, 2, 0, 0, "minimum|min", "минимум") \
  X(MAXIMUM, ALGEBRAIC, 2, 2, 0, 0, "maximum|max", "максимум") \
  X(SELECT, ALGEBRAIC, 2, 2, RULES_P(OTHERWISE), 0, "select|selection", "выбор") \
  X(SIGN, ALGEBRAIC, 1, 1, 0, 0, "sign", "знак") \
  X(STEP, ALGEBRAIC, 0, 0, 0, RULES_P(START), "step", "ступенька|скачок") \
  X(RAMP, ALGEBRAIC, 0, 0, 0, RULES_P(START) | RULES_P(SLOPE), "ramp", "линейное нарастание|пила") \
  X(PULSE, ALGEBRAIC, 0, 0, RULES_P(PERIOD) | RULES_P(WIDTH), RULES_P(START), "pulse|pulses", \
    "импульсы|импульс") \
  X(SINE_SOURCE, ALGEBRAIC, 0, 0, RULES_P(FREQUENCY), RULES_P(PHASE), "sine source|sine wave", \
    "источник синуса|синусоида") \
  X(NOISE, DISCRETE, 0, 0, RULES_P(PERIOD), RULES_P(SEED), "noise", "шум") \
  X(OSCILLATOR, SECOND, 1, 1, RULES_P(T), RULES_P(DAMPING), "oscillator|second order lag", \
    "колебательное звено|осциллятор") \
  X(PID, MEMORY, 1, 2, 0, RULES_P(TI) | RULES_P(TD) | RULES_P(FILTER) | RULES_P(UP) | RULES_P(LO), \
    "pid|pid controller", "пид|пид-регулятор") \
  X(COUNTER, DISCRETE, 0, 0, 0, 0, "counter", "счетчик") \
  X(TIMER, TIMER, 0, 0, 0, RULES_P(RESTART), "timer", "таймер") \
  X(LATCH, DISCRETE, 2, 2, 0, 0, "latch|trigger", "триггер|защелка") \
  X(ASSIGN, ASSIGN, 0, 1, 0, 0, "assign|assignment", "присваивание|присвоить") \
  X(REMOVE, REMOVE, 0, 0, 0, 0, "remove|removed", "удалить")

/// What a procedure is for the executions: when it is not active, and how equations say it.
typedef enum RulesClass {
  RULES_CLASS_ALGEBRAIC,  // a function of the present arguments
  RULES_CLASS_MEMORY,     // a function of arguments and of a memory of its own
  RULES_CLASS_FLOW,       // adds to the derivative of its variable
  RULES_CLASS_SECOND,     // flow with one more hidden state
  RULES_CLASS_TIMER,      // flow with a reset
  RULES_CLASS_DISCRETE,   // changes its variable at instants
  RULES_CLASS_PLAY,       // backlash: equation or rest
  RULES_CLASS_ASSIGN,
  RULES_CLASS_REMOVE  // takes a row of an included model away
} RulesClass;

typedef enum RulesProcedure {
#define X(id, class, least, most, required, optional, en, ru) RULES_##id,
  RULES_PROCEDURE_LIST(X)
#undef X
      RULES_PROCEDURE_COUNT
} RulesProcedure;

typedef struct RulesSignature {
  uint8_t class;  // RulesClass
  uint8_t least, most;
  uint32_t required, optional;  // masks of 1 << RulesParam
  const char* names;            // separated by |, the first is the one shown
  const char* russian;
} RulesSignature;

const RulesSignature* rules_signature(RulesProcedure procedure);
/// First name in a list separated by |.
Str rules_first_name(const char* names);
/// English name of a parameter.
Str rules_param_name(RulesParam param);

// ---- the model
// ------------------------------------------------------------------------------------

typedef struct RulesConstant {
  Str name, unit;
  const RulesExpr* value;
  double number;  // with overrides applied
  Span span;
} RulesConstant;

typedef struct RulesState {
  Str name, unit;
  bool logical;
  const RulesExpr* initial;  // NULL: 0 or false
  double number;
  Span span;
} RulesState;

typedef struct RulesPredicate {
  Str name;
  const RulesExpr* relation;  // relations joined by AND
  Str text;                   // for people
  Span span;                  // of the relation
} RulesPredicate;

typedef struct RulesAssignment {
  uint32_t state;
  bool value;
  Span span;
} RulesAssignment;

/// One row of Situations.
typedef struct RulesSituationRow {
  uint32_t situation;  // RULES_NONE: only assignments
  bool first;          // the first row of its situation
  RulesWhen when;
  BASE_VEC(RulesAssignment) then;
  Span span;  // of its condition
} RulesSituationRow;

typedef struct RulesSituation {
  Str name;
  Str text;  // of its rows, for people
  Span span;
} RulesSituation;

typedef struct RulesRule {
  Str label;  // the cell of column #, or its number
  uint32_t target;
  uint8_t procedure;             // RulesProcedure
  const RulesExpr* coefficient;  // never NULL
  RulesArg arg[2];
  RulesWhen when;
  const RulesExpr* params[RULES_PARAM_COUNT];  // numbers; NULL when not given
  const double* points;                        // POINTS: x0, y0, x1, y1, ...
  uint32_t point_count;                        // pairs
  bool extrapolate, cubic, keep, no_restart;
  Span span;
} RulesRule;

/// An expression in braces inside a text: "{h height:.1f}".
typedef struct RulesTextValue {
  uint32_t begin, end;  // of the expression in the text
  const RulesExpr* expr;
} RulesTextValue;

/// Numbers of a shape, in the order in which LISMA takes them.
#define RULES_SHAPE_NUMBERS 11u

/// What is drawn beside the charts.
typedef struct RulesShape {
  Str label;                                      // the cell of column #; may be empty
  const char* kind;                               // "circle"
  const RulesExpr* numbers[RULES_SHAPE_NUMBERS];  // NULL where the cell is empty
  Str text;                                       // of a text, as written
  Str colour;                                     // empty: chosen by who draws
  BASE_VEC(RulesTextValue) values;                // what stands in the braces of the text
  Span span;
} RulesShape;

/// What is changed or shown by hand beside a run.
typedef struct RulesControl {
  Str name;  // of a constant or a state
  BASE_VEC(double) values;
  bool range;  // values are a lowest and a highest one; otherwise those that can be chosen
  Span span;
} RulesControl;

typedef enum RulesUnguarded { RULES_AUTO, RULES_HOLD, RULES_ZERO } RulesUnguarded;

/// Settings as written, in the order of the tables.
typedef struct RulesSetting {
  Str name, value;
  Span span;
} RulesSetting;

typedef struct RulesModel {
  Arena* arena;
  const Source* source;
  BASE_VEC(RulesConstant) constants;
  BASE_VEC(RulesState) states;
  BASE_VEC(RulesPredicate) predicates;
  BASE_VEC(RulesSituation) situations;
  BASE_VEC(RulesSituationRow) rows;
  BASE_VEC(RulesRule) rules;
  BASE_VEC(RulesSetting) settings;
  BASE_VEC(RulesShape) shapes;
  BASE_VEC(RulesControl) controls;
  uint8_t unguarded;                     // RulesUnguarded
  double cycle;                          // NaN when not given
  bool cyclic;                           // the model asks for cyclic execution
  double start, end, every, rtol, atol;  // NaN when not given
} RulesModel;

/// Whether the target keeps its value when no rule of it is active.
bool rules_target_holds(const RulesModel* model, uint32_t target);
/// Value of an expression of constants.
double rules_constant_value(const RulesModel* model, const RulesExpr* expr);
/// Parameter as a number, or `fallback`.
double rules_param(const RulesModel* model, const RulesRule* rule, RulesParam param,
                   double fallback);

#endif
