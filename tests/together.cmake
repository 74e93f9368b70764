# The tests of each module as one program, <module>_together, linked from the objects that CATENA_TEST_OBJECTS
# holds (compiled in groups or not, as this build is) against the libraries of this build: these alone are compiled
# anew, and tests are started some thirty instead of some hundred times, those for ranks on two. Target
# tests_together, label together.

add_custom_target(tests_together)
add_dependencies(tests_together fuzz_inputs)

# left to Release: what counts the program's memory, and what takes four seconds and more here
set(left_to_release StartStop.* SteadyRun.* *SteadyStep.* Net.OfRopesPullsOnly Net.OfRodsCatchesABoxAndMakesNoEnergy
    Projection.OfANetIsCutBackOrLeftOutWhereItWouldNotHelp CordsMpi.DeterministicRunsGiveTheSameBits
    Budget.TheUsualNumberDependsOnTheMethod Manifolds.OfWhatRestsWithSmallOverlapsKeepTheirKeys
    LeesEdwards.GrainsTakeTheShearsProfile SolveWatch.EveryMethodHeedsMaxIterations
    TreeElimination.RedundantRowsAreToldFromSoftOnesInOneMechanism
    TreeElimination.SoftLongChainOfHingesHasNoRedundantRowsThoughItsPivotsAreSmall
    NaturalSingular.TwoFourBarsKeepOrder4AtTenStepsPastPositionsInLine NaturalSingular.AStepMayEndInLineOrHaveAStageThere
    NaturalSingular.AKiteStaysOnItsBranchAndKeepsOrder4 NaturalGuardOverRanks.EveryRankDividesOrEndsTheSameSteps
    NaturalOverRanks.AChainOfBallsThatHangsFromBothEndsSwingsAlike Load.OnACableKeepsItsEnergy
    DeformingCell.APackIsHeldAtAnIsotropicStressAndItsWorkIsThatOfTheStress
    DeformingCell.HasTheSameBitsOnAnyNumberOfRanksAndAfterAResume Budget.AutoDoesNoMoreThanTheWorkOfSoManySweeps
    Mesh.ShallowContactsOfConvexBodiesWithABoxOfTrianglesAreThoseWithTheBox
    ExplicitBatches.HaveTheVelocitiesOfTheDenseReference FrictionLawMpi.PilesMeetTheLawByEverySolver
    Factors/SparseElimination.AgreesWithTheTreeElimination/petsc
    BorderedElimination.HundredsOfRedundantRowsInOneMechanismKeepConsistentVelocitiesAtRoundOff
    RollingBatches.RelaxedTurnsAreThoseOfTheScalarSolve MovingLoad.StaysEvenWithRebalancingAndDoesNotWithout)
list(JOIN left_to_release : left_to_release)

# catena_resolve(ARCHIVES LIBRARIES targets...): what of the targets is compiled with the tests, as
# archives of CATENA_TEST_OBJECTS, and what it and the others link.
function(catena_resolve archives_out libraries_out)
  set(todo ${ARGN})
  set(archives)
  set(libraries)
  while(todo)
    list(POP_FRONT todo library)
    if(library MATCHES "^catena_" AND TARGET ${library})
      get_target_property(type ${library} TYPE)
      get_target_property(folder ${library} BINARY_DIR)
      file(RELATIVE_PATH folder ${PROJECT_BINARY_DIR} ${folder})
      if(type STREQUAL STATIC_LIBRARY AND folder MATCHES "^(tests|drivers)")
        list(APPEND archives ${CATENA_TEST_OBJECTS}/${folder}/lib${library}.a)
        get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
        foreach(link ${links})
          if(NOT link MATCHES "LINK_ONLY")
            list(APPEND todo ${link})
          endif()
        endforeach()
        continue()
      endif()
    endif()
    list(APPEND libraries ${library})
  endwhile()
  list(REMOVE_DUPLICATES archives)
  list(REMOVE_DUPLICATES libraries)
  set(${archives_out} ${archives} PARENT_SCOPE)
  set(${libraries_out} ${libraries} PARENT_SCOPE)
endfunction()

# catena_link_together(program folder)
function(catena_link_together program folder)
  get_target_property(sources ${folder}_tests SOURCES)
  get_target_property(linked ${folder}_tests LINK_LIBRARIES)
  set(objects)
  foreach(source ${sources})
    # as the build that compiled them names them
    if(CATENA_IN_GROUPS)
      get_source_file_property(group ${source} DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${folder} UNITY_GROUP)
      set(object Unity/unity_${group}_cxx.cxx)
    else()
      file(RELATIVE_PATH object ${CMAKE_CURRENT_SOURCE_DIR}/${folder} ${source})
      string(REPLACE ".." "__" object ${object})
    endif()
    list(APPEND objects ${CATENA_TEST_OBJECTS}/tests/${folder}/CMakeFiles/${folder}_tests.dir/${object}.o)
  endforeach()
  list(REMOVE_DUPLICATES objects)
  catena_resolve(archives libraries ${linked})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_executable(${program} EXCLUDE_FROM_ALL ${objects})
  set_target_properties(${program} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS "${archives}")
  target_link_libraries(${program} PRIVATE -Wl,--start-group ${archives} -Wl,--end-group ${libraries})
  if(TARGET catena_${folder})
    # first and whole: where both have compiled an inline function, this build's is taken
    target_link_options(${program} PRIVATE -Wl,--whole-archive $<TARGET_FILE:catena_${folder}> -Wl,--no-whole-archive)
  endif()
  add_dependencies(tests_together ${program})
endfunction()

foreach(list ${test_lists})
  get_filename_component(folder ${list} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  set(program ${name}_together)
  foreach(kind unit mpi)
    get_property(tests DIRECTORY ${folder} PROPERTY catena_${kind}_tests)
    if(NOT tests)
      continue()
    endif()
    if(NOT TARGET ${program})
      catena_link_together(${program} ${name})
    endif()
    list(JOIN tests : filter)
    set(command $<TARGET_FILE:${program}> --gtest_filter=${filter}:-${left_to_release})
    set(processors 1)
    if(kind STREQUAL mpi)
      set(command ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 ${command})
      set(processors 2)
    endif()
    add_test(NAME ${name}_${kind}_together COMMAND ${command})
    set_tests_properties(${name}_${kind}_together PROPERTIES LABELS together TIMEOUT 600 PROCESSORS ${processors}
                         ENVIRONMENT "${CATENA_TEST_ENVIRONMENT}")
  endforeach()
endforeach()
# the longest begin first, also where none has been timed yet
set_tests_properties(solvers_unit_together simulation_mpi_together PROPERTIES COST 60)
