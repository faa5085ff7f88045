// tessera._tessera: the Python package's compiled part. python/tessera/ is the face of it.
#include "tessera/python/bindings.h"

NB_MODULE(_tessera, m) {
  m.attr("__version__") = TESSERA_VERSION;
  tessera::python::bind_errors(m);
  tessera::python::bind_numeric(m);
  tessera::python::bind_array(m);
  tessera::python::bind_quantize(m);
  tessera::python::bind_checkpoint(m);
  tessera::python::bind_work(m);
}
