# SPDX-License-Identifier: MIT
#
# cmake -DSOURCE=... -DSTAGE=... -DOUT=... -P FmuSources.cmake: the sources that an FMU can carry, in one
# archive. All of them are included relative to its root, and nothing but a C compiler is needed: what
# the library calls of SuiteSparse is in fmi/portable.
file(REMOVE_RECURSE ${STAGE})
file(GLOB_RECURSE library RELATIVE ${SOURCE}/src ${SOURCE}/src/*.c ${SOURCE}/src/*.h ${SOURCE}/src/*.def
  ${SOURCE}/src/*.inc)
list(FILTER library EXCLUDE REGEX "^(cdcsis|blocks)/|^api/world")
foreach(file IN LISTS library)
  get_filename_component(folder ${file} DIRECTORY)
  file(COPY ${SOURCE}/src/${file} DESTINATION ${STAGE}/${folder})
endforeach()
file(GLOB headers ${SOURCE}/include/saltus/*.h)
file(COPY ${headers} DESTINATION ${STAGE}/saltus)
file(GLOB portable ${SOURCE}/fmi/portable/*.[ch])
file(COPY ${portable} ${SOURCE}/LICENSE DESTINATION ${STAGE})
foreach(name fmi2.c fmi3.c instance.c instance.h exchange.c direction.c variables.c variables.h)
  file(COPY ${SOURCE}/fmi/${name} DESTINATION ${STAGE}/fmi)
endforeach()
file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${STAGE} ${STAGE}/*)
list(SORT files)
execute_process(COMMAND ${CMAKE_COMMAND} -E tar cf ${OUT} --format=zip "--mtime=1980-01-01 00:00:00 +0000" ${files}
  WORKING_DIRECTORY ${STAGE} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "cannot write ${OUT}")
endif()
