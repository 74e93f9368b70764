# cmake -DBUILD= -DSOURCE= -DWORK= -DCOMPILER= -DC_COMPILER= -DGENERATOR= -P install_test.cmake
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)

# the package must not point back to where it was built
file(GLOB_RECURSE package_files ${WORK}/prefix/*.cmake)
foreach(package_file ${package_files})
  file(READ ${package_file} text)
  foreach(place ${BUILD} ${SOURCE}/include ${SOURCE}/src)
    string(FIND "${text}" "${place}/" found)
    if(found GREATER_EQUAL 0)
      string(REPLACE "${WORK}/prefix" "" rest "${text}")
      string(FIND "${rest}" "${place}/" found)
      if(found GREATER_EQUAL 0)
        message(FATAL_ERROR "${package_file} names ${place}")
      endif()
    endif()
  endforeach()
endforeach()

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/build -G ${GENERATOR}
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program falling_ball balanced_pendulum)
  run(${WORK}/build/${program})
  message("${output}")
endforeach()
run(${WORK}/prefix/bin/catena --version)
message("${output}")
# the scripts find the package that is installed with them
foreach(script render movie)
  if(EXISTS ${WORK}/prefix/libexec/catena/user/${script}.py)
    run(${CMAKE_COMMAND} -E chdir ${WORK} ${WORK}/prefix/libexec/catena/user/${script}.py --help)
  endif()
endforeach()
