# The rooms of the house, from the bottom up: a room includes itself and those before it.
# tests/layering.cmake checks the sources against this list.
set(TENON_ROOMS base kernels ir compose converter fusion runtime pipeline verify report check exporter tools)
