#include "impl/core/signatures.hpp"

namespace blaslift::signatures {

#define GEMM_BATCH(name, type)
// Of several routines: a description is made once.
#define GEMM3M(name, type)  // gemm's
#define GEMMT(name, type)
#define COPY(name, type)
#define GEQR(name, type)
#define GEMQR(name, type)
#define WSYMV(name, type)
#define ROUTINE(kind, name, type) template const Description& description_of<signature_of::kind<type>>();
#include "api/routines.def"
template const Description& description_of<GemmtSignature<float>>();
template const Description& description_of<GemmtSignature<double>>();
template const Description& description_of<GemmtSignature<std::complex<float>>>();
template const Description& description_of<GemmtSignature<std::complex<double>>>();

}  // namespace blaslift::signatures
