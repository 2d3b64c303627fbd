// SPDX-License-Identifier: MIT
#include "cli.h"

#include <string.h>

static const char general[] =
    "saltus simulates systems that flow and jump.\n"
    "\n"
    "usage: saltus COMMAND [ARGUMENTS]\n"
    "\n"
    "  run MODEL       simulate a model and write the results\n"
    "  check MODEL     look for mistakes in a model\n"
    "  explain MODEL   show the structure of every mode, or tell what happens in a run\n"
    "  measure MODEL   one run, and the numbers it is asked for\n"
    "  sweep MODEL     many runs over values of parameters, a row of measures for each\n"
    "  sens MODEL      derivatives of measures with respect to parameters, with verdicts\n"
    "  compare A B     two tables, or a model and data, event by event\n"
    "  fit MODEL       parameters from data, with intervals\n"
    "  optimize MODEL  parameters for which a measure is smallest or largest\n"
    "  steady MODEL    where a mode stands still, and whether it stays there\n"
    "  linearize MODEL the equations of a mode to first order, eigenvalues, frequency response\n"
    "  plot FILE       draw a table of results\n"
    "  diff A B        what differs between two models, whatever their layout\n"
    "  names MODEL     list variables, constants, macros and automata\n"
    "  convert A B     rule tables to a folder of CSV files, back, or to equations\n"
    "  export MODEL    write a model as an FMU for other programs\n"
    "  fmt FILE        put the layout of a model's text in order\n"
    "  lsp             help an editor: messages, names, layout while a model is written\n"
    "  serve [FOLDER]  the workbench: write, run and look at models in a browser\n"
    "  watch PROGRAM   graphs and animation of a program in C, while it runs\n"
    "  new NAME        write a model to start from\n"
    "  gallery         the models that come with saltus: list, copy, look at them\n"
    "  docs            the manual: list, read or search its pages\n"
    "  methods         list the integration methods\n"
    "  cache           show or clear the cache of compiled equations\n"
    "  help COMMAND    explain a command; also COMMAND --help\n"
    "\n"
    "  --version       print the version\n"
    "\n"
    "To begin:  saltus new ball && saltus run ball.lisma --plot -\n";

