# What tools/package-deb makes with CPack: the package `blaslift`, and `blaslift-alternative`, which offers itself to Debian's
# alternatives as libblas.so.3 and liblapack.so.3.
set(BLASLIFT_UNDERNEATH libopenblas.so.0 CACHE STRING "The BLAS and LAPACK, by its soname, that the alternative stands in front of")

# The alternative has no code: it has two libraries loaded, blaslift first.  A stand-in bears the second one's name, so that
# the real one need not be here.
add_library(blaslift_underneath SHARED EXCLUDE_FROM_ALL tools/alternative/empty.c)
set_target_properties(blaslift_underneath PROPERTIES PREFIX "" OUTPUT_NAME ${BLASLIFT_UNDERNEATH} SUFFIX ""
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/alternative/underneath)
foreach(name libblas liblapack)
  set(target blaslift_as_${name})
  add_library(${target} SHARED tools/alternative/empty.c)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SUFFIX .so.3
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/alternative INSTALL_RPATH "$ORIGIN/.." BUILD_WITH_INSTALL_RPATH ON)
  target_link_libraries(${target} PRIVATE blaslift blaslift_underneath)  # which is --no-as-needed
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/blaslift COMPONENT alternative EXCLUDE_FROM_ALL)
endforeach()

set(BLASLIFT_FULL_LIBDIR /usr/${CMAKE_INSTALL_LIBDIR})
foreach(script postinst prerm)
  configure_file(tools/alternative/${script}.in alternative/${script} @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
file(CONFIGURE OUTPUT alternative/triggers CONTENT "activate-noawait ldconfig\n" @ONLY)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/blaslift-alternative RENAME copyright
  COMPONENT alternative EXCLUDE_FROM_ALL)

# Maintainer, dependencies on other packages and the architecture's name are tools/package-deb's to say.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME blaslift)
set(CPACK_PACKAGE_CONTACT "blaslift <root@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # the components have their own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL blaslift alternative)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_BLASLIFT_PACKAGE_NAME blaslift)
set(CPACK_COMPONENT_BLASLIFT_DESCRIPTION "BLAS and LAPACK calls of unmodified programs on the GPU
A library that is preloaded into programs or linked before their BLAS, and
the command around it.")
set(CPACK_DEBIAN_BLASLIFT_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/alternative/triggers)
set(CPACK_DEBIAN_ALTERNATIVE_PACKAGE_NAME blaslift-alternative)
set(CPACK_COMPONENT_ALTERNATIVE_DESCRIPTION "blaslift as the system's BLAS and LAPACK
Offers itself to Debian's alternatives libblas.so.3 and liblapack.so.3, in
front of ${BLASLIFT_UNDERNEATH}, at a priority that is never chosen by itself.")
set(CPACK_DEBIAN_ALTERNATIVE_PACKAGE_PROVIDES "libblas.so.3, liblapack.so.3")
set(CPACK_DEBIAN_ALTERNATIVE_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/alternative/postinst
  ${PROJECT_BINARY_DIR}/alternative/prerm)
include(CPack)
