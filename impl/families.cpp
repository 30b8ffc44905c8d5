// What general code gets from families that it does not know, listed by hand: whoever adds a family adds a line.
#include "impl/cholesky/potrf.hpp"
#include "impl/copy/copy_family.hpp"
#include "impl/eigen/geev.hpp"
#include "impl/eigen/gehrd.hpp"
#include "impl/eigen/syevd.hpp"
#include "impl/eigen/sytrd.hpp"
#include "impl/gemv/gemv_family.hpp"
#include "impl/lu/getrf.hpp"
#include "impl/product/batch.hpp"
#include "impl/product/product_family.hpp"
#include "impl/product/symm.hpp"
#include "impl/product/trmm.hpp"
#include "impl/qr/geqp3.hpp"
#include "impl/qr/lq.hpp"
#include "impl/qr/qr_family.hpp"
#include "impl/qr/qr_section.hpp"
#include "impl/route/lapack_section.hpp"
#include "impl/route/profile_section.hpp"
#include "impl/solve/condition.hpp"
#include "impl/solve/inverse.hpp"
#include "impl/solve/least_squares.hpp"
#include "impl/solve/sygst.hpp"
#include "impl/solve/sygv.hpp"
#include "impl/solve/system.hpp"
#include "impl/solve/trsm.hpp"
#include "impl/svd/gebrd.hpp"
#include "impl/svd/gesdd.hpp"
#include "impl/symv/symv_family.hpp"
#include "impl/symv/symv_section.hpp"

namespace blaslift {

/// By the kinds that api/routines.def has.
const Family& family_of(Routine routine) {
  static constexpr const Family *gemm = &product_family, *gemm3m = &product_family, *gemmt = &product_family,
                                *syr2k = &product_family, *her2k = &product_family, *syrk = &product_family,
                                *herk = &product_family, *symm = &symm_family, *hemm = &symm_family,
                                *trmm = &trmm_family, *trsm = &trsm_family, *trtrs = &trtrs_family,
                                *trtri = &trtri_family, *potri = &potri_family, *getri = &getri_family,
                                *potrf = &potrf_family, *potrs = &potrs_family, *posv = &posv_family,
                                *getrf = &getrf_family, *getrs = &getrs_family, *gesv = &gesv_family,
                                *gecon = &condition_family, *pocon = &condition_family, *trcon = &trcon_family,
                                *lauum = &lauum_family, *sygst = &sygst_family, *sytrd = &sytrd_family,
                                *gehrd = &gehrd_family, *syevd = &syevd_family, *syev = &syev_family,
                                *syevr = &syevr_family, *syevx = &syevr_family, *sygvd = &sygvd_family,
                                *sygv = &sygv_family, *sygvx = &sygvx_family, *gebrd = &gebrd_family,
                                *gesdd = &gesdd_family, *gesvd = &gesvd_family, *geev = &geev_family,
                                *gels = &gels_family, *gelsy = &gelsy_family, *gelsd = &gelsd_family,
                                *gelss = &gelss_family, *symv = &symv_family, *hemv = &symv_family,
                                *csymv = &symv_family, *gemv = &gemv_family, *copy = &copy_family,
                                *wsymv = &symv_family, *geqrf = &qr_family, *geqr = &qr_family, *geqp3 = &geqp3_family,
                                *gelqf = &lq_family, *orglq = &lq_family, *ormqr = &apply_q_family,
                                *orgqr = &apply_q_family, *gemqr = &apply_q_family, *ormlq = &apply_q_family,
                                *ormtr = &apply_q_family, *orgtr = &apply_q_family, *ormhr = &apply_q_family,
                                *orghr = &apply_q_family, *ormbr = &apply_q_family, *orgbr = &apply_q_family,
                                *gemm_batch = &batch_family, *gemm_batch_strided = &batch_family;
  static constexpr const Family* families[] = {
#define ROUTINE(kind, name, type) kind,
#include "api/routines.def"
  };
  return *families[static_cast<int>(routine)];
}

std::span<const ProfileSection* const> profile_sections() {
  static constexpr const ProfileSection* sections[] = {&symv_section, &qr_section, &lapack_section};
  return sections;
}

}  // namespace blaslift