static const char run_help[] =
    "usage: saltus run MODEL... [OPTIONS]\n"
    "\n"
    "Simulate a model. The rows go to MODEL.csv in the working folder, messages to standard "
    "error.\n"
    "\n"
    "time and accuracy\n"
    "  --until T           end of the run; times may have a unit, as 10min\n"
    "                                              [the experiment's end, else 10]\n"
    "  --from T            start of the run        [the experiment's start, else 0]\n"
    "  --method M          integration method; see `saltus methods`   [auto]\n"
    "  --rtol R, --atol A  tolerances              [1e-6, rtol/1000 of each scale]\n"
    "  --h0 H              first step              --hmin H, --hmax H  limits of the step\n"
    "  --step H            step of fixed-step methods\n"
    "  --set NAME=VALUE    set a constant, or an initial value: 'x(t0)=1'; may be repeated\n"
    "  --include DIR,...   folders for files the model includes, besides its own\n"
    "  --seed N            seed of the random streams\n"
    "\n"
    "results\n"
    "  --out a,b,c         what to record: variables, macros, constants, derivatives x',\n"
    "                      AUTOMATON.state; patterns 'room*.T', expressions 'T - 273.15';\n"
    "                      backquotes around names with commas\n"
    "                      [all variables, in the order of the source]\n"
    "  --every DT          a row every DT          --samples N   N rows [500]\n"
    "  --all-steps         a row per step of the integrator\n"
    "  --units             a second row with the units of the columns, in CSV\n"
    "  --event-rows changes|modes|all|none   events that get rows, before and after:\n"
    "                      those that change a column, also modes, all, none  [changes]\n"
    "  -o FILE|-           where the rows go: .csv, .csv.gz, .jsonl, .mat, .h5  [MODEL.csv]\n"
    "  --events FILE|-     events, one JSON object a line; FILE.csv: a table of them\n"
    "  --plot FILE.svg|.png|.pdf|-   a picture; - draws on the terminal. Panels, axes, marks:\n"
    "                      `saltus help plot` lists the settings\n"
    "  --report FILE.html  a page with picture, events, summary and model\n"
    "  -q, --quiet         no progress and no summary\n"
    "  --watch             run again whenever the model's file changes\n"
    "\n"
    "events\n"
    "  --detection certified|combined|extrapolation|interpolation     [certified]\n"
    "  --event-eps E       what counts as the boundary of a guard, for all of them [rounding]\n"
    "  --gamma G           reduction per step of extrapolation, 0..1   [0.6]\n"
    "  --sliding on|off|utkin  motion along boundaries: by flows, none, by values     [on]\n"
    "  --zeno auto|stop|dwell  after infinitely many events: go on, fail, keep modes  [auto]\n"
    "  --native auto|on|off   equations as machine code: where it pays, always, never [auto]\n"
    "  --threads N         threads of a run with many states; the same bits [1]\n"
    "\n"
    "rule tables (.rules.md, or a folder with rules.csv)\n"
    "  --cyclic DT         scan the tables literally every DT instead of locating events\n"
    "  --realtime[=K]      at the pace of the clock (K times as fast), overruns reported\n"
    "\n"
    "long runs\n"
    "  --checkpoint FILE   keep the state of the run there: every 30 s, at Ctrl-C, and at the end\n"
    "  --checkpoint-every S  seconds between two checkpoints [30]\n"
    "  --max-steps N, --max-events N, --timeout S   end there, with all rows kept\n"
    "  --resume FILE       go on from a checkpoint, with the same model, options and files\n"
    "  --replay FILE       change values during the run as the workbench has recorded it\n"
    "\n"
    "Several models run one after the other; % in the name of an output is the model's name.\n"
    "An existing MODEL.csv that saltus did not write is not overwritten unless -o names it.\n"
    "At most one of the outputs can be - (standard output).\n"
    "\n"
    "exit status: 0 done, 1 the model is wrong, 2 wrong usage, 3 the run failed (rows are kept),\n"
    "130 interrupted (rows are kept), 141 closed pipe\n";

static const char check_help[] =
    "usage: saltus check MODEL [--set NAME=VALUE]... [--include DIR,...]\n"
    "\n"
    "Look for mistakes in a model, as far as its first instant shows them. Of an FMU (M.fmu) the\n"
    "description is looked at, and its interfaces are run twice, in processes of their own: see\n"
    "docs/fmi.md.\n"
    "`saltus run M.fmu [--interface me|cs] [--input SIGNALS.csv]` runs one, with few of the\n"
    "options of run.\n"
    "exit status: 0 no mistakes (there may be warnings), 1 mistakes\n";

static const char explain_help[] =
    "usage: saltus explain MODEL [--json | --ir] [--set NAME=VALUE]... [--include DIR,...]\n"
    "       saltus explain MODEL --run [--all | --json] [OPTIONS OF RUN]\n"
    "       saltus explain MODEL [--run] --graph FILE.svg|.dot|.png|.pdf\n"
    "\n"
    "Show what the model is: variables, equations, automata, and for each mode what determines\n"
    "what. --json gives the same as data, --ir the intermediate representation.\n"
    "\n"
    "With --run the model is run, and each instant is told: what fired and why, with its line; "
    "the\n"
    "modes that were only tried; what changed, and pulses; the class; how the motion goes on.\n"
    "Instants that repeat are counted, --all tells them all, --json writes the records as\n"
    "`run --events` does. At the end stand the states that were never entered, and what they ask\n"
    "for. No rows are written unless -o asks for them.\n"
    "\n"
    "--graph draws the automata: states as boxes, transitions as arrows with their guards. With\n"
    "--run it shows which were taken, how often and of which class. Graphviz draws it where it is\n"
    "installed ($SALTUS_DOT names its program dot); .dot is its text.\n";

