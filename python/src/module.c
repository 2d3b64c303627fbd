// SPDX-License-Identifier: MIT
//
// The module saltus._saltus: its types and functions.
#include "saltus_py.h"

#include <string.h>

Types types;

PyTypeObject* module_add_type(PyObject* module, PyType_Spec* spec) {
  PyObject* type = PyType_FromModuleAndSpec(module, spec, NULL);
  if (!type) return NULL;
  if (PyModule_AddType(module, (PyTypeObject*)type) < 0) {
    Py_DECREF(type);
    return NULL;
  }
  return (PyTypeObject*)type;  // the module's reference is another one
}

static PyObject* methods(PyObject* module, PyObject* ignored) {
  (void)module;
  (void)ignored;
  PyObject* list = PyList_New(0);
  for (uint32_t i = 0; list && i < slt_method_count(); i++) {
    SltMethod m = slt_method_get(i);
    PyObject* item = Py_BuildValue("{s:s,s:s,s:I,s:I,s:O}", "name", m.name, "description",
                                   m.description, "order", m.order, "stages", m.stages, "adaptive",
                                   m.adaptive ? Py_True : Py_False);
    if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static void add_symbol(void* user, const SltSymbol* symbol) {
  PyObject* list = user;
  if (PyErr_Occurred()) return;
  PyObject* item = Py_BuildValue("(isz(nn))", (int)symbol->kind, symbol->name, symbol->container,
                                 (Py_ssize_t)symbol->begin, (Py_ssize_t)symbol->end);
  if (!item || PyList_Append(list, item) < 0) PyErr_NoMemory();
  Py_XDECREF(item);
}

static PyObject* outline(PyObject* module, PyObject* text) {
  (void)module;
  Py_ssize_t size = 0;
  const char* data = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
  if (!data) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "the text must be a str");
    return NULL;
  }
  PyObject* list = PyList_New(0);
  SltStatus status = list ? slt_outline(data, (size_t)size, add_symbol, list) : SLT_ERR_NOMEM;
  if (status < 0 && !PyErr_Occurred()) raise_status(status, "outline");
  if (PyErr_Occurred()) Py_CLEAR(list);
  return list;
}

static PyObject* format_text(PyObject* module, PyObject* text) {
  (void)module;
  Py_ssize_t size = 0;
  const char* data = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
  if (!data) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "the text must be a str");
    return NULL;
  }
  Bytes bytes = {NULL, 0, 0};
  SltStatus status =
      slt_format("model", data, (size_t)size, NULL, (SltWriter){bytes_write, &bytes});
  PyObject* result = status >= 0 ? bytes_text(&bytes) : NULL;
  if (status < 0) raise_status(status, "the text cannot be formatted");
  bytes_free(&bytes);
  return result;
}

static PyMethodDef functions[] = {
    {"compile", FAST(model_compile), METH_FASTCALL, "Compile a text or a file."},
    {"compile_rules", FAST(rules_compile), METH_FASTCALL, "Read rule tables."},
    {"compare_tables", FAST(compare_tables), METH_FASTCALL, "How far two tables are apart."},
    {"after_fork", model_after_fork, METH_NOARGS, "To be called in the child of a fork."},
    {"set_main_thread", driver_set_main, METH_O, "The thread that answers signals."},
    {"methods", methods, METH_NOARGS, "The integration methods."},
    {"outline", outline, METH_O, "The names that a text declares."},
    {"format_text", format_text, METH_O, "A text with its layout in order."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "saltus._saltus",
    .m_doc = "The engine of Saltus; use the package saltus.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__saltus(void) {
  PyObject* module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (!model_add(module) || !recording_add(module) || !sim_add(module) || !rules_add(module) ||
      PyModule_AddStringConstant(module, "__version__", slt_version()) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
