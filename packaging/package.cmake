# Debian packages: catena (program, scripts, completion, manual, examples) and libcatena-dev (libraries and
# headers). `cmake --workflow --preset package` builds both for any CPU of the architecture.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME catena)
set(CPACK_PACKAGE_VENDOR "The Catena developers")
set(CPACK_PACKAGE_CONTACT "The Catena developers <catena@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "multibody dynamics with joints and frictional contact over MPI")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

# The names of packages are those of scripts/dependencies.txt.
# catena_packages(SECTION PATTERN OUTPUT): the lines of a section that match, with commas between them.
function(catena_packages section pattern output)
  file(STRINGS ${PROJECT_SOURCE_DIR}/scripts/dependencies.txt lines)
  set(found)
  set(inside OFF)
  foreach(line IN LISTS lines)
    if(line MATCHES "^\\[(.*)\\]")
      string(COMPARE EQUAL "${CMAKE_MATCH_1}" ${section} inside)
    elseif(inside AND line MATCHES "^[a-z]" AND line MATCHES "${pattern}")
      list(APPEND found "${line}")
    endif()
  endforeach()
  list(JOIN found ", " found)
  set(${output} "${found}" PARENT_SCOPE)
endfunction()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/dependencies.txt)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME catena)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# mpirun, and what its commands of Python cannot start without; pictures and plots are worth more
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "openmpi-bin, python3, python3-h5py, python3-numpy, python3-yaml")
catena_packages(run "" run_packages)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "${run_packages}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "ffmpeg, libcatena-dev")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/postinst
    ${CMAKE_CURRENT_LIST_DIR}/debian/prerm)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Catena simulates rigid bodies with joints and frictional contact, on one core
or over the ranks of MPI: piles, packings, hoppers, drums, walls, soil, chains,
cables, cranes, tracks, robots. A scene is one YAML file; the result is HDF5.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcatena-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
catena_packages(build "^lib.*-dev$" build_packages)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "pkg-config, ${build_packages}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Libraries and headers of Catena, with what find_package(Catena) of CMake needs.")

# What Debian asks of each package's documentation.
if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
  find_program(GZIP gzip REQUIRED)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  configure_file(debian/copyright.in copyright @ONLY)
  foreach(package catena libcatena-dev)
    set(component program)
    if(package STREQUAL libcatena-dev)
      set(component development)
    endif()
    configure_file(debian/changelog.in ${package}/changelog @ONLY)
    execute_process(COMMAND ${GZIP} -9nf ${CMAKE_CURRENT_BINARY_DIR}/${package}/changelog COMMAND_ERROR_IS_FATAL ANY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/copyright ${CMAKE_CURRENT_BINARY_DIR}/${package}/changelog.gz
            DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  endforeach()
endif()
include(CPack)