static const char plot_help[] =
    "usage: saltus plot FILE.csv... [x,y,...] [SETTINGS] [-o FILE.svg|FILE.png|FILE.pdf|-]\n"
    "\n"
    "Draw columns of tables, all of them when none are named; several tables are laid over each\n"
    "other. Without -o (or --plot) on the terminal. Jumps are dotted, empty cells are gaps, text\n"
    "columns become bands below. --events FILE reads what `saltus run --events` wrote, for "
    "--marks.\n"
    "\n"
    "Settings before the first --panel, --phase or --histogram are about all panels, those behind\n"
    "one about this panel. They can also stand in the experiment of a model: panel = h1, h2;\n"
    "\n";

/// The settings of pictures, from their list.
static void print_settings(FILE* to) {
  for (uint32_t i = 0; i < slt_figure_key_count(); i++) {
    SltFigureKey key = slt_figure_key(i);
    char head[48];
    snprintf(head, sizeof head, "--%s%s%s", key.name, key.is_flag ? "" : " ",
             key.is_flag ? "" : key.value);
    fprintf(to, "  %-23s %s\n", head, key.about);
  }
}

static const char diff_help[] =
    "usage: saltus diff A B\n"
    "\n"
    "Show what differs between two models: constants, variables, equations, states, transitions.\n"
    "Layout, comments and the order of statements make no difference.\n"
    "exit status: 0 nothing differs, 1 something does, or a model is wrong\n";

static const char names_help[] =
    "usage: saltus names MODEL [variables|constants|macros|automata]\n"
    "\n"
    "List the names of a model, one a line; all of them with their kinds. Completions use it.\n";

static const char new_help[] =
    "usage: saltus new NAME\n"
    "\n"
    "Write NAME.lisma, a small model with comments to start from. A NAME that ends in\n"
    ".rules.md gives rule tables. An existing file is never overwritten.\n";

static const char gallery_help[] =
    "usage: saltus gallery [WORD...]\n"
    "       saltus gallery --copy NAME | --path [NAME] | --open\n"
    "\n"
    "List the models that are installed with saltus, or those about some words.\n"
    "\n"
    "  --copy NAME   copy a model, with the files it names, to the working folder\n"
    "  --path [NAME] tell where it is; without a name, where all of them are\n"
    "  --open        show their pictures in a browser, and tell where the page is\n";

static const char docs_help[] =
    "usage: saltus docs [PAGE | CODE | WORD...]\n"
    "       saltus docs --find WORD... | --path [PAGE] | --open [PAGE]\n"
    "\n"
    "List the pages of the manual, or print one; a code such as E0203 prints what the manual says\n"
    "about that message, and other words are looked for in all pages.\n"
    "\n"
    "  --find WORD...  print the lines of all pages that hold these words, headings first; where\n"
    "                  none does, the sections that hold most of them\n"
    "  --path [PAGE]   tell where it is\n"
    "  --open [PAGE]   show it in a browser, and tell where it is\n";

static const char methods_help[] = "usage: saltus methods\n"
                                   "\n"
                                   "List the integration methods for --method.\n";

static const char cache_help[] =
    "usage: saltus cache [show | path | clear | limit [BYTES]]\n"
    "\n"
    "The cache of equations compiled to machine code (`saltus run --native`): what is in it, "
    "where\n"
    "it is, remove all of it, show or set how large it may grow (e.g. 64M). It is in\n"
    "$XDG_CACHE_HOME/saltus, else ~/.cache/saltus.\n";

static const char convert_help[] =
    "usage: saltus convert FROM TO\n"
    "\n"
    "Rule tables in another form. FROM is a .rules.md document or a folder of CSV files; TO is a\n"
    ".rules.md, a folder of CSV files, or a .lisma with the equivalent equations.\n";

static const char fmt_help[] =
    "usage: saltus fmt FILE.lisma... [--check]\n"
    "       saltus fmt -\n"
    "\n"
    "Put indentation, spaces and blank lines of models in order; lines, comments and meaning "
    "stay.\n"
    "Files are rewritten when that changes them, and named. - reads standard input and writes\n"
    "standard output.\n"
    "\n"
    "  --check   change nothing; exit status 1 and the names of the files that would change\n";

