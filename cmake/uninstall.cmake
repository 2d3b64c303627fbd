# SPDX-License-Identifier: MIT
#
# Remove what the last `make install` from this build tree has put in place.
# Usage: cmake -DBUILD=FOLDER -P uninstall.cmake
set(manifest "${BUILD}/install_manifest.txt")
if(NOT EXISTS "${manifest}")
  message(FATAL_ERROR "nothing was installed from ${BUILD}")
endif()
file(STRINGS "${manifest}" files)
foreach(file IN LISTS files)
  set(file "$ENV{DESTDIR}${file}")
  if(EXISTS "${file}" OR IS_SYMLINK "${file}")
    message(STATUS "removing ${file}")
    file(REMOVE "${file}")
  endif()
endforeach()
# folders of our own, where nothing else has been put into them
foreach(file IN LISTS files)
  get_filename_component(folder "$ENV{DESTDIR}${file}" DIRECTORY)
  get_filename_component(name "${folder}" NAME)
  if(name MATCHES "^[Ss]altus$" AND IS_DIRECTORY "${folder}")
    file(GLOB left "${folder}/*")
    if(NOT left)
      file(REMOVE_RECURSE "${folder}")
    endif()
  endif()
endforeach()
file(REMOVE "${manifest}")