static const char sweep_help[] =
    "usage: saltus sweep MODEL --vary k=0:10:101 [--vary ...] --measure 'max(x)' [OPTIONS]\n"
    "\n"
    "Run a model for many values of its parameters and write a row of measures for each member.\n"
    "A member that fails is a row with its message. Rows, their order and the digest do not "
    "depend\n"
    "on the number of threads.\n"
    "\n"
    "what varies: constants, initial values x(t0), seed (of the random streams)\n"
    "  --vary k=0:10:101   101 values from 0 to 10; k=log(1:1000:4) has equal ratios\n"
    "  --vary k=1,2,5      these values\n"
    "  --vary 'k~normal(1, 0.1)'   drawn: uniform(a, b), lognormal(mean, deviation of ln),\n"
    "                      loguniform(a, b), triangular(least, likely, greatest),\n"
    "                      empirical(FILE.csv, column)\n"
    "  --sample grid       all combinations [grid]\n"
    "  --sample random|lhs|sobol N   N members: independent, Latin hypercube, Sobol's sequence\n"
    "  --correlate a,b=0.8 of what is drawn\n"
    "  --seed N            of the draws and of the runs [0]\n"
    "\n"
    "what is measured\n"
    "  -m, --measure M     NAME = FORMULA or FORMULA; may be repeated [the model's measures]\n"
    "                      end(x) start(x) at(x, t) max(x) min(x) mean(x) rms(x) integral(x)\n"
    "                      quantile(x, q) time(A.s) time(A.s, k) count(A.s) duration(A.s);\n"
    "                      mean(x, 2, 5), max(x, 2, 5)... read between two times\n"
    "\n"
    "runs and results\n"
    "  --until T, --from T, --method M, --rtol R, --atol A, --hmax H, --set NAME=VALUE   as of "
    "run\n"
    "  -j, --jobs N        threads [one per core]\n"
    "  -o FILE|-           where the rows go: .csv, .csv.gz, .jsonl, .mat, .h5  [MODEL.sweep.csv]\n"
    "  --trajectories FOLDER   the rows of every member too, as member-N.csv\n"
    "  --map               which values give which sequence of events, with located boundaries;\n"
    "                      --plot draws it, for one or two parameters\n"
    "  --plot FILE.svg|.png|.pdf|-   the measures: curves over one parameter, a map in colours "
    "over\n"
    "                      two, curves with the spread over more; of samples scatter plots\n"
    "  --resume            go on with a sweep that was interrupted; same model and options\n"
    "  --report FILE.html  a page with what is printed, the picture, the rows and the model\n"
    "  -q, --quiet         no progress and no summary\n"
    "\n"
    "exit status: 0 done, 1 the model is wrong, 2 wrong usage, 3 members failed,\n"
    "whose rows say why, 130 interrupted (rows are kept)\n";

static const char measure_help[] =
    "usage: saltus measure MODEL [-m FORMULA]... [OPTIONS]\n"
    "\n"
    "Run a model once and print numbers about the run: extrema, means, how often a state was\n"
    "entered, and when. Nothing is recorded; values are taken from the solution itself, so no "
    "choice\n"
    "of rows changes them.\n"
    "\n"
    "  -m, --measure M     NAME = FORMULA or FORMULA; may be repeated [the model's measures]\n"
    "                      end(x) start(x) at(x, t) max(x) min(x) mean(x) rms(x) integral(x)\n"
    "                      quantile(x, q) time(A.s) time(A.s, k) count(A.s) duration(A.s);\n"
    "                      mean(x, 2, 5), max(x, 2, 5)... read between two times\n"
    "  --until T, --from T, --method M, --rtol R, --atol A, --hmax H, --set NAME=VALUE, --seed N\n"
    "                      as of run\n"
    "  -o FILE|-           a row of CSV with all digits instead\n"
    "  --report FILE.html  a page with what is printed, the row and the model\n"
    "\n"
    "exit status: 0 done, 1 the model is wrong, 2 wrong usage, 3 the run failed\n";

static const char sens_help[] =
    "usage: saltus sens MODEL --params k,m --measure 'max(x)' [OPTIONS]\n"
    "\n"
    "How measures depend on parameters: derivatives, with a verdict for each. They are followed "
    "along\n"
    "the run, exact through its events; runs right beside the parameter tell whether they exist. "
    "What\n"
    "is not followed (a closed contact, an impulse) comes from differences "
    "of\n"
    "runs, and the verdict says so.\n"
    "\n"
    "  exists      both sides agree\n"
    "  one-sided   they differ, or only one has a limit; both are told\n"
    "  none        neither has: a grazing event, a jump of the measure\n"
    "\n"
    "Where the sequence of events changes near by, the value of the parameter is told at which.\n"
    "\n"
    "  --params a,b        constants, initial values x(t0)\n"
    "  -m, --measure M     as of sweep [the model's measures]\n"
    "  --out x,y           derivatives of these along the run instead, in rows; --every DT [100 "
    "rows]\n"
    "  --reach R           how far parameters are moved, relative [0.02]\n"
    "  --sobol N           shares of the variance instead (indices of Sobol), from N samples of\n"
    "  --vary 'k~normal(1, 0.1)'   distributions or ranges of parameters; --seed N, --jobs N\n"
    "  --adjoint           for many parameters: one way back through the run for each measure, "
    "and\n"
    "                      one verdict for all parameters together\n"
    "  --differences       by differences of runs alone: a second way, for comparison\n"
    "  --until T, --from T, --method M, --rtol R, --atol A, --hmax H, --set NAME=VALUE   as of "
    "run\n"
    "                      [--rtol 1e-12]\n"
    "  --plot FILE.svg|.png|.pdf|-   bars of the elasticities; - draws on the terminal\n"
    "  -o FILE|-           the table as CSV\n"
    "  --report FILE.html  a page with what is printed, the picture, the rows and the model\n"
    "  -q, --quiet         no progress and no table for people\n";

static const char compare_help[] =
    "usage: saltus compare A.csv B.csv [--tol R]\n"
    "       saltus compare MODEL --data FILE.csv [--tol R] [OPTIONS]\n"
    "\n"
    "Compare columns of the same name. Jumps (two rows at one time) are matched in order, and what "
    "is\n"
    "between them is compared with each other: a jump that comes a little later is a shift in "
    "time,\n"
    "not a large difference. Texts (states) are equal or not. A model is run over the times of "
    "the\n"
    "data and read from dense output. What has no counterpart is said.\n"
    "\n"
    "  --tol R             tolerance, relative to the largest magnitude of a column [1e-6]\n"
    "  --abs-tol A         added to it [0]\n"
    "  --time-tol T        for the times of jumps [--tol times the length of the first table]\n"
    "  --until T, --from T, --method M, --rtol R, --atol A, --hmax H, --set NAME=VALUE   as of "
    "run\n"
    "  --plot FILE.svg|.png|.pdf|-   both courses of each column, over each other\n"
    "  --report FILE.html  a page with what is printed, the picture, the rows and the model\n"
    "  -q, --quiet         only the exit status\n"
    "\n"
    "exit status: 0 within the tolerances, 1 not, 2 wrong usage or tables that cannot be "
    "compared,\n"
    "3 the model is wrong or its run failed\n";

static const char fit_help[] =
    "usage: saltus fit MODEL --data FILE.csv --params k,m [OPTIONS]\n"
    "\n"
    "Find parameters with which the model is nearest to data, by least squares. Columns of the "
    "data\n"
    "are matched by their names: quantities of the model over the column `time`, empty cells are "
    "left\n"
    "out; a column time(A.s) holds the times of the entries into a state, one after the other.\n"
    "\n"
    "  --data FILE.csv     may be repeated; FILE.csv,NAME=VALUE,... sets constants for these rows\n"
    "  --params a,b        constants, initial values x(t0); the model's values are where it "
    "begins\n"
    "  --bounds a=0.1:10   of a parameter; may be repeated\n"
    "  --columns x=a,v=b   columns a and b of the data are x and v of the model\n"
    "  --weight x=2        factor of the residuals of a column [1]\n"
    "  --loss squares|huber|cauchy   how outliers count [squares]\n"
    "  --starts N          N more beginnings, spread over the bounds\n"
    "  --seed N            of these [0]\n"
    "  --from T, --method M, --rtol R, --atol A, --hmax H, --set NAME=VALUE   as of run\n"
    "                      [--rtol 1e-9]\n"
    "  --plot FILE.svg     data, the model with its 95 % interval, and the residuals\n"
    "  -o FILE|-           values, deviations and intervals as CSV\n"
    "  --report FILE.html  a page with what is printed, the picture, the rows and the model\n"
    "  -q, --quiet         no table for people\n"
    "\n"
    "exit status: 0 done, 1 the model is wrong, 2 wrong usage, 3 its runs fail, 130 interrupted\n";

static const char optimize_help[] =
    "usage: saltus optimize MODEL --minimize M --params a,b [OPTIONS]\n"
    "\n"
    "Find parameters for which a measure is smallest, or largest with --maximize. A run that "
    "fails\n"
    "is worse than every other. Needs a build with NLopt.\n"
    "\n"
    "  --minimize M, --maximize M   a measure, as of sweep\n"
    "  --params a,b        constants, initial values x(t0); the model's values are where it "
    "begins\n"
    "  --bounds a=0.1:10   of a parameter; may be repeated\n"
    "  --subject-to 'M <= 3'   a condition on another measure, or >=; may be repeated\n"
    "  --search gradient|simplex|global   quadratic programming with differences; linear models\n"
    "                      without, for measures with kinks; all over the bounds first [gradient]\n"
    "  --evaluations N     at most [1000]\n"
    "  --seed N            of the global search [0]\n"
    "  --until T, --from T, --method M, --rtol R, --atol A, --hmax H, --set NAME=VALUE   as of "
    "run\n"
    "                      [--rtol 1e-9]\n"
    "  -o FILE|-           every evaluation as a row\n"
    "  --report FILE.html  a page with what is printed, the picture, the rows and the model\n"
    "  -q, --quiet         no progress and no result for people\n"
    "\n"
    "exit status: 0 done, 1 the model is wrong, 2 wrong usage, 3 the conditions cannot be met or "
    "runs\n"
    "fail, 130 interrupted (the best so far is told)\n";

static const char steady_help[] =
    "usage: saltus steady MODEL [--at T] [OPTIONS]\n"
    "\n"
    "Find an equilibrium of the mode that the model starts in, or is in at a time, by Newton's "
    "method\n"
    "from the values there, and tell whether it is stable. Said too: that the mode would be left "
    "on\n"
    "the way to it.\n"
    "\n"
    "  --at T              run up to T first [the start]\n"
    "  --state x=1         begin with another value; may be repeated\n"
    "  --from T, --method M, --rtol R, --atol A, --hmax H, --set NAME=VALUE   as of run\n"
    "  -o FILE|-           states, Jacobian and eigenvalues as CSV\n"
    "  --report FILE.html  a page with what is printed, the picture, the rows and the model\n"
    "  -q, --quiet         nothing for people\n"
    "\n"
    "exit status: 0 done, 1 the model is wrong, 2 wrong usage, 3 none was found\n";

static const char linearize_help[] =
    "usage: saltus linearize MODEL [--at T] [--inputs u] [--outputs y] [OPTIONS]\n"
    "\n"
    "The equations of a mode to first order: x' = A x + B u, y = C x + D u around the values at a\n"
    "time, with the eigenvalues of A, exact derivatives.\n"
    "\n"
    "  --at T              run up to T first [the start]\n"
    "  --state x=1         another value there; may be repeated\n"
    "  --inputs a,b        constants, and variables that do not flow\n"
    "  --outputs x,y       variables, derivatives, macros\n"
    "  --response LO:HI:N  response of the outputs to the inputs at N angular frequencies\n"
    "  --plot FILE.svg     gain and phase of it over the frequency\n"
    "  --from T, --method M, --rtol R, --atol A, --hmax H, --set NAME=VALUE   as of run\n"
    "  -o FILE|-           the matrices as CSV; with --response, that\n"
    "  --report FILE.html  a page with what is printed, the picture, the rows and the model\n"
    "  -q, --quiet         nothing for people\n";

static const char lsp_help[] =
    "usage: saltus lsp\n"
    "\n"
    "A language server for LISMA and rule tables: an editor starts it and speaks with it over\n"
    "standard input and output (Language Server Protocol). Messages appear while a model is\n"
    "written; names have their declarations, completion, references; layout and spelling are\n"
    "mended on request. docs/editors.md tells how to set up an editor.\n";

static const char serve_help[] =
    "usage: saltus serve [FOLDER] [OPTIONS]\n"
    "\n"
    "The workbench in a browser, with the models of FOLDER (this one unless it is named). Prints "
    "the\n"
    "address to open. Only this machine can reach it, and only with the secret in that address;\n"
    "models run in child processes with limits of memory and time.\n"
    "\n"
    "  --port N          listen there, not on the port that belongs to FOLDER, or a free one\n"
    "  --listen ADDRESS  listen on another address than 127.0.0.1; 0.0.0.0 is all of them\n"
    "  --open            show it in the browser\n"
    "  --export OUT      write OUT/workbench.html instead: the page with the engine and the models "
    "of\n"
    "                    FOLDER inside, one file that needs nothing else\n";

static const char watch_help[] = "usage: saltus watch [OPTIONS] PROGRAM [ARGUMENTS]\n"
                                 "\n"
                                 "Run a program that uses the CDCSIS dialect and show its graphs "
                                 "and its animation in a browser\n"
                                 "while they come. The program need not be compiled again. Prints "
                                 "the address to open; Ctrl-C ends\n"
                                 "the page, and the program if it still runs.\n"
                                 "\n"
                                 "  --port N, --listen ADDRESS, --open   as of serve\n";

static const char export_help[] =
    "usage: saltus export MODEL [OPTIONS]\n"
    "\n"
    "Write the model as an FMU with this program's engine inside: MODEL.fmu in the working "
    "folder.\n"
    "docs/fmi.md tells what importers see of it.\n"
    "\n"
    "  -o FILE           write it there\n"
    "  --fmi 2|3         version of the standard [3]\n"
    "  --kind KIND       cs: co-simulation, Saltus integrates and proves its events; me: model\n"
    "                    exchange, the importer integrates; both [cs]\n"
    "  --sources         with the sources too, which build anywhere with a C compiler\n"
    "  --set NAME=VALUE  set a constant for good\n";

bool help_print(FILE* to, const char* command) {
  static const struct {
    const char* command;
    const char* text;
  } pages[] = {
      {"run", run_help},           {"check", check_help},     {"explain", explain_help},
      {"plot", plot_help},         {"new", new_help},         {"methods", methods_help},
      {"convert", convert_help},   {"help", general},         {"cache", cache_help},
      {"fmt", fmt_help},           {"lsp", lsp_help},         {"serve", serve_help},
      {"measure", measure_help},   {"sweep", sweep_help},     {"export", export_help},
      {"sens", sens_help},         {"compare", compare_help}, {"fit", fit_help},
      {"optimize", optimize_help}, {"gallery", gallery_help}, {"docs", docs_help},
      {"watch", watch_help},       {"steady", steady_help},   {"linearize", linearize_help},
      {"diff", diff_help},         {"names", names_help},
  };
  if (!command) {
    fputs(general, to);
    return true;
  }
  for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
    if (strcmp(pages[i].command, command) != 0) continue;
    fputs(pages[i].text, to);
    if (pages[i].text == plot_help) print_settings(to);
    return true;
  }
  return false;
}
